// The graph view: a scene in the whole window, to pan, zoom, search and read node by node.
//   dvaeViewer.open({ title, request })  request(wish) is called for another direction or folding, if it can be had
//   dvaeViewer.show(scene), dvaeViewer.fail(sentence), dvaeViewer.close()
(function () {
  "use strict";
  const MIN_ZOOM = 0.004, MAX_ZOOM = 6, FIT_ZOOM = 1.4, PAD = 28, STEP = 1.25, PAN = 60, CLICK = 5, LISTED = 200;
  const paint = window.dvaePaint, files = window.dvaeFiles;
  let parts = null, scene = null, ask = null, opened = [], wish = {};
  const view = { x: 0, y: 0, k: 1 }, marks = { selected: null, hover: null, hits: null };
  let hits = [], at = -1, pointers = new Map(), travelled = 0, pinch = null, waiting = false, painted = null;

  const make = (kind, properties, ...children) => {
    const element = Object.assign(document.createElement(kind), properties);
    element.append(...children);
    return element;
  };
  const button = (text, name, act, more = {}) => make("button", { type: "button", textContent: text, title: name, ariaLabel: name, onclick: act, ...more });

  function build() {
    const canvas = make("canvas", { tabIndex: 0 });
    canvas.setAttribute("role", "application");
    const find = make("input", { type: "search", placeholder: "Find a node", ariaLabel: "Find a node by type, number or value", autocomplete: "off", spellcheck: false });
    const found = make("output", {}), zoom = make("span", { className: "gv-zoom" }), title = make("h1", { className: "gv-title" });
    const turn = button("", "Draw it the other way", () => request({ direction: scene.direction === "right" ? "down" : "right" }));
    const folds = button("", "Fold groups of nodes, or show all", () => request({ folded: !scene.folded, opened: [] }));
    const tip = make("div", { className: "gv-tip", hidden: true }); tip.setAttribute("role", "tooltip");
    const side = make("aside", { className: "gv-side", hidden: true, ariaLabel: "The chosen node" });
    const state = make("p", { className: "gv-state" }), busy = make("p", { className: "gv-busy", hidden: true });
    state.setAttribute("role", "status"); busy.setAttribute("role", "status");
    const bar = make("div", { className: "gv-bar" }, title,
      make("label", { className: "gv-find" }, find, found),
      make("span", { className: "gv-group" }, button("Fit", "Fit the whole graph into the window (0)", fit), button("−", "Zoom out (-)", () => zoomBy(1 / STEP)), zoom, button("+", "Zoom in (+)", () => zoomBy(STEP))),
      make("span", { className: "gv-group" }, turn, folds),
      make("span", { className: "gv-group" }, button("PNG", "Save as PNG", () => save("savePng", "Saved as PNG")), button("SVG", "Save as SVG", () => save("saveSvg", "Saved as SVG")), button("Copy", "Copy the picture", () => save("copy", "Copied"))),
      button("Close", "Close the graph view (Escape)", close));
    const dialog = make("dialog", { className: "gv", id: "graph-view" }, bar,
      make("div", { className: "gv-body" }, make("div", { className: "gv-stage" }, canvas, tip, state, busy), side));
    dialog.setAttribute("aria-label", "Graph view");
    document.body.append(dialog);
    dialog.addEventListener("cancel", event => { event.preventDefault(); if (marks.selected !== null) select(null); else close(); });
    find.addEventListener("input", () => search(find.value));
    find.addEventListener("keydown", event => { if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1); } });
    dialog.addEventListener("keydown", keys);
    canvas.addEventListener("wheel", event => { event.preventDefault(); zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), spot(event)); }, { passive: false });
    for (const [name, act] of Object.entries({ pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: leave })) canvas.addEventListener(name, act);
    canvas.addEventListener("dblclick", event => { const node = nodeAt(...spot(event)); if (node === null) fit(); else unfold(node); });
    new ResizeObserver(() => { if (dialog.open && scene) { measure(); paintNow(); } }).observe(canvas);
    parts = { dialog, canvas, find, found, zoom, title, turn, folds, tip, side, state, busy };
  }

  function request(more) {
    if (!ask || !scene) return;
    wish = { direction: scene.direction, folded: scene.folded, opened, ...more };
    opened = wish.opened;
    busy("Drawing …");
    ask(wish);
  }
  const busy = words => { parts.busy.textContent = words; parts.busy.hidden = !words; };

  function open(options) {
    if (!parts) build();
    ask = options.request || null;
    opened = []; scene = null;
    parts.title.textContent = options.title || "Graph";
    parts.find.value = ""; parts.found.textContent = ""; parts.state.textContent = "";
    parts.turn.hidden = parts.folds.hidden = !ask;
    select(null); search("");
    busy("Drawing …");
    if (!parts.dialog.open) parts.dialog.showModal();
    parts.canvas.focus({ preventScroll: true });
  }

  function show(given) {
    const before = scene;
    scene = paint.prepare(given);
    busy("");
    if (scene.title) parts.title.textContent = scene.title;
    parts.turn.textContent = scene.direction === "right" ? "Left to right" : "Top to bottom";
    parts.folds.hidden = !ask || !scene.foldable;
    parts.folds.textContent = scene.folded ? "Unfold all" : "Fold";
    for (const each of [parts.turn, parts.folds]) each.ariaLabel = `${each.textContent}: ${each.title.toLowerCase()}`;
    const nodes = scene.types.length, edges = scene.edges.reduce((sum, edge) => sum + (edge.count || 1), 0);
    const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
    parts.state.textContent = `${counted(nodes, "node")}, ` + (scene.folded ? `folded into ${counted(scene.nodes.length, "box").replace("boxs", "boxes")}: double-click one to open it` : counted(edges, "edge"));
    parts.canvas.setAttribute("aria-label", `Drawing of a graph, ${parts.state.textContent}. Keys: plus, minus and 0 zoom, arrows move, n and p choose a node, slash finds one.`);
    marks.selected = null; renderSide();
    measure();
    if (!before || before.direction !== scene.direction || before.folded !== scene.folded || before.nodes.length !== scene.nodes.length) fit();
    search(parts.find.value);
    draw();
  }

  const fail = words => { if (parts) busy(words); };
  function close() { if (parts && parts.dialog.open) parts.dialog.close(); }

  function colours() {
    const style = getComputedStyle(parts.dialog), of = name => style.getPropertyValue(name).trim();
    return { edge: of("--gv-edge"), accent: of("--gv-mark"), ground: style.backgroundColor };
  }
  async function save(way, words) {
    if (!scene) return;
    try { await files[way](scene, colours()); parts.state.textContent = `${words}.`; }
    catch (error) { parts.state.textContent = "The browser does not allow it here; save the picture instead."; }
  }

  // View: a point p of the scene is at k * p + (x, y).
  function measure() {
    const { canvas } = parts, ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  }
  function fit() {
    if (!scene) return;
    const w = parts.canvas.clientWidth, h = parts.canvas.clientHeight;
    view.k = Math.max(MIN_ZOOM, Math.min(FIT_ZOOM, (w - 2 * PAD) / Math.max(1, scene.width), (h - 2 * PAD) / Math.max(1, scene.height)));
    view.x = (w - view.k * scene.width) / 2; view.y = (h - view.k * scene.height) / 2;
    draw();
  }
  function zoomBy(factor, [x, y] = [parts.canvas.clientWidth / 2, parts.canvas.clientHeight / 2]) {
    const k = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, view.k * factor)), grown = k / view.k;
    view.x = x - grown * (x - view.x); view.y = y - grown * (y - view.y); view.k = k;
    draw();
  }
  function centre(number) {
    const node = scene.nodes[number], { canvas } = parts;
    view.k = Math.max(view.k, Math.min(1, 8 / paint.TEXT * 1.3));
    view.x = canvas.clientWidth / 2 - view.k * node.x; view.y = canvas.clientHeight / 2 - view.k * node.y;
    draw();
  }
  function draw() {
    if (waiting || !scene) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (scene) paintNow(); });
  }
  function paintNow() {
    const { canvas } = parts, context = canvas.getContext("2d"), ratio = canvas.width / Math.max(1, canvas.clientWidth);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
    const seen = [-view.x / view.k, -view.y / view.k, (canvas.clientWidth - view.x) / view.k, (canvas.clientHeight - view.y) / view.k];
    painted = paint.paint(context, scene, view.k, seen, marks, colours());
    parts.zoom.textContent = `${Math.round(100 * view.k)}%`;
  }

  const spot = event => { const box = parts.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  function nodeAt(x, y) {
    if (!scene) return null;
    const sx = (x - view.x) / view.k, sy = (y - view.y) / view.k, least = 4 / view.k;
    for (let number = scene.nodes.length - 1; number >= 0; number -= 1) {
      const node = scene.nodes[number];
      if (Math.abs(sx - node.x) <= Math.max(least, node.w / 2) && Math.abs(sy - node.y) <= Math.max(least, node.h / 2)) return number;
    }
    return null;
  }

  function down(event) {
    parts.canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, spot(event));
    travelled = pointers.size > 1 ? CLICK + 1 : 0;
    pinch = null;
    hover(null);
  }
  function move(event) {
    const here = spot(event), before = pointers.get(event.pointerId);
    if (!before) return hover(nodeAt(...here), here);
    pointers.set(event.pointerId, here);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]), middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      if (pinch) { view.x += middle[0] - pinch.middle[0]; view.y += middle[1] - pinch.middle[1]; zoomBy(apart / pinch.apart, middle); }
      pinch = { apart, middle };
      return;
    }
    travelled += Math.hypot(here[0] - before[0], here[1] - before[1]);
    if (travelled <= CLICK) return;
    parts.canvas.classList.add("dragging");
    view.x += here[0] - before[0]; view.y += here[1] - before[1];
    draw();
  }
  function up(event) {
    if (!pointers.delete(event.pointerId)) return;
    pinch = null;
    parts.canvas.classList.remove("dragging");
    if (event.type === "pointerup" && travelled <= CLICK) select(nodeAt(...spot(event)));
  }
  const leave = () => { if (!pointers.size) hover(null); };

  function hover(number, place) {
    const { tip, canvas } = parts;
    if (number !== marks.hover) { marks.hover = number; draw(); }
    canvas.classList.toggle("on-node", number !== null);
    tip.hidden = number === null;
    if (number === null) return;
    const node = scene.nodes[number];
    tip.replaceChildren(make("b", { textContent: node.name }), ...(node.values || []).map(([name, value]) => make("span", { textContent: `${name}: ${value}` })));
    tip.style.left = `${Math.max(4, Math.min(place[0] + 14, canvas.clientWidth - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(4, Math.min(place[1] + 16, canvas.clientHeight - tip.offsetHeight - 6))}px`;
  }

  function keys(event) {
    const isField = event.target.tagName === "INPUT", isPress = event.target.tagName === "BUTTON" && event.key === "Enter";
    if (isField || isPress || event.ctrlKey || event.metaKey || event.altKey || !scene) return;
    const ways = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };
    const acts = {
      "+": () => zoomBy(STEP), "=": () => zoomBy(STEP), "-": () => zoomBy(1 / STEP), 0: fit, f: fit,
      n: () => go(((marks.selected ?? -1) + 1) % scene.nodes.length),
      p: () => go(((marks.selected ?? 0) - 1 + scene.nodes.length) % scene.nodes.length),
      "/": () => parts.find.focus(), Enter: () => { if (marks.selected !== null) unfold(marks.selected); },
    };
    if (ways[event.key]) { view.x += ways[event.key][0]; view.y += ways[event.key][1]; draw(); }
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }

  function search(text) {
    const words = text.trim().toLowerCase();
    const said = node => [node.name, ...node.members.slice(0, words ? undefined : 0).map(member => `${member}: ${scene.types[member]}`), ...(node.values || []).map(pair => pair.join(": "))];
    hits = !words || !scene ? [] : scene.nodes.flatMap((node, number) => said(node).some(line => line.toLowerCase().includes(words)) ? [number] : []);
    marks.hits = words ? new Set(hits) : null;
    at = -1;
    parts.found.textContent = !words ? "" : hits.length ? `${hits.length} found` : "none found";
    draw();
  }
  function step(way) {
    if (!hits.length) return;
    at = (at + way + (at < 0 && way < 0 ? 1 : 0) + hits.length) % hits.length;
    parts.found.textContent = `${at + 1} of ${hits.length}`;
    go(hits[at]);
  }
  const go = number => { select(number); centre(number); };

  function unfold(number) {
    const node = scene.nodes[number];
    if (!ask || node.members.length < 2) return;
    request({ folded: true, opened: [...opened, [node.members[0], node.members.length]] });
  }

  function select(number) {
    marks.selected = number;
    if (parts) renderSide();
    draw();
  }

  function links(title, numbers) {
    const shown = numbers.slice(0, LISTED).map(number => {
      const node = scene.nodes[number], colour = make("i", {});
      colour.style.background = node.fill;
      return make("li", {}, make("button", { type: "button", onclick: () => go(number) }, colour, node.name));
    });
    const more = numbers.length > LISTED ? [make("p", { className: "gv-more", textContent: `and ${numbers.length - LISTED} more` })] : [];
    return [make("h3", { textContent: `${title} (${numbers.length})` }), make("ul", { className: "gv-links" }, ...shown), ...more];
  }
  function renderSide() {
    const { side } = parts, number = marks.selected;
    side.hidden = number === null || !scene;
    if (side.hidden) return;
    const node = scene.nodes[number], isGroup = node.members.length > 1;
    const rows = isGroup ? [["nodes", node.members.length.toLocaleString("en")]] : [["type", scene.types[node.members[0]]], ["number", node.members[0]]];
    if (node.kind) rows.push(["change", { added: "new", removed: "gone", changed: "another type or other values" }[node.kind]]);
    const table = make("dl", {}, ...[...rows, ...(node.values || [])].flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })]));
    const head = make("header", {}, make("h2", { textContent: node.name }), button("×", "Close the panel", () => { select(null); parts.canvas.focus(); }));
    const inside = !isGroup ? [] : [
      ...(ask ? [button("Open this group", "Show the nodes of this group (Enter)", () => unfold(number))] : []),
      make("h3", { textContent: "Its nodes" }),
      make("p", { className: "gv-more", textContent: node.members.slice(0, LISTED).map(member => `${member}: ${scene.types[member]}`).join(", ") + (node.members.length > LISTED ? " …" : "") }),
    ];
    side.replaceChildren(head, table, ...inside, ...links("From", scene.above[number]), ...links("To", scene.below[number]));
  }

  window.dvaeViewer = {
    open, show, fail, close,
    state: () => ({ open: Boolean(parts && parts.dialog.open), view: { ...view }, marks: { ...marks, hits: [...(marks.hits || [])] }, painted, scene }),
  };
})();
