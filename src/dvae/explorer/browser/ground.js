// The known DAGs of a map and what lies behind them, on a canvas of their own under plotly's drawing: thousands of
// points in one pass and without WebGL, whose programs take longer to compile than all the rest of the page to open.
(function () {
  const SHADES = 96, FAINT = 0.16, UNKNOWN = "#7b8798";
  const WHILE_MOVING = 30_000;  // points that are drawn while the map is dragged or zoomed; all of them when it rests
  const grounds = new WeakMap();  // by graph
  let chosen = null;  // the map and the corners of a selection

  const numbers = new WeakMap();
  function unpacked(values) {  // numbers as they come from the server: packed, or a list
    if (!values || !values.bdata) return values || [];
    if (!numbers.has(values)) {
      const bytes = Uint8Array.from(atob(values.bdata), letter => letter.charCodeAt(0));
      numbers.set(values, new Float32Array(bytes.buffer));
    }
    return numbers.get(values);
  }

  function parsed(colour) {  // red, green, blue, opacity
    if (colour[0] === "#") return [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16)).concat(1);
    const found = colour.match(/[\d.]+/g).map(Number);
    return found.length > 3 ? found : found.concat(1);
  }
  function shade(scale, share) {  // a colour of a scale
    let place = 1;
    while (place < scale.length - 1 && share > scale[place][0]) place++;
    const [[low, before], [high, after]] = [scale[place - 1], scale[place]];
    const part = high > low ? Math.min(1, Math.max(0, (share - low) / (high - low))) : 1;
    const one = parsed(before), other = parsed(after);
    return one.map((value, index) => value + part * (other[index] - value));
  }
  const written = ([red, green, blue, opacity]) => `rgba(${red.toFixed()},${green.toFixed()},${blue.toFixed()},${opacity})`;

  function stamp(colour, radius, opacity) {  // a disc, to be printed many times
    const side = Math.ceil(2 * radius) + 2, disc = document.createElement("canvas");
    disc.width = disc.height = side;
    const pen = disc.getContext("2d", { willReadFrequently: true });
    pen.globalAlpha = opacity;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(side / 2, side / 2, radius, 0, 2 * Math.PI);
    pen.fill();
    return disc;
  }

  function stamps(marker, radius, fade) {  // the disc of each point, by its place
    const opacity = (marker.opacity ?? 1) * fade;
    if (typeof marker.color === "string") {
      const only = stamp(marker.color, radius, opacity);
      return () => only;
    }
    const values = unpacked(marker.color), { cmin, cmax, colorscale } = marker, made = [];
    const none = stamp(UNKNOWN, radius, opacity * 0.5);
    return place => {
      const share = (values[place] - cmin) / (cmax - cmin || 1);
      if (!Number.isFinite(share)) return none;
      const step = Math.round(Math.min(1, Math.max(0, share)) * SHADES);
      return made[step] || (made[step] = stamp(written(shade(colorscale, step / SHADES)), radius, opacity));
    };
  }

  function inside(corners, x, y) {  // even and odd crossings
    let within = false;
    for (let here = 0, last = corners.length - 1; here < corners.length; last = here++) {
      const [ax, ay] = corners[here], [bx, by] = corners[last];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
    }
    return within;
  }

  function cloud(heat) {  // the background, one pixel for each of its cells
    if (!heat.z || !heat.z.length) return null;
    const { z, colorscale, opacity } = heat, flat = z.flat().filter(value => value !== null);
    const low = heat.zmin ?? Math.min(...flat), high = heat.zmax ?? Math.max(...flat);
    const made = document.createElement("canvas");
    made.width = z[0].length;
    made.height = z.length;
    const pen = made.getContext("2d", { willReadFrequently: true }), pixels = pen.createImageData(made.width, made.height);
    z.forEach((row, up) => row.forEach((value, across) => {
      if (value === null) return;
      const [red, green, blue, strength] = shade(colorscale, (value - low) / (high - low || 1));
      pixels.data.set([red, green, blue, 255 * strength * (opacity ?? 1)], 4 * ((z.length - 1 - up) * z[0].length + across));
    }));
    pen.putImageData(pixels, 0, 0);
    return made;
  }

  function paint(graph, moving = false) {
    const { layout, data, _fullLayout: full } = graph, traces = (layout && layout.meta && layout.meta.traces) || {};
    if (traces.background === undefined || !full || !full.xaxis || !full.xaxis._length) return;
    const { xaxis, yaxis } = full, sharp = window.devicePixelRatio || 1;
    const mine = chosen && chosen.plane === layout.meta.plane && graph.closest("#map") ? chosen : null;
    let ground = grounds.get(graph);
    if (!ground) {
      ground = { canvas: document.createElement("canvas"), key: [] };
      ground.canvas.className = "ground";
      ground.canvas.setAttribute("aria-hidden", "true");
      grounds.set(graph, ground);
    }
    const room = graph.querySelector(".svg-container"), { canvas } = ground;
    if (canvas.parentNode !== room) room.prepend(canvas);
    const count = [traces.faded, traces.points].reduce((sum, trace) => sum + unpacked(data[trace].x).length, 0);
    const stride = moving ? Math.max(1, Math.ceil(count / WHILE_MOVING)) : 1;
    const key = [data[traces.background], data[traces.faded], data[traces.points], mine, sharp, stride,
                 ...[xaxis, yaxis].flatMap(axis => [axis._offset, axis._length, ...axis.range])];
    if (key.length === ground.key.length && key.every((part, place) => part === ground.key[place])) return;
    if (key[0] !== ground.key[0]) ground.cloud = cloud(key[0]);
    ground.key = key;
    const width = Math.round(xaxis._length * sharp), height = Math.round(yaxis._length * sharp);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    canvas.style.cssText = `left:${xaxis._offset}px;top:${yaxis._offset}px;width:${xaxis._length}px;height:${yaxis._length}px`;
    const pen = canvas.getContext("2d", { willReadFrequently: true }), [left, right] = xaxis.range, [bottom, top] = yaxis.range;
    const across = width / (right - left), up = height / (top - bottom);
    pen.clearRect(0, 0, width, height);
    if (ground.cloud) {
      const { x, y, zsmooth } = key[0], dx = x[1] - x[0], dy = y[1] - y[0];
      pen.imageSmoothingEnabled = zsmooth !== false;
      pen.imageSmoothingQuality = "high";
      pen.drawImage(ground.cloud, (x[0] - dx / 2 - left) * across, (top - y[y.length - 1] - dy / 2) * up,
                    x.length * dx * across, y.length * dy * up);
    }
    for (const trace of [key[1], key[2]]) {
      const xs = unpacked(trace.x), ys = unpacked(trace.y), { marker } = trace;
      if (!xs.length) continue;
      const radius = (marker.size / 2) * sharp, usual = stamps(marker, radius, 1), faint = mine && stamps(marker, radius, FAINT);
      for (let place = 0; place < xs.length; place += stride) {
        const px = (xs[place] - left) * across, py = (top - ys[place]) * up;
        if (px < -radius || py < -radius || px > width + radius || py > height + radius) continue;
        const disc = (mine && !inside(mine.corners, xs[place], ys[place]) ? faint : usual)(place);
        pen.drawImage(disc, px - disc.width / 2, py - disc.height / 2);
      }
    }
    canvas.dataset.drawn = Number(canvas.dataset.drawn || 0) + 1;
  }

  function watch(graph) {
    if (grounds.has(graph)) return;
    paint(graph);
    let frame = 0;
    for (const event of ["plotly_afterplot", "plotly_relayout"]) graph.on(event, () => {
      cancelAnimationFrame(frame);
      paint(graph);
    });
    graph.on("plotly_relayouting", () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => paint(graph, true));
    });
  }

  // Where the points of a trace are, whoever draws them.
  function points(graph, trace) {
    const raw = graph.data[trace], drawn = graph._fullData.find(each => each.index === trace);
    if (raw && raw.visible === false) return { x: unpacked(raw.x), y: unpacked(raw.y) };  // drawn here
    return drawn && drawn.visible === true && drawn.x ? drawn : null;
  }

  const LATER = 250;  // milliseconds until the next look for maps that plotly has not drawn yet
  const maps = () => [...document.querySelectorAll(".map-frame .js-plotly-plot")].filter(graph => graph.on && graph._fullLayout);
  function watchAll() {
    maps().forEach(watch);
    if (maps().length < document.querySelectorAll(".map-frame").length) setTimeout(watchAll, LATER);
  }
  window.dvaeGround = {
    points, watchAll,
    choose: selection => {
      chosen = selection && selection.corners ? selection : null;
      maps().forEach(graph => paint(graph));
      return dash_clientside.no_update;
    },
  };
})();
