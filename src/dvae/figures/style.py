"""How nodes look: their colour by type, their shape, their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dvae.dag.value import Dag, Label
from dvae.errors import ConfigError
from dvae.figures.layout import Box
from dvae.figures.picture import INK, shortened, text_width

if TYPE_CHECKING:
    from dvae.tasks import Look, Task

FRAME = "#334155"  # where a DAG begins and ends
FRAMES = ("input", "output", "start", "end", "<start>", "<end>")  # the last two are a model's own nodes
# Kinds of layer by hue (blue, orange, green: told apart by colour-blind eyes), the larger kernel darker.
ARCHITECTURE = {
    "input": FRAME,
    "output": FRAME,
    "conv3": "#a6cdf0",
    "conv5": "#3b82c4",
    "sep3": "#fbd38d",
    "sep5": "#ee9a3a",
    "avg3": "#b7e4cd",
    "max3": "#3fa984",
}
# Okabe and Ito's eight (less black), then their tints, then their shades: 21 colours.
_OKABE_ITO = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
SHORT_NAME = 4  # characters of the longest name that fits into a circle


@dataclass(frozen=True, slots=True)
class DagStyle:
    """Colours by type and the look of everything else. Colours are written `#rrggbb`."""

    colours: tuple[tuple[Label, str], ...] = ()
    other: str = "#cbd5e1"  # types without a colour of their own
    round: bool = False
    font_size: float = 13.0
    node_height: float = 30.0
    circle: float = 42.0  # diameter
    min_width: float = 44.0
    max_label_width: float = 120.0
    edge: str = "#64748b"
    edge_width: float = 1.5
    background: str | None = "#ffffff"

    def __post_init__(self) -> None:
        colours = [colour for _, colour in self.colours] + [self.other, self.edge]
        for colour in colours + ([self.background] if self.background else []):
            if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
                raise ConfigError(f"{colour!r} is not a colour; write it as #rrggbb")

    def colour(self, label: Label) -> str:
        """The colour of a node with this label."""
        return dict(self.colours).get(label, self.other)

    def text(self, label: Label) -> str:
        """The label, shortened to fit its node."""
        return shortened(str(label), self.circle - 6 if self.round else self.max_label_width, self.font_size)

    def box(self, label: Label) -> Box:
        """The size and shape of a node with this label."""
        if self.round:
            return Box(self.circle, self.circle, round=True)
        return Box(max(self.min_width, text_width(self.text(label), self.font_size) + 22), self.node_height)


def architecture_style() -> DagStyle:
    """Neural architectures: every node as wide as the widest layer, so that a stack of them is a column."""
    return DagStyle(colours=tuple(ARCHITECTURE.items()), min_width=68.0)


def bayesnet_style(labels: Iterable[Label]) -> DagStyle:
    """Bayesian networks: circles with the name of the variable."""
    return DagStyle(colours=_palette(labels), round=True)


def generic_style(labels: Iterable[Label]) -> DagStyle:
    """Anything else: a colour for each label by its place in sorted order, whichever node it is on."""
    return DagStyle(colours=_palette(labels))


def compact(style: DagStyle) -> DagStyle:
    """The same colours with little text and small nodes, for grids of many DAGs, where colour and shape tell enough."""
    return replace(style, font_size=11.0, node_height=20.0, circle=26.0, min_width=54.0)


def style_for(look: Look, labels: Iterable[Label]) -> DagStyle:
    """The style of all DAGs of a task, from its look and its labels."""
    if look.palette == "architecture":
        return architecture_style()
    return bayesnet_style(labels) if look.shape == "circle" else generic_style(labels)


def task_style(task: Task) -> DagStyle:
    """How DAGs of a task look in every picture: the same type has the same colour, whichever DAGs are drawn."""
    return style_for(task.look, task.vocabulary.labels)


def style_of(dags: Sequence[Dag]) -> DagStyle:
    """The style that fits all these DAGs, told from their labels."""
    labels = {label for dag in dags for label in dag.types}
    if all(isinstance(label, str) and label in ARCHITECTURE for label in labels):
        return architecture_style()
    short = all(isinstance(label, str) and 0 < len(label) <= SHORT_NAME for label in labels)
    if short and all(len(set(dag.types)) == len(dag) for dag in dags):
        return bayesnet_style(labels)
    return generic_style(labels)


def text_colour(fill: str) -> str:
    """Dark or white, whichever has more contrast on the fill (WCAG 2.1)."""
    light = luminance(fill)
    on_dark = (light + 0.05) / (luminance(INK) + 0.05)
    on_white = 1.05 / (light + 0.05)
    return INK if on_dark >= on_white else "#ffffff"


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, 0 to 1 (WCAG 2.1)."""
    channels = [value / 255 for value in _rgb(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mixed(colour: str, other: str, share: float) -> str:
    """The colour with a share of the other in it."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _palette(labels: Iterable[Label]) -> tuple[tuple[Label, str], ...]:
    base = [mixed(colour, "#ffffff", 0.25) for colour in _OKABE_ITO]
    colours = base + [mixed(c, "#ffffff", 0.55) for c in base] + [mixed(c, "#000000", 0.45) for c in base]
    ordered = sorted(set(labels), key=_label_order)
    frames = [(label, FRAME) for label in ordered if label in FRAMES]
    others = [label for label in ordered if label not in FRAMES]
    return tuple(frames + [(label, colours[place % len(colours)]) for place, label in enumerate(others)])


def _label_order(label: Label) -> tuple[bool, int, str]:
    return (isinstance(label, str), 0 if isinstance(label, str) else label, str(label))
