"""The paper's data, found, fetched or, offline, replaced by what can be made here; whichever it is, the report says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from dvae.bayesnet.tables import BNLEARN, BNLEARN_FILE, EMBEDDED
from dvae.data import data_folder
from dvae.data.downloads import Download, fetch
from dvae.errors import DvaeError
from dvae.files import sha256_of
from dvae.paper.sources import Source
from dvae.tasks.enas import PAPER_FILE

log = logging.getLogger("dvae")

# The file as its authors published it (MIT licence), at one commit.
ARCHITECTURES = Download(
    "https://raw.githubusercontent.com/muhanzhang/D-VAE/e25a6cb34716c950bfbf3542837d7322700e6217/data/"
    "final_structures6.txt",
    1_677_427,
    "fea9a7dde1545e7d3bd58fd4b9c3db08a89c18e0351f770cde2fe530c4791725",
)
OWN_FILE = "data/architectures.jsonl.gz"

Make = Callable[[Path], None]  # writes scored architectures to a file


def bayesnet_source() -> Source:
    """The paper's Asia rows where they are, else the embedded ones, drawn from the same network."""
    found = (data_folder() / BNLEARN_FILE).is_file()
    return Source(BNLEARN if found else EMBEDDED)


def architecture_source(run: Path, make: Make, source: Download = ARCHITECTURES) -> Source:
    """The paper's architectures: in the data folder, or downloaded into it; else those that `make` writes."""
    path = data_folder() / PAPER_FILE
    if path.is_file():
        return Source("enas6", sha256=sha256_of(path))
    own = run / OWN_FILE
    if not own.is_file():
        try:
            fetch(source, path)
            return Source("enas6", sha256=source.sha256)
        except (DvaeError, OSError) as error:
            log.warning("%s; making a data set of our own instead", error)
        make(own)
    return Source("enas6", file=OWN_FILE, sha256=sha256_of(own))
