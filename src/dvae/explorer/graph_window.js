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

  window.explorerGraph = {
    show: scene => {
      if (scene && scene.problem) dvaeViewer.fail(scene.problem);
      else if (scene) dvaeViewer.show(scene);
      return dash_clientside.no_update;
    },
  };
})();
