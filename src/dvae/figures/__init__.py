"""Pictures of values: DAGs, curves, maps of scores, as SVG or PNG."""

from dvae.figures.curves import Series, read_series, save_curves
from dvae.figures.dags import EdgeLook, draw_dag, draw_dags, save_dags, to_png, to_svg
from dvae.figures.fixed_layouts import Arrange, column, ring
from dvae.figures.front import FrontFigure, save_front
from dvae.figures.layout import Box, Layout, layered
from dvae.figures.networks import NetworkEdge, draw_network, save_network
from dvae.figures.panels import Panel, ScoreMap, save_panels, save_score_maps
from dvae.figures.picture import Picture
from dvae.figures.style import DagStyle, architecture_style, bayesnet_style, compact, generic_style, style_for, style_of

__all__ = [
    "Arrange",
    "Box",
    "DagStyle",
    "EdgeLook",
    "FrontFigure",
    "Layout",
    "NetworkEdge",
    "Panel",
    "Picture",
    "ScoreMap",
    "Series",
    "architecture_style",
    "bayesnet_style",
    "column",
    "compact",
    "draw_dag",
    "draw_dags",
    "draw_network",
    "generic_style",
    "layered",
    "read_series",
    "ring",
    "save_curves",
    "save_dags",
    "save_front",
    "save_network",
    "save_panels",
    "save_score_maps",
    "style_for",
    "style_of",
    "to_png",
    "to_svg",
]
