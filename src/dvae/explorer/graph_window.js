// The graph view on the page of a run: asks for scenes of the page's DAG, and keeps one direction per browser tab.
(function () {
  "use strict";
  let count = 0;
  const set = (name, data) => dash_clientside.set_props(name, { data });
  const direction = () => {
    try { return JSON.parse(sessionStorage.getItem("direction")) || "right"; } catch (error) { return "right"; }
  };

  function open() {
    const title = document.getElementById("title");
    dvaeViewer.open({
      title: title ? title.innerText : "",
      request: wish => { set("direction", wish.direction); set("graph-request", { ...wish, count: ++count }); },
    });
    set("graph-request", { direction: direction(), folded: null, opened: [], count: ++count });
  }

  document.addEventListener("click", event => { if (event.target.closest("#open-graph")) open(); });
  document.addEventListener("keydown", event => {
    const typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable], dialog");
    const opener = document.getElementById("open-graph");
    if (event.key === "g" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey && opener && opener.offsetParent) open();
  });

  // Ctrl+Z and Ctrl+Shift+Z, or Ctrl+Y; in a text field they are the field's own.
  document.addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || (event.target.closest && event.target.closest("input, textarea, dialog"))) return;
    const key = event.key.toLowerCase();
    const pressed = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    const found = pressed && document.getElementById(pressed);
    if (!found || !found.offsetParent) return;
    event.preventDefault();
    if (!found.disabled) found.click();
  });

  const MAX_EDITS = 200;
  window.explorerGraph = {
    edited: (edit, history) => edit ? { past: [...history.past, edit].slice(-MAX_EDITS), future: [] } : dash_clientside.no_update,
    moved: history => {
      const none = dash_clientside.no_update, source = (dash_clientside.callback_context.triggered[0] || {}).prop_id || "";
      const [from, to, side] = source.startsWith("undo") ? ["past", "future", "before"] : ["future", "past", "after"];
      const edit = history[from][history[from].length - 1];
      if (!edit) return [none, none];
      return [edit[side], { ...history, [from]: history[from].slice(0, -1), [to]: [...history[to], edit] }];
    },
    show: scene => {
      if (scene && scene.problem) dvaeViewer.fail(scene.problem);
      else if (scene) dvaeViewer.show(scene);
      return dash_clientside.no_update;
    },
  };
})();
