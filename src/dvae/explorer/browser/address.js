// The view in the page's address: after its "#", so that links reopen it and Back and Forward move through it.
(function () {
  const CALM = 180, PATIENCE = 2500;  // milliseconds: until a change is written; until a view that is reopened is complete
  let keys = null, initial = null, now = null, timer = null, target = null, deadline = 0;

  const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
  const write = {
    word: value => value, text: value => value || "", number: value => String(value),
    flag: value => (value && value.length ? "1" : ""), named: (value, key) => key.choices[value],
    place: value => "known" in value ? `k${value.known}`
      : "latent" in value ? "z" + value.latent.map(each => Number(Math.fround(each).toPrecision(9))).join(",")
      : "j" + JSON.stringify(value),
    json: value => JSON.stringify(value),
  };
  const read = {
    word: (text, key) => (key.choices && !key.choices.includes(text) ? undefined : text), text: text => text,
    number: text => (Number.isFinite(Number(text)) ? Number(text) : undefined),
    flag: (text, key) => (text ? [key.flag] : []),
    named: (text, key) => (key.choices.includes(text) ? key.choices.indexOf(text) : undefined),
    place: text => {
      if (/^k\d+$/.test(text)) return { known: Number(text.slice(1)) };
      if (text[0] === "z") return { latent: text.slice(1).split(",").map(Number) };
      return JSON.parse(text.slice(1));
    },
    json: text => JSON.parse(text),
  };

  function written(values) {
    const parts = new URLSearchParams();
    keys.forEach((key, place) => {
      const value = values[place];
      if (value !== null && value !== undefined && !same(value, initial[place])) parts.set(key.name, write[key.kind](value, key));
    });
    return parts.toString();
  }

  function parsed(text) {
    const parts = new URLSearchParams(text.replace(/^#/, ""));
    return keys.map((key, place) => {
      if (!parts.has(key.name)) return initial[place];
      let value;
      try { value = read[key.kind](parts.get(key.name), key); } catch (error) { /* no such view: as it was */ }
      return value === undefined ? initial[place] : value;
    });
  }

  function reopen() {
    const wanted = parsed(location.hash);
    target = wanted;
    deadline = Date.now() + PATIENCE;
    keys.forEach((key, place) => {
      if (!same(wanted[place], now[place])) dash_clientside.set_props(key.id, { [key.property]: wanted[place] ?? null });
    });
  }

  function store() {
    clearTimeout(timer);
    timer = null;
    const text = written(now), before = location.hash.replace(/^#/, "");
    if (text === before) return;
    const old = parsed(before);
    const small = keys.every((key, place) => key.small || same(old[place], now[place]));  // not worth a step back
    history[small ? "replaceState" : "pushState"](null, "", text ? `#${text}` : location.pathname + location.search);
  }

  window.addEventListener("popstate", () => { if (keys) reopen(); });

  window.dvaeAddress = {
    changed: (all, values) => {
      now = values;
      if (!keys) {
        keys = all;
        initial = values;
        if (location.hash.length > 1) setTimeout(reopen, 0);
        return dash_clientside.no_update;
      }
      if (target && (same(target, now) || Date.now() > deadline)) target = null;
      clearTimeout(timer);
      timer = setTimeout(function wait() {
        if (target && Date.now() < deadline && !same(target, now)) timer = setTimeout(wait, CALM);
        else { target = null; store(); }
      }, CALM);
      return dash_clientside.no_update;
    },
    copy: async () => {
      if (timer) store();
      try { await navigator.clipboard.writeText(location.href); }
      catch (error) {  // pages of other machines may not use the clipboard
        const box = document.createElement("textarea");
        box.value = location.href;
        document.body.append(box);
        box.select();
        document.execCommand("copy");
        box.remove();
      }
      const button = document.getElementById("copy-link"), words = button.textContent;
      if (words === "Copied") return;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = words; }, 1500);
    },
  };
  document.addEventListener("click", event => { if (event.target.closest && event.target.closest("#copy-link")) window.dvaeAddress.copy(); });
})();
