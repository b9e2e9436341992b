// Scenes of dvae.figures.scene on a canvas: less detail the smaller they are, nothing of what is out of sight.
(function () {
  "use strict";
  const KINDS = { added: "#16a34a", removed: "#d9434f", changed: "#b45309", turned: "#b45309" };
  const FONT = "Inter, Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif";
  const TEXT = 13, CORNER = 8, STACK = 3, STRIP = 5;
  const READABLE = 5.5, HEADS_FROM = 0.3, FAINT = 0.16, MANY = 400, TOGETHER = 250;

  // From far away edges are straight pieces, many of them one path: a path for each takes too long.
  function coarse(edges) {
    const found = [];
    for (let first = 0; first < edges.length; first += TOGETHER) {
      const path = new Path2D();
      for (const { route } of edges.slice(first, first + TOGETHER)) {
        path.moveTo(route[0], route[1]);
        for (let k = 6; k + 1 < route.length; k += 6) path.lineTo(route[k], route[k + 1]);
      }
      found.push(path);
    }
    return found;
  }

  // Curves, heads and frames of all edges, computed once.
  function prepare(scene) {
    for (const edge of scene.edges) {
      const r = edge.route, path = new Path2D();
      path.moveTo(r[0], r[1]);
      for (let k = 2; k + 5 < r.length; k += 6) path.bezierCurveTo(...r.slice(k, k + 6));
      edge.path = path;
      const xs = r.filter((_, k) => k % 2 === 0), ys = r.filter((_, k) => k % 2 === 1);
      edge.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    }
    scene.coarse = coarse(scene.edges.filter(edge => !edge.kind));
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
    const head = edge.head;
    context.beginPath();
    context.moveTo(head[0], head[1]); context.lineTo(head[2], head[3]); context.lineTo(head[4], head[5]);
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
    const isFar = zoom < HEADS_FROM && scene.edges.length > MANY;
    faint(!dims && !marks.hits);
    if (isFar) {
      context.strokeStyle = colours.edge;
      context.lineWidth = 0.7 / zoom;
      context.setLineDash([]);
      for (const path of scene.coarse) context.stroke(path);
    }
    for (const edge of scene.edges) {
      if ((isFar && !edge.kind) || !visible(edge.box) || touches(edge)) continue;
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
    return { detail, drawn, coarse: isFar };
  }

  window.dvaePaint = { prepare, paint, KINDS, FONT, TEXT, CORNER, STACK, STRIP };
})();
