"""The page on a trained model: see its latent space, click it, edit, walk, and follow a search."""

from dvae.explorer.model import PageModel
from dvae.explorer.places import Given, Known, Latent, Place, RequestError
from dvae.explorer.plane import Plane
from dvae.explorer.server import is_loopback, make_app, make_server
from dvae.explorer.space import Finding, Space
from dvae.explorer.studies import open_study

__all__ = [
    "Finding",
    "Given",
    "Known",
    "Latent",
    "PageModel",
    "Place",
    "Plane",
    "RequestError",
    "Space",
    "is_loopback",
    "make_app",
    "make_server",
    "open_study",
]
