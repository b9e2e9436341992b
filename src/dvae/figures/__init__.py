"""Pictures of values: DAGs, curves, maps of scores, as SVG or PNG."""

from dvae.figures.arrows import EdgeLook
from dvae.figures.curves import Series, read_series, save_curves
from dvae.figures.dags import draw_dag, draw_dags, save_dags, to_png, to_svg
from dvae.figures.differences import difference_scene, draw_difference, save_difference
from dvae.figures.directions import DIRECTIONS, Direction, arrangement, directed, rightward
from dvae.figures.fixed_layouts import Arrange, column, ring
from dvae.figures.folding import Folding, fold
from dvae.figures.front import FrontFigure, save_front
from dvae.figures.layout import Box, Layout, layered
from dvae.figures.networks import NetworkEdge, draw_network, save_network
from dvae.figures.panels import Panel, ScoreMap, save_panels, save_score_maps
from dvae.figures.picture import Picture
from dvae.figures.scene import Scene, make_scene
from dvae.figures.scene_picture import save_scene, scene_picture
from dvae.figures.style import (
    DagStyle,
    architecture_style,
    bayesnet_style,
    compact,
    generic_style,
    style_for,
    style_of,
    task_style,
)
from dvae.figures.viewer_files import viewer_script, viewer_style

__all__ = [
    "DIRECTIONS",
    "Arrange",
    "Box",
    "DagStyle",
    "Direction",
    "EdgeLook",
    "Folding",
    "FrontFigure",
    "Layout",
    "NetworkEdge",
    "Panel",
    "Picture",
    "Scene",
    "ScoreMap",
    "Series",
    "architecture_style",
    "arrangement",
    "bayesnet_style",
    "column",
    "compact",
    "difference_scene",
    "directed",
    "draw_dag",
    "draw_dags",
    "draw_difference",
    "draw_network",
    "fold",
    "generic_style",
    "layered",
    "make_scene",
    "read_series",
    "rightward",
    "ring",
    "save_curves",
    "save_dags",
    "save_difference",
    "save_front",
    "save_network",
    "save_panels",
    "save_scene",
    "save_score_maps",
    "scene_picture",
    "style_for",
    "style_of",
    "task_style",
    "to_png",
    "to_svg",
    "viewer_script",
    "viewer_style",
]
