"""Pictures that cost nothing: what is written counts here, not what is drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from dvae.figures import picture_file

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1" viewBox="0 0 1 1"></svg>\n'
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)
USERS = ("scene_picture", "front", "networks", "panels", "dags")


@contextlib.contextmanager
def plain_pictures() -> Iterator[None]:
    """Every picture is one point, written as pictures are; the map of a report has one drawing at most."""
    real = picture_file.write_picture

    def point(path: str | Path, *, svg: Callable[[], bytes], png: Callable[[], bytes]) -> Path:
        return real(path, svg=lambda: SVG, png=lambda: PNG)

    with contextlib.ExitStack() as stack:
        for name in USERS:
            stack.enter_context(mock.patch(f"dvae.figures.{name}.write_picture", point))
        stack.enter_context(mock.patch("dvae.reports.latent_map.MAX_PARTS", 0))
        yield
