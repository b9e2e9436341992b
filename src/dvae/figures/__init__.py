"""Pictures of values: DAGs and training curves, as SVG or PNG."""

from dvae.figures.curves import Series, read_series, save_curves, training_curves
from dvae.figures.dags import draw_dag, draw_dags, save_dags, to_png, to_svg
from dvae.figures.layout import Box, Layout, layered
from dvae.figures.picture import Picture
from dvae.figures.style import DagStyle, architecture_style, bayesnet_style, generic_style, style_of

__all__ = [
    "Box",
    "DagStyle",
    "Layout",
    "Picture",
    "Series",
    "architecture_style",
    "bayesnet_style",
    "draw_dag",
    "draw_dags",
    "generic_style",
    "layered",
    "read_series",
    "save_curves",
    "save_dags",
    "style_of",
    "to_png",
    "to_svg",
    "training_curves",
]
