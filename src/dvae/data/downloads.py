"""Downloads: resumable, and kept only if the checksum is right."""

from __future__ import annotations

import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from dvae.data.cache import data_folder
from dvae.data.images import CIFAR_FOLDER, CIFAR_TEST, CIFAR_TRAIN
from dvae.errors import FormatError, MissingError
from dvae.files import atomic_path, sha256_of
from dvae.progress import progress_bar

BLOCK = 2**20
TIMEOUT = 30.0  # seconds without a byte


@dataclass(frozen=True)
class Download:
    """A file of known content."""

    address: str
    size: int
    sha256: str


CIFAR10_ARCHIVE = Download(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    170_052_171,
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)


def fetch_cifar10(
    folder: Path | None = None, *, source: Download = CIFAR10_ARCHIVE, progress: bool | None = None
) -> Path:
    """CIFAR-10's binary files, in `folder` or in DVAE_DATA; what is there already is not fetched again."""
    place = (folder or data_folder() / "cifar10") / CIFAR_FOLDER
    names = (*CIFAR_TRAIN, CIFAR_TEST)
    if all((place / name).is_file() for name in names):
        return place
    archive = place.parent / Path(source.address).name
    fetch(source, archive, progress=progress)
    unpack(archive, place, names)
    archive.unlink()
    return place


def fetch(source: Download, path: Path, *, progress: bool | None = None) -> None:
    """Downloads to `path`; a download that was broken off goes on where it was."""
    if path.is_file() and sha256_of(path) == source.sha256:
        return
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    there = part.stat().st_size if part.is_file() else 0
    if there > source.size:
        part.unlink()
        there = 0
    if there < source.size:
        _download(source, part, there, progress)
    if part.stat().st_size != source.size:
        have, want = part.stat().st_size, source.size
        raise FormatError(f"{source.address} broke off after {have:,} of {want:,} bytes; start again to go on")
    if sha256_of(part) != source.sha256:
        part.unlink()
        raise FormatError(f"{source.address} is not what was expected (its checksum differs); nothing was kept")
    part.replace(path)


def unpack(archive: Path, folder: Path, names: tuple[str, ...]) -> None:
    """Writes the files called `names` of an archive into `folder`, and nothing else of it."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            members = {Path(member.name).name: member for member in tar.getmembers() if member.isfile()}
            for name in names:
                stream = tar.extractfile(members[name]) if name in members else None
                if stream is None:
                    raise FormatError(f"{archive} does not hold {name}")
                with atomic_path(folder / name) as temporary:
                    temporary.write_bytes(stream.read())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FormatError(f"{archive} cannot be unpacked ({error})") from None


def _download(source: Download, part: Path, there: int, progress: bool | None) -> None:
    request = urllib.request.Request(source.address, headers={"Range": f"bytes={there}-"} if there else {})
    try:
        with (
            urllib.request.urlopen(request, timeout=TIMEOUT) as answer,
            progress_bar(f"fetching {part.stem}", total=source.size, unit="bytes", enabled=progress) as bar,
        ):
            resumed = there and answer.status == 206
            bar.skip(there if resumed else 0)
            with part.open("ab" if resumed else "wb") as file:
                while block := answer.read(BLOCK):
                    file.write(block)
                    bar.update(len(block))
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise MissingError(f"{source.address} cannot be fetched ({reason}); what came is kept, start again") from None
