"""Settings of a model, each with its source. Defaults are the paper's text; `original` the original code's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dvae.config import check
from dvae.models.aggregation import AggregationName

Preset = Literal["paper", "original"]


@dataclass(frozen=True)
class ModelConfig:
    """A model is its name, these settings and its task. None means: what the task suggests (`ModelHints`)."""

    name: str = "dvae"
    hidden: int = 501  # paper, appendix D
    latent: int = 56  # paper, appendix D
    kl_weight: float = 0.005  # alpha in the paper, appendix D
    noise_scale: float = 1.0  # posterior deviations of noise in training; the original code uses 0.01
    aggregation: AggregationName | None = None
    bidirectional: bool | None = None
    readout: Literal["end", "sum", "both"] | None = None
    features: Literal["one-hot", "learned", "given"] = "one-hot"
    feature_width: int = 16  # of learned features
    given_features: tuple[tuple[float, ...], ...] | None = None  # one vector a type, start and end first
    edge_width: int | None = None  # hidden width of f_add_edge
    rounds: int | None = None  # of simultaneous message passing, where a model uses it
    layers: int | None = None  # stacked; as published, DAGNN 2 and PACE 3
    attention_width: int = 32  # of PACE's Transformers: the width its paper names; its code joins two halves of it
    dropout: float = 0.0  # in PACE's blocks, published with 0.15 (ENAS) and 0.25 (BN); resuming is exact without it

    def __post_init__(self) -> None:
        check(self.hidden >= 1, f"hidden must be at least 1, not {self.hidden}")
        check(self.latent >= 1, f"latent must be at least 1, not {self.latent}")
        check(self.kl_weight >= 0, f"kl_weight must not be negative: {self.kl_weight}")
        check(self.noise_scale >= 0, f"noise_scale must not be negative: {self.noise_scale}")
        check(self.feature_width >= 1, f"feature_width must be at least 1, not {self.feature_width}")
        check(self.rounds is None or self.rounds >= 1, f"rounds must be at least 1, not {self.rounds}")
        check(self.layers is None or self.layers >= 1, f"layers must be at least 1, not {self.layers}")
        check(
            self.attention_width >= 8 and self.attention_width % 8 == 0,
            f"attention_width must be a multiple of 8, the number of heads, not {self.attention_width}",
        )
        check(0 <= self.dropout < 1, f"dropout must be at least 0 and below 1, not {self.dropout}")
        check(
            (self.features == "given") == (self.given_features is not None),
            "given_features goes with features = 'given'",
        )


PRESETS: dict[str, dict[str, float]] = {
    "paper": {},
    "original": {"noise_scale": 0.01},
}
