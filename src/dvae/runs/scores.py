"""A score that needs no experiment: what a run's predictor expects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dvae.dag import Dag
from dvae.runs.run import Run


class PredictorScore:
    """All properties of DAGs as a run's predictor gives them; `run` is its folder, `names` which of them, by commas."""

    def __init__(self, run: str, names: str = "", device: str = "auto") -> None:
        opened = Run.open(Path(run))
        self.vae = opened.model(device)
        chosen = [name for name in names.split(",") if name] or None
        self.predictor = opened.predictor(chosen, vae=self.vae, progress=True)

    def __call__(self, dag: Dag) -> dict[str, float]:
        return self.many([dag])[0]

    def many(self, dags: Sequence[Dag]) -> list[dict[str, float]]:
        """The properties of many DAGs at once."""
        return self.predictor.values(self.vae, dags)
