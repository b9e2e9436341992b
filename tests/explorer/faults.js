// Everything visible that breaks a rule, as "rule: element". `root` limits the search to a part of the page.
root => {
  const area = root ? document.querySelector(root) : document.body, found = [];
  const shown = element => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const told = element => `${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${element.className}: ${(element.textContent || "").trim().slice(0, 40)}`;
  const nameOf = element => element.getAttribute("aria-label") || element.title || element.textContent.trim() || element.placeholder
    || [...(element.labels || [])].map(label => label.textContent.trim()).join("")
    || [...element.querySelectorAll("img[alt]")].map(image => image.alt).join("");
  for (const element of area.querySelectorAll("button, a[href], input:not([type=hidden]), textarea, select, summary, [role=button]"))
    if (shown(element) && !element.disabled && !nameOf(element) && !element.closest(".dash-dropdown, .modebar")) found.push("no name: " + told(element));
  for (const image of area.querySelectorAll("img")) if (!image.hasAttribute("alt")) found.push("no alt: " + image.className);
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of new Set(ids)) if (ids.filter(other => other === id).length > 1) found.push("id twice: " + id);
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title) found.push("no title");
  const parse = text => { const parts = text.match(/[\d.]+/g).map(Number); return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 }; };
  const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one), colour = parse(style.backgroundColor);
      if (style.backgroundImage !== "none") return null;
      if (colour.alpha === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(area, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element || !shown(element) || element.closest("[disabled], svg, script, style, [aria-hidden=true]")) continue;
    const ground = behind(element), style = getComputedStyle(element), ink = parse(style.color);
    if (!ground || ink.alpha < 1) continue;
    const [high, low] = [light(ink.rgb), light(ground)].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ` + told(element));
  }
  return found;
}
