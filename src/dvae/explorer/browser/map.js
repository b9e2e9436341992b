// The map under the pointer, the finger and the keys: what was hit is found here, since touch knows no hover.
(function () {
  const root = document.documentElement;
  const CLICK_TRAVEL = 4, KEY_STEP = 0.02, MOUSE_REACH = 7, TOUCH_REACH = 18, MARK_REACH = 16;
  let pressed = null, dragged = null, count = 0, pending = null, hovered = "", touch = false;

  const map = () => document.querySelector("#map .js-plotly-plot");
  const meta = graph => (graph.layout && graph.layout.meta) || { traces: {} };
  const store = (name, data) => dash_clientside.set_props(name, { data });

  function watch() {
    if (!document.getElementById("map")) {
      if (document.getElementById("network")) root.dataset.ready = "yes";  // a page without a map
      else setTimeout(watch, 60);
      return;
    }
    const graph = map();
    if (!graph || !graph.on || !graph._fullLayout || !graph._fullLayout.xaxis) return setTimeout(watch, 60);
    graph.on("plotly_selected", selected);
    graph.on("plotly_deselect", () => store("selection", null));
    dvaeGround.watchAll();
    root.dataset.ready = "yes";
    setTimeout(() => store("opened", 1), 1500);  // what may be needed later is made once all is shown
  }
  document.addEventListener("DOMContentLoaded", watch);

  // The map under the pointer: the page's own, or that of another run.
  const over = event => (event.target.closest && event.target.closest(".map-frame .nsewdrag") ? event.target.closest(".js-plotly-plot") : null);
  function spot(event, graph = map()) {  // a place of the page, in units of the map and in pixels of its frame
    const box = graph.getBoundingClientRect(), { xaxis, yaxis } = graph._fullLayout;
    const left = event.clientX - box.left, top = event.clientY - box.top;
    return { graph, xaxis, yaxis, left, top, x: xaxis.p2d(left - xaxis._offset), y: yaxis.p2d(top - yaxis._offset) };
  }

  function nearest(at, trace, reach) {  // the place in a trace, of what lies within reach; of equals the last
    const drawn = dvaeGround.points(at.graph, trace);
    if (!drawn) return null;
    const across = at.xaxis._length / (at.xaxis.range[1] - at.xaxis.range[0]);
    const up = at.yaxis._length / (at.yaxis.range[1] - at.yaxis.range[0]);
    let best = null, least = reach * reach;
    for (let place = 0; place < drawn.x.length; place++) {
      const dx = (drawn.x[place] - at.x) * across, dy = (drawn.y[place] - at.y) * up;
      const distance = dx * dx + dy * dy;
      if (distance <= least) { least = distance; best = place; }
    }
    return best;
  }

  function hit(at) {  // what a click here means besides its place: a proposal of a study, or a known DAG
    const reach = touch ? TOUCH_REACH : MOUSE_REACH, traces = meta(at.graph).traces;
    const proposal = nearest(at, traces.proposals, reach), proposals = at.graph.data[traces.proposals];
    if (proposal !== null && proposals.customdata && proposals.customdata.length)
      return { trial: proposals.customdata[proposal], study: proposals.meta.study, trace: traces.proposals, place: proposal };
    const point = nearest(at, traces.points, reach), points = at.graph.data[traces.points];
    if (point === null) return {};
    return { known: points.customdata ? points.customdata[point] : point, trace: traces.points, place: point };
  }

  const send = (at, what) => {
    const click = { x: at.x, y: at.y, plane: meta(at.graph).plane, known: what.known ?? null, count: ++count };
    const { run } = at.graph.closest(".map-frame").dataset;
    if (run !== undefined) store("run-click", { ...click, run: Number(run) });
    else store("map-click", { ...click, trial: what.trial ?? null, study: what.study ?? null });
  };

  // The card of what is under the pointer.
  function hover(event) {
    if (touch || pressed || !event.target.closest || !event.target.closest("#map .nsewdrag")) return leave();
    const at = spot(event), found = hit(at);
    const key = found.trace === undefined ? "" : `${found.trace} ${found.place}`;
    if (key === hovered) return;
    hovered = key;
    if (!key) return store("map-hover", null);
    const drawn = dvaeGround.points(at.graph, found.trace);
    const left = at.xaxis._offset + at.xaxis.d2p(drawn.x[found.place]), top = at.yaxis._offset + at.yaxis.d2p(drawn.y[found.place]);
    store("map-hover", { known: found.known ?? null, trial: found.trial ?? null, study: found.study ?? null,
                         box: { x0: left - 5, x1: left + 5, y0: top - 5, y1: top + 5 } });
  }
  function leave() { if (hovered) { hovered = ""; store("map-hover", null); } }
  let frame = 0;
  document.addEventListener("pointermove", event => {
    if (dragged) return drag(event);
    if (!map()) return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => hover(event));
  });

  // The ends of a walk are dragged; plotly must not see that, or it would move the map.
  function grip(event) {
    const inside = event.target.closest && event.target.closest("#map .nsewdrag");
    if (!inside || event.button > 0) return null;
    const at = spot(event), place = nearest(at, meta(at.graph).traces.marks, MARK_REACH);
    const name = place === null ? null : at.graph.data[meta(at.graph).traces.marks].text[place];
    return name === "A" || name === "B" ? name : null;
  }
  function drag(event) {
    const at = spot(event);
    dragged.ghost.style.left = `${at.left}px`;
    dragged.ghost.style.top = `${at.top}px`;
    dragged.moved = dragged.moved || Math.hypot(event.clientX - dragged.x, event.clientY - dragged.y) >= CLICK_TRAVEL;
    event.preventDefault();
  }
  for (const kind of ["mousedown", "touchstart"]) document.addEventListener(kind, event => {
    if (dragged) { event.stopPropagation(); event.preventDefault(); }
  }, { capture: true, passive: false });

  document.addEventListener("pointerdown", event => {
    touch = event.pointerType === "touch";
    const name = map() ? grip(event) : null;
    if (name) {
      const ghost = document.createElement("div");
      ghost.className = "grip";
      ghost.textContent = name;
      document.getElementById("map-frame").append(ghost);
      dragged = { name, ghost, x: event.clientX, y: event.clientY, moved: false };
      pressed = null;
      leave();
      return drag(event);
    }
    const graph = event.button === 0 ? over(event) : null;
    const choosing = graph && ["select", "lasso"].includes(graph._fullLayout.dragmode);
    pressed = graph && !choosing ? { x: event.clientX, y: event.clientY, graph } : null;
  }, true);
  document.addEventListener("pointerup", event => {
    if (dragged) {
      const at = spot(event), { name, ghost, moved } = dragged;
      ghost.remove();
      dragged = null;
      if (moved) store("map-drag", { end: name, x: at.x, y: at.y, plane: meta(at.graph).plane, known: hit(at).known ?? null, count: ++count });
      return;
    }
    if (!pressed) return;
    const near = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < CLICK_TRAVEL * (touch ? 3 : 1);
    const at = spot(event, pressed.graph);
    pressed = null;
    if (!near) return;
    send(at, hit(at));
  }, true);
  document.addEventListener("pointercancel", () => {
    if (dragged) dragged.ghost.remove();
    pressed = dragged = null;
  }, true);

  // A box or a lasso goes to the server as its corners: it knows what lies inside.
  const short = value => Number(value.toPrecision(5));
  function corners(event) {
    if (event.range) {
      const [x0, x1] = event.range.x, [y0, y1] = event.range.y;
      return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    }
    const { x, y } = event.lassoPoints, step = Math.ceil(x.length / 60);
    return x.map((value, place) => [value, y[place]]).filter((_, place) => place % step === 0);
  }
  function selected(event) {
    if (!event || !(event.range || event.lassoPoints)) return;
    const found = corners(event).map(corner => corner.map(short));
    if (found.length < 3) return;
    store("selection", { plane: meta(map()).plane, corners: found });
    dash_clientside.set_props("gallery-source", { value: "selected" });
    dash_clientside.set_props("tab", { value: "Gallery" });
  }

  // The frame of a film that is shown is marked, and moved into view within its strip.
  window.explorerFilm = step => {
    setTimeout(() => mark(step), 60);  // once its frames are there
    return dash_clientside.no_update;
  };
  function mark(step) {
    const strip = document.getElementById("film");
    for (const frame of strip.querySelectorAll(".thumb")) {
      const here = step >= Number(frame.dataset.first) && step <= Number(frame.dataset.last);
      frame.classList.toggle("on", here);
      if (here) strip.scrollLeft = frame.offsetLeft - strip.offsetLeft - (strip.clientWidth - frame.offsetWidth) / 2;
    }
  }

  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  document.addEventListener("keydown", event => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.id === "text")
      return document.getElementById("place").click();
    if (event.target.id !== "map-frame" || event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = { "+": "In", "=": "In", "-": "Out" }[event.key];
    if (zoom) return document.querySelector(`#map [data-attr=zoom][data-val=${zoom.toLowerCase()}]`).click();
    if (event.key === "0") return document.querySelector("#map [data-val=reset]").click();
    const way = WAYS[event.key];
    if (!way) return;
    event.preventDefault();
    const graph = map(), here = graph.data[meta(graph).traces.current], { xaxis, yaxis } = graph._fullLayout;
    const from = pending || { x: here.x[0], y: here.y[0] };
    const scale = KEY_STEP * (event.shiftKey ? 4 : 1);
    pending = { x: from.x + way[0] * scale * (xaxis.range[1] - xaxis.range[0]),
                y: from.y + way[1] * scale * (yaxis.range[1] - yaxis.range[0]) };
    send({ ...pending, graph }, {});
    clearTimeout(watch.timer);
    watch.timer = setTimeout(() => { pending = null; }, 400);
  });
})();
