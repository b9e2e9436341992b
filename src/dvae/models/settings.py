"""Settings that several parts have. A field called `aggregation` or `readout` names a part; None: the task's hint."""

from __future__ import annotations

from dataclasses import dataclass

from dvae.config import check


@dataclass(frozen=True)
class NoSettings:
    """A part without settings, and the base of the others: ranges are checked all along the bases."""

    def __post_init__(self) -> None: ...


@dataclass(frozen=True)
class AggregationSettings(NoSettings):
    """Settings of a part that uses the model's aggregation."""

    aggregation: str | None = None  # of messages; a name that `dvae models` lists


@dataclass(frozen=True)
class EdgeSettings(NoSettings):
    """Settings of a decoder whose edge network has a hidden layer."""

    edge_width: int | None = None  # of that layer; None: as published

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.edge_width is None or self.edge_width >= 1, f"edge_width must be at least 1, not {self.edge_width}")


@dataclass(frozen=True)
class RoundsSettings(NoSettings):
    """Settings of a part that passes messages in rounds."""

    rounds: int | None = None  # None: as published

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.rounds is None or self.rounds >= 1, f"rounds must be at least 1, not {self.rounds}")


@dataclass(frozen=True)
class LayersSettings(NoSettings):
    """Settings of a part with stacked layers."""

    layers: int | None = None  # None: as published, DAGNN 2 and PACE 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.layers is None or self.layers >= 1, f"layers must be at least 1, not {self.layers}")
