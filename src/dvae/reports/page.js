// What a report does beyond being read: light and dark, pictures to zoom into, maps to look around on.
(function () {
  "use strict";
  const root = document.documentElement, data = JSON.parse(document.getElementById("report-data")?.textContent || "{}");
  const make = (kind, properties, ...children) => { const element = Object.assign(document.createElement(kind), properties); element.append(...children); return element; };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  try { const kept = localStorage.getItem("dvae-theme"); if (kept) root.dataset.theme = kept; } catch (error) { /* no storage: the system's theme */ }
  document.querySelector(".theme")?.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("dvae-theme", root.dataset.theme); } catch (error) { /* it lasts for this visit */ }
    document.dispatchEvent(new Event("themed"));
  });

  // Pictures.
  let box = null;
  function lightbox() {
    const image = make("img", { alt: "" }), title = make("h2", {}), stage = make("div", { className: "stage" }, image);
    const at = { x: 0, y: 0, k: 1 }, held = new Map();
    const put = () => { image.style.transform = `translate(${at.x}px, ${at.y}px) scale(${at.k})`; };
    const fit = () => {
      const w = image.naturalWidth || 1, h = image.naturalHeight || 1;
      at.k = Math.min((stage.clientWidth - 24) / w, (stage.clientHeight - 24) / h, 3);
      at.x = (stage.clientWidth - at.k * w) / 2; at.y = (stage.clientHeight - at.k * h) / 2; put();
    };
    const zoom = (factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) => {
      const k = Math.max(0.05, Math.min(20, at.k * factor)), grown = k / at.k;
      at.x = x - grown * (x - at.x); at.y = y - grown * (y - at.y); at.k = k; put();
    };
    const place = event => { const frame = stage.getBoundingClientRect(); return [event.clientX - frame.left, event.clientY - frame.top]; };
    const button = (text, name, act) => make("button", { type: "button", textContent: text, title: name, ariaLabel: name, onclick: act });
    const dialog = make("dialog", { className: "lightbox", ariaLabel: "Picture" }, make("header", {}, title, button("Fit", "Fit into the window (0)", fit), button("−", "Zoom out (-)", () => zoom(0.8)), button("+", "Zoom in (+)", () => zoom(1.25)), button("Close", "Close (Escape)", () => dialog.close())), stage);
    stage.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(-event.deltaY * 0.0016), ...place(event)); }, { passive: false });
    stage.addEventListener("pointerdown", event => { stage.setPointerCapture(event.pointerId); held.set(event.pointerId, place(event)); });
    stage.addEventListener("pointermove", event => {
      const before = held.get(event.pointerId), here = place(event);
      if (!before) return;
      const others = [...held].filter(([id]) => id !== event.pointerId).map(([, spot]) => spot);
      held.set(event.pointerId, here);
      if (others.length) zoom(Math.hypot(here[0] - others[0][0], here[1] - others[0][1]) / Math.max(1, Math.hypot(before[0] - others[0][0], before[1] - others[0][1])), (here[0] + others[0][0]) / 2, (here[1] + others[0][1]) / 2);
      else { at.x += here[0] - before[0]; at.y += here[1] - before[1]; put(); }
    });
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, event => held.delete(event.pointerId));
    stage.addEventListener("dblclick", fit);
    dialog.addEventListener("keydown", event => { ({ "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit })[event.key]?.(); });
    document.body.append(dialog);
    return { open: (words, source) => { title.textContent = words; image.alt = words; image.src = source; dialog.showModal(); image.decode().then(fit, fit); }, state: () => ({ ...at, open: dialog.open }) };
  }
  document.addEventListener("click", event => {
    const picture = event.target.closest(".zoom");
    if (!picture) return;
    if (picture.dataset.scene !== undefined && window.dvaeViewer) return showScene(data.scenes[picture.dataset.scene], picture.dataset.title);
    box = box || lightbox();
    box.open(picture.dataset.title, picture.querySelector("img").src);
  });
  function showScene(scene, title) { dvaeViewer.open({ title }); dvaeViewer.show({ ...structuredClone(scene), title }); }

  // Maps.
  const SCALE = [[0, 0x5b6b86], [0.3, 0x4477b5], [0.62, 0x2fa79b], [0.85, 0xc9b845], [1, 0xf59e2c]];
  function shadeOf(share) {
    if (share === null || share === undefined) return "#8a97a8";
    const place = SCALE.findIndex(([end]) => share <= end), [[low, from], [high, to]] = SCALE.slice(Math.max(0, place - 1)).concat([SCALE[SCALE.length - 1]]);
    const part = high > low ? Math.max(0, Math.min(1, (share - low) / (high - low))) : 0;
    const mixed = [16, 8, 0].map(bits => Math.round(((from >> bits) & 255) * (1 - part) + ((to >> bits) & 255) * part));
    return `rgb(${mixed})`;
  }
  function map(frame, given) {
    const PAD = 34, NEAR = 14, canvas = frame.querySelector("canvas"), tip = frame.querySelector(".tip"), points = given.points;
    const xs = points.map(point => point[0]), ys = points.map(point => point[1]);
    const span = { x: [Math.min(...xs), Math.max(...xs)], y: [Math.min(...ys), Math.max(...ys)] };
    const view = { x: 0, y: 0, k: 1 };
    let chosen = null, held = null, moved = 0, waiting = false;
    const flat = point => {
      const w = canvas.clientWidth, h = canvas.clientHeight, of = (value, [low, high], room) => PAD + (high > low ? (value - low) / (high - low) : 0.5) * (room - 2 * PAD);
      return [view.x + view.k * of(point[0], span.x, w), view.y + view.k * (h - of(point[1], span.y, h))];
    };
    function draw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d"), style = getComputedStyle(frame);
        canvas.width = Math.round(canvas.clientWidth * ratio); canvas.height = Math.round(canvas.clientHeight * ratio);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        points.forEach((point, number) => {
          const [x, y] = flat(point), [, , shade, , scene, found] = point, radius = (scene === null ? 2.4 : 4.2) + (number === chosen ? 3 : 0);
          context.beginPath();
          if (found) for (let k = 0; k < 10; k += 1) { const turn = Math.PI * (k / 5 - 0.5), far = (k % 2 ? 4 : 9) + (number === chosen ? 2 : 0); context.lineTo(x + far * Math.cos(turn), y + far * Math.sin(turn)); }
          else context.arc(x, y, radius, 0, 2 * Math.PI);
          context.closePath();
          context.fillStyle = found ? "#e11d67" : shadeOf(shade);
          context.globalAlpha = scene === null && number !== chosen ? 0.6 : 1;
          context.fill();
          if (scene !== null || number === chosen) { context.lineWidth = number === chosen ? 2.5 : 1; context.strokeStyle = number === chosen ? style.color : style.backgroundColor; context.stroke(); }
        });
        context.globalAlpha = 1;
        context.fillStyle = style.color; context.font = "12px system-ui, sans-serif"; context.textAlign = "center";
        context.fillText(given.axes[0], canvas.clientWidth / 2, canvas.clientHeight - 8);
        context.save(); context.translate(14, canvas.clientHeight / 2); context.rotate(-Math.PI / 2); context.fillText(given.axes[1], 0, 0); context.restore();
      });
    }
    const place = event => { const edge = canvas.getBoundingClientRect(); return [event.clientX - edge.left, event.clientY - edge.top]; };
    function nearest(x, y, reach = NEAR) {
      let best = null, least = reach;
      points.forEach((point, number) => { const [px, py] = flat(point), far = Math.hypot(px - x, py - y) - (point[4] === null ? 0 : 3); if (far < least) { least = far; best = number; } });
      return best;
    }
    function choose(number) {
      chosen = number;
      canvas.classList.toggle("on-point", number !== null && points[number][4] !== null);
      tip.hidden = number === null;
      if (number !== null) {
        const [x, y] = flat(points[number]);
        tip.textContent = points[number][3] + (points[number][4] === null ? "" : " – click to see it");
        tip.style.left = `${Math.max(4, Math.min(x + 12, canvas.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(4, Math.min(y + 12, canvas.clientHeight - tip.offsetHeight - 4))}px`;
      }
      draw();
    }
    function open(number) { if (number !== null && points[number][4] !== null) showScene(given.scenes[points[number][4]], points[number][3]); }
    function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
      const k = Math.max(1, Math.min(60, view.k * factor)), grown = k / view.k;
      view.x = x - grown * (x - view.x); view.y = y - grown * (y - view.y); view.k = k;
      if (k === 1) view.x = view.y = 0;
      choose(null);
    }
    canvas.addEventListener("pointermove", event => {
      const here = place(event);
      if (!held) return choose(nearest(...here));
      moved += Math.hypot(here[0] - held[0], here[1] - held[1]);
      if (event.pointerType === "mouse") { view.x += here[0] - held[0]; view.y += here[1] - held[1]; draw(); }
      held = here;
    });
    canvas.addEventListener("pointerdown", event => { held = place(event); moved = 0; });
    canvas.addEventListener("pointerup", event => { if (held && moved < 6) { const number = nearest(...place(event), event.pointerType === "mouse" ? NEAR : 26); choose(number); open(number); } held = null; });
    canvas.addEventListener("pointercancel", () => { held = null; });
    canvas.addEventListener("pointerleave", () => { held = null; choose(null); });
    canvas.addEventListener("wheel", event => { if (event.ctrlKey || document.activeElement === canvas) { event.preventDefault(); zoom(Math.exp(-event.deltaY * 0.0016), ...place(event)); } }, { passive: false });
    canvas.addEventListener("keydown", event => {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }, way = ways[event.key];
      if (event.key === "Enter") open(chosen);
      else if (event.key === "+" || event.key === "=") zoom(1.4);
      else if (event.key === "-") zoom(1 / 1.4);
      else if (way) {
        const from = chosen === null ? [canvas.clientWidth / 2, canvas.clientHeight / 2] : flat(points[chosen]);
        let best = chosen, least = Infinity;
        points.forEach((point, number) => {
          if (point[4] === null || number === chosen) return;
          const [x, y] = flat(point), along = (x - from[0]) * way[0] + (y - from[1]) * way[1], across = Math.abs((x - from[0]) * way[1]) + Math.abs((y - from[1]) * way[0]);
          if (along > 0.5 && along + 2 * across < least) { least = along + 2 * across; best = number; }
        });
        choose(best);
      } else return;
      event.preventDefault();
    });
    frame.querySelector("[data-zoom=in]").addEventListener("click", () => zoom(1.5));
    frame.querySelector("[data-zoom=out]").addEventListener("click", () => zoom(1 / 1.5));
    new ResizeObserver(draw).observe(canvas);
    document.addEventListener("themed", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    frame.spot = number => { const edge = canvas.getBoundingClientRect(), [x, y] = flat(points[number]); return [edge.left + x, edge.top + y]; };
    draw();
  }
  document.querySelectorAll(".map").forEach((frame, number) => map(frame, data.maps[number]));
  window.dvaeReport = { picture: () => box && box.state() };
})();
