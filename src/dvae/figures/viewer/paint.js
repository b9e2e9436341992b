// Scenes of dvae.figures.scene on a canvas: less detail the smaller they are, nothing of what is out of sight.
(function () {
  "use strict";
  const KINDS = { added: "#16a34a", removed: "#d9434f", changed: "#b45309", turned: "#b45309" };
  const FONT = "Inter, Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif";
  const TEXT = 13, HEAD = 8, HEAD_WIDTH = 7.5, CORNER = 8, STACK = 3, STRIP = 5;
  const READABLE = 5.5, HEADS_FROM = 0.3, FAINT = 0.16, MAX_WIDTH = 5;

  // The tip of an edge, the middle of its head's base, and the two other corners.
  function headOf(route, scale) {
    const n = route.length, tip = [route[n - 2], route[n - 1]];
    let [x, y] = [tip[0] - route[n - 4], tip[1] - route[n - 3]];
    const length = Math.hypot(x, y) || 1;
    x /= length; y /= length;
    const base = [tip[0] - scale * HEAD * x, tip[1] - scale * HEAD * y], half = scale * HEAD_WIDTH / 2;
    return { tip, base, corners: [[base[0] - half * y, base[1] + half * x], [base[0] + half * y, base[1] - half * x]] };
  }

  const widthOf = edge => Math.min(MAX_WIDTH, 1.6 * (1 + Math.log2(edge.count || 1) / 3)) + (edge.kind ? 1 : 0);

  // Curves, heads and frames of all edges, computed once.
  function prepare(scene) {
    for (const edge of scene.edges) {
      const r = edge.route, path = new Path2D();
      edge.width = widthOf(edge);
      edge.head = headOf(r, Math.max(1, edge.width / 2.5));
      path.moveTo(r[0], r[1]);
      for (let k = 2; k + 5 < r.length; k += 6) {
        const last = k + 7 >= r.length, end = last ? edge.head.base : [r[k + 4], r[k + 5]];
        const back = last ? [end[0] - r[k + 4], end[1] - r[k + 5]] : [0, 0];
        path.bezierCurveTo(r[k], r[k + 1], r[k + 2] + back[0], r[k + 3] + back[1], end[0], end[1]);
      }
      edge.path = path;
      const xs = r.filter((_, k) => k % 2 === 0), ys = r.filter((_, k) => k % 2 === 1);
      edge.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    }
    scene.above = scene.nodes.map(() => []);
    scene.below = scene.nodes.map(() => []);
    for (const edge of scene.edges) { scene.below[edge.from].push(edge.to); scene.above[edge.to].push(edge.from); }
    return scene;
  }

  function outline(context, node, dx) {
    context.beginPath();
    if (node.round) context.arc(node.x, node.y, node.w / 2, 0, 2 * Math.PI);
    else context.roundRect(node.x - node.w / 2 + dx, node.y - node.h / 2 + dx, node.w, node.h, CORNER);
  }

  function paintNode(context, node, detail, look) {
    context.fillStyle = node.fill;
    context.strokeStyle = look.ring || KINDS[node.kind] || node.stroke;
    context.lineWidth = (look.ring || node.kind ? 3 : 1) * Math.max(1, 0.5 / look.zoom);
    if (detail === "block") {
      const least = 2 / look.zoom, w = Math.max(node.w, least), h = Math.max(node.h, least);
      context.fillRect(node.x - w / 2, node.y - h / 2, w, h);
      if (look.ring || node.kind) context.strokeRect(node.x - w / 2, node.y - h / 2, w, h);
      return;
    }
    if (node.members.length > 1) { outline(context, node, STACK); context.fill(); context.stroke(); }
    outline(context, node, 0); context.fill(); context.stroke();
    let left = node.x - node.w / 2 + CORNER;
    for (const [colour, share] of node.shares || []) {
      const wide = share * (node.w - 2 * CORNER);
      context.fillStyle = colour;
      context.fillRect(left, node.y + node.h / 2 - STRIP - 1, wide, STRIP);
      left += wide;
    }
    if (detail !== "text") return;
    context.fillStyle = node.ink;
    context.fillText(node.label, node.x, node.y + (node.shares ? -2 : 0), node.w - 6);
  }

  function paintEdge(context, edge, look) {
    context.strokeStyle = context.fillStyle = look.colour || KINDS[edge.kind] || look.edge;
    context.lineWidth = Math.max(edge.width, 0.7 / look.zoom) + (look.colour ? 1 : 0);
    context.setLineDash(edge.kind === "removed" ? [6, 4] : []);
    context.stroke(edge.path);
    if (look.zoom < HEADS_FROM && !look.colour) return;
    const { tip, corners } = edge.head;
    context.beginPath();
    context.moveTo(...tip); context.lineTo(...corners[0]); context.lineTo(...corners[1]);
    context.fill();
  }

  // marks: { selected, hover, hits: Set or null }; colours: { edge, accent, ground }
  function paint(context, scene, zoom, seen, marks, colours) {
    const chosen = marks.selected ?? marks.hover, near = new Set();
    if (chosen !== null && chosen !== undefined) {
      near.add(chosen);
      for (const other of [...scene.above[chosen], ...scene.below[chosen]]) near.add(other);
    }
    const dims = marks.selected !== null && marks.selected !== undefined;
    const touches = edge => edge.from === chosen || edge.to === chosen;
    const faint = (isOn) => { context.globalAlpha = isOn ? 1 : FAINT; };
    const visible = ([x1, y1, x2, y2]) => x2 >= seen[0] && y2 >= seen[1] && x1 <= seen[2] && y1 <= seen[3];
    let drawn = 0;
    for (const edge of scene.edges) {
      if (!visible(edge.box) || touches(edge)) continue;
      faint(!dims && !marks.hits);
      paintEdge(context, edge, { zoom, edge: colours.edge });
      drawn += 1;
    }
    context.globalAlpha = 1;
    for (const edge of scene.edges) if (touches(edge)) paintEdge(context, edge, { zoom, edge: colours.edge, colour: colours.accent });
    const detail = zoom * TEXT >= READABLE ? "text" : zoom * TEXT >= 2.5 ? "shape" : "block";
    context.setLineDash([]);
    context.font = `${TEXT}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    scene.nodes.forEach((node, number) => {
      if (!visible([node.x - node.w / 2, node.y - node.h / 2, node.x + node.w / 2, node.y + node.h / 2])) return;
      const isHit = marks.hits && marks.hits.has(number);
      faint(isHit || (!(dims && !near.has(number)) && !(marks.hits && number !== chosen)));
      paintNode(context, node, detail, { zoom, ring: number === marks.selected || isHit ? colours.accent : "" });
      drawn += 1;
    });
    context.globalAlpha = 1;
    return { detail, drawn };
  }

  window.dvaePaint = { prepare, paint, headOf, widthOf, KINDS, FONT, TEXT, CORNER, STACK, STRIP };
})();
