"""Faults that keep people out: found by axe-core where there is a copy, else by the checks that matter most.

`npm pack axe-core`, unpack it anywhere and name its `axe.min.js` in DVAE_AXE.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SERIOUS = ("serious", "critical")
USUAL = (Path("node_modules/axe-core/axe.min.js"), Path("/usr/share/javascript/axe-core/axe.min.js"))


def axe() -> str | None:
    """The text of axe-core, where there is one."""
    named = os.environ.get("DVAE_AXE")
    found = next((path for path in ([Path(named)] if named else USUAL) if path.is_file()), None)
    return None if found is None else found.read_text(encoding="utf-8")


def faults(page: Any) -> list[str]:
    """Serious faults of a page as it is now, one line for each."""
    script = axe()
    if script is None:
        return [str(fault) for fault in page.evaluate(OWN_CHECKS)]
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(script)
    found = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(result => result.violations"
        ".map(v => [v.impact, v.id, v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).slice(0, 4)]))"
    )
    return [f"{name}: {node}" for impact, name, nodes in found if impact in SERIOUS for node in nodes]


# Contrast of all text, names of all controls and pictures, labels of fields, tables with headers, one main heading.
OWN_CHECKS = """() => {
  const found = [];
  const seen = part => part.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && part.offsetWidth;
  const name = part => `${part.tagName.toLowerCase()}#${part.id}.${part.className}`.slice(0, 90);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (front, back) => front.slice(0, 3).map((value, k) => value * front[3] + back[k] * (1 - front[3]));
  const ground = part => {
    let layers = [];
    for (let each = part; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((back, layer) => over(layer, back), [255, 255, 255]);
  };
  const light = colour => {
    const parts = colour.map(value => value / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const done = new Set();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const part = text.parentElement;
    if (!text.textContent.trim() || done.has(part) || !seen(part)) continue;
    if (part.closest("svg, script, style, [hidden], :disabled")) continue;
    done.add(part);
    const style = getComputedStyle(part), back = ground(part), front = over(parse(style.color), back);
    const [dark, bright] = [light(front), light(back)].sort((a, b) => a - b);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${name(part)} ${text.textContent}`);
  }
  const spoken = part => part.getAttribute("aria-label") || part.getAttribute("title") || part.innerText?.trim()
    || part.getAttribute("placeholder") || part.labels?.length || part.getAttribute("aria-labelledby")
    || [...part.querySelectorAll("img")].some(image => image.alt);
  const all = kind => [...document.querySelectorAll(kind)];
  for (const part of all("button, a[href], [role=button], [role=slider], input, textarea, select"))
    if (seen(part) && !spoken(part) && part.ariaHidden !== "true") found.push(`no name: ${name(part)}`);
  for (const image of all("img")) if (!image.hasAttribute("alt")) found.push(`no words: ${name(image)}`);
  for (const table of all("table"))
    if (seen(table) && !table.querySelector("th")) found.push(`no headers: ${name(table)}`);
  if (document.querySelectorAll("h1").length !== 1) found.push("not one main heading");
  if (!document.documentElement.lang) found.push("no language");
  return found;
}"""
