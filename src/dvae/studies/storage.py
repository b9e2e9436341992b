"""Where studies are kept: addresses of ledgers.

`dvae:///FILE.db` is an SQLite file of our own, which needs nothing installed; `sqlite:///FILE.db` and
`postgresql://...` are Optuna's storages, which optuna-dashboard shows and other machines reach. As in other such
addresses, a fourth slash begins an absolute path. A file that is there may also be named by its path alone, and
whose it is is seen from its content.
"""

from __future__ import annotations

from pathlib import Path

from dvae.errors import StudyError
from dvae.passwords import escaped, masked
from dvae.studies import sqlite_ledger
from dvae.studies.ledger import Direction, Ledger
from dvae.studies.worker import HEARTBEAT_SECONDS

OWN, SQLITE = "dvae:///", "sqlite:///"
DATABASE = "studies.db"  # of a run, where no other storage is named
OLD_DATABASE = "search.db"  # the same in version 0.1.0, of Optuna's kind


def open_ledger(
    address: str, name: str, *, create: Direction | None = None, heartbeat: int = HEARTBEAT_SECONDS
) -> Ledger:
    """The study called `name`; `create` makes it, if it is not there, with the better direction of its scores."""
    path = _own_file(address)
    if path is not None:
        return sqlite_ledger.SqliteLedger(path, name, create=create, heartbeat=heartbeat)
    from dvae.studies.optuna_ledger import OptunaLedger

    return OptunaLedger(_optuna_address(address), name, create=create, heartbeat=heartbeat)


def study_names(address: str) -> list[str]:
    """The studies kept at an address, in the order they were begun."""
    path = _own_file(address)
    if path is not None:
        return sqlite_ledger.study_names(path)
    from dvae.studies import optuna_ledger

    return optuna_ledger.study_names(_optuna_address(address))


def shown(address: str) -> str:
    """An address without its password."""
    return masked(address, user="{}")


def storage_of(run: Path) -> str:
    """The address of a run's own studies; a run of version 0.1.0 keeps its storage."""
    if (run / OLD_DATABASE).is_file():
        return f"{SQLITE}{(run / OLD_DATABASE).absolute()}"
    return f"{OWN}{(run / DATABASE).absolute()}"


def has_studies(run: Path) -> bool:
    """Whether anything was searched with a run's own storage."""
    return any((run / name).is_file() for name in (DATABASE, OLD_DATABASE))


def remove_studies(run: Path) -> None:
    """Forgets a run's own studies."""
    for name in (DATABASE, OLD_DATABASE):
        (run / name).unlink(missing_ok=True)


def _own_file(address: str) -> Path | None:
    """The file of an address that is ours."""
    if address.startswith(OWN):
        return Path(address.removeprefix(OWN))
    path = Path(address.removeprefix(SQLITE).partition("?")[0])
    return path if "://" not in str(path) and sqlite_ledger.is_ledger_file(path) else None


def _optuna_address(address: str) -> str:
    if "://" in address:
        return escaped(address)
    if Path(address).is_file():
        return SQLITE + address
    raise StudyError(
        f"{shown(address)!r} is no storage: give dvae:///FILE.db, sqlite:///FILE.db or postgresql://USER@HOST/DATABASE"
    )
