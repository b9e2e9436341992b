// Names and roles for screen readers that Dash's own parts leave out.
(function () {
  const NAMES = {
    step: "Step of the walk", replay: "Last trial that is shown", reach: "Reach of the neighbourhood",
    text: "The DAG as text", filter: "Filter of the map", "trial-filter": "Filter of the trials",
    enforce: "Decoding", colour: "Colour", study: "Study", export: "Export this DAG", "export-top": "Export DAGs of the study",
    "gallery-export": "Export the gallery", "gallery-sort": "Sort by", node: "Node", "node-type": "Type of the node",
    "edge-from": "Edge from", "edge-to": "Edge to", "front-x": "Axis across", "front-y": "Axis up",
  };
  const label = (part, text) => { if (text && part.getAttribute("aria-label") !== text) part.setAttribute("aria-label", text); };
  const named = part => NAMES[part.id] || (part.closest(".row")?.querySelector(".label")?.textContent ?? "").trim();

  function mend() {
    for (const group of document.querySelectorAll(".segments, .tabs, .check")) {
      const role = group.classList.contains("check") ? "group" : "radiogroup";
      if (group.getAttribute("role") !== role) group.setAttribute("role", role);
      label(group, NAMES[group.id] || group.closest("[role=group][aria-label]")?.getAttribute("aria-label") || group.innerText.trim() || "Choice");
      for (const name of ["aria-multiselectable", "aria-activedescendant"]) group.removeAttribute(name);
      for (const option of group.querySelectorAll("label[role], label[aria-selected]")) for (const name of ["role", "aria-selected"]) option.removeAttribute(name);
    }
    for (const target of document.querySelectorAll(".dash-dropdown-focus-target")) target.tabIndex = -1;
    for (const box of document.querySelectorAll("button.dash-dropdown")) {
      const name = NAMES[box.id] || named(box);
      if (box.tabIndex !== 0) box.tabIndex = 0;  // instead of an unseen field before it
      if (name && box.hasAttribute("aria-labelledby")) box.removeAttribute("aria-labelledby");
      if (name) label(box, `${name}: ${box.innerText.trim()}`);
    }
    for (const slider of document.querySelectorAll(".dash-slider-container")) {
      const name = named(slider.id ? slider : slider.closest("[id]") || slider) || named(slider);
      for (const part of slider.querySelectorAll("[role=slider], input")) label(part, name);
    }
    for (const id of ["text", "filter", "trial-filter"]) {
      const part = document.getElementById(id);
      if (part) label(part.matches("input, textarea") ? part : part.querySelector("input") || part, NAMES[id]);
    }
  }

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; mend(); }, 120);
  };
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(soon).observe(document.body, { childList: true, characterData: true, subtree: true, attributeFilter: ["aria-selected", "aria-labelledby"] });
    soon();
  });
})();
