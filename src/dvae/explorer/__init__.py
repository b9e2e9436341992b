"""An interactive page on a trained model: its latent space to click, edit and walk through, and its searches."""

from dvae.explorer.bookmarks import FILE as BOOKMARKS_FILE
from dvae.explorer.bookmarks import Bookmarks
from dvae.explorer.maps import FlatMap
from dvae.explorer.model import PageModel
from dvae.explorer.network_model import NetworkModel
from dvae.explorer.places import Changed, Given, Known, Latent, Place, RequestError
from dvae.explorer.server import is_loopback, make_app, make_network_app, make_server
from dvae.explorer.space import Finding, Space
from dvae.explorer.studies import open_studies

__all__ = [
    "BOOKMARKS_FILE",
    "Bookmarks",
    "Changed",
    "Finding",
    "FlatMap",
    "Given",
    "Known",
    "Latent",
    "NetworkModel",
    "PageModel",
    "Place",
    "RequestError",
    "Space",
    "is_loopback",
    "make_app",
    "make_network_app",
    "make_server",
    "open_studies",
]
