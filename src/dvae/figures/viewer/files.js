// A scene as a file: SVG, PNG, or a picture on the clipboard. Always the whole of it, whatever is in sight.
(function () {
  "use strict";
  const MARGIN = 14, SCALE = 2, MAX_PIXELS = 30e6, MAX_SIDE = 8000;
  const { KINDS, FONT, TEXT, CORNER, STACK, STRIP } = window.dvaePaint;

  const escaped = text => String(text).replace(/[&<>"]/g, sign => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign])
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
  const short = number => String(Math.round(number * 100) / 100);
  const pair = ([x, y]) => `${short(x)},${short(y)}`;

  function edgeText(edge, scene, colours) {
    const r = edge.route, colour = KINDS[edge.kind] || colours.edge;
    let path = `M${pair(r)}`;
    for (let k = 2; k + 5 < r.length; k += 6) path += `C${pair(r.slice(k))} ${pair(r.slice(k + 2))} ${pair(r.slice(k + 4))}`;
    const dashes = edge.kind === "removed" ? ' stroke-dasharray="6 4"' : "";
    const name = `${scene.nodes[edge.from].name} → ${scene.nodes[edge.to].name}`;
    return `<g class="edge"><title>${escaped(name)}</title><path d="${path}" fill="none" stroke="${colour}" stroke-width="${short(edge.width)}"${dashes}/>`
      + `<polygon points="${edge.head.map(short).join(" ")}" fill="${colour}"/></g>`;
  }

  function nodeText(node) {
    const paint = `fill="${node.fill}" stroke="${KINDS[node.kind] || node.stroke}" stroke-width="${node.kind ? 3 : 1}"`;
    const sheet = dx => node.round ? `<circle cx="${short(node.x)}" cy="${short(node.y)}" r="${short(node.w / 2)}" ${paint}/>`
      : `<rect x="${short(node.x - node.w / 2 + dx)}" y="${short(node.y - node.h / 2 + dx)}" width="${short(node.w)}" height="${short(node.h)}" rx="${CORNER}" ${paint}/>`;
    let left = node.x - node.w / 2 + CORNER, strip = "";
    for (const [colour, share] of node.shares || []) {
      const wide = share * (node.w - 2 * CORNER);
      strip += `<rect x="${short(left)}" y="${short(node.y + node.h / 2 - STRIP - 1)}" width="${short(wide)}" height="${STRIP}" fill="${colour}"/>`;
      left += wide;
    }
    const y = node.y + 0.35 * TEXT + (node.shares ? -2 : 0);
    return `<g class="node"><title>${escaped(node.name)}</title>${node.members.length > 1 ? sheet(STACK) : ""}${sheet(0)}${strip}`
      + `<text x="${short(node.x)}" y="${short(y)}" font-size="${TEXT}" text-anchor="middle" fill="${node.ink}">${escaped(node.label)}</text></g>`;
  }

  function svgOf(scene, colours) {
    const width = short(scene.width + 2 * MARGIN), height = short(scene.height + 2 * MARGIN);
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}">`,
      `<rect width="${width}" height="${height}" fill="${colours.ground}"/>`,
      `<g transform="translate(${MARGIN} ${MARGIN})">`,
      ...scene.edges.map(edge => edgeText(edge, scene, colours)), ...scene.nodes.map(nodeText), "</g>", "</svg>", "",
    ].join("\n");
  }

  function pngOf(scene, colours) {
    const width = scene.width + 2 * MARGIN, height = scene.height + 2 * MARGIN;
    const scale = Math.min(SCALE, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_PIXELS / (width * height)));
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(scale, 0, 0, scale, MARGIN * scale, MARGIN * scale);
    window.dvaePaint.paint(context, scene, 1, [-1e9, -1e9, 1e9, 1e9], { selected: null, hover: null, hits: null }, colours);
    return new Promise((done, failed) => canvas.toBlob(blob => blob ? done(blob) : failed(new Error("no picture")), "image/png"));
  }

  function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const nameOf = title => (title || "graph").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "graph";

  window.dvaeFiles = {
    svgOf, pngOf,
    saveSvg: (scene, colours) => save(new Blob([svgOf(scene, colours)], { type: "image/svg+xml" }), `${nameOf(scene.title)}.svg`),
    savePng: async (scene, colours) => save(await pngOf(scene, colours), `${nameOf(scene.title)}.png`),
    copy: async (scene, colours) => {
      const picture = pngOf(scene, colours);  // as a promise: the click must still count when the picture is ready
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    },
  };
})();
