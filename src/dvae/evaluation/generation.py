"""Are generated DAGs as good as real ones? The protocol of LayerDAG (Li et al., ICLR 2025), and the direct test.

One DAG is generated for each training and validation label. A surrogate trained on them, each with the label it was
generated for, is tested on real DAGs, beside one trained on the real DAGs of these labels. The direct test asks the
latter what the generated DAGs have, and compares it with what was asked for. Beside that: how far the shapes of
generated DAGs are from those of real test DAGs, how many are valid, distinct and new, and how test DAGs come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from dvae import provenance
from dvae.config import check, to_mapping
from dvae.dag import Dag, DagBatch, Dataset
from dvae.errors import ConfigError
from dvae.evaluation.choice import AT_ONCE, Chooser, fit_chooser
from dvae.evaluation.common import block_size, evaluation_mode, next_seed
from dvae.evaluation.distances import Distances, distances
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.intervals import Estimate, wilson
from dvae.evaluation.labelled import Labelled
from dvae.evaluation.reconstruction import reconstruction
from dvae.evaluation.sameness import distinct, novel, structure_keys
from dvae.evaluation.surrogate import Agreement, SurrogateSettings, fit_surrogate
from dvae.models import VAE
from dvae.progress import progress_bar

SMALL = 64  # nodes of a DAG that is counted as coming back or not; of larger ones the edit distance is measured
RECONSTRUCTED = 200  # test DAGs of either size
ROOM = 65_536  # latents that are held at a time


@dataclass(frozen=True)
class Generation:
    """What was measured of generated DAGs, and of real ones by the same means."""

    model: str
    task: str
    name: str  # of the property
    generated: Agreement  # on real test DAGs, of the surrogate trained on generated DAGs
    real: Agreement  # ... trained on real ones
    direct: Agreement  # of what was asked for and what the surrogate of real DAGs says of the generated ones
    distances: Distances  # of generated DAGs from real test DAGs
    real_distances: Distances  # of real training DAGs from them
    validity: Estimate
    uniqueness: float | None  # distinct ones among the valid; None where there is none
    structures: float | None  # likewise, types and edges alone
    novelty: float | None  # of the valid ones, against all training DAGs
    real_uniqueness: float  # of as many real DAGs
    real_structures: float
    reconstruction: Estimate | None  # share of test DAGs of at most `SMALL` nodes that come back, decoded greedily
    structure: Estimate | None  # likewise, types and edges alone
    small_edits: Estimate | None  # edit distance of these
    large_edits: Estimate | None  # edit distance of larger ones
    labels: int
    test_graphs: int
    surrogate: Mapping[str, float]
    within_rules: bool  # whether DAGs were generated within the task's rules
    change: float | None  # of training DAGs, where these were varied
    best_of: int  # DAGs that were made for a label, of which one was taken
    seed: int
    device: str
    seconds: float
    provenance: Mapping[str, object]

    @property
    def share(self) -> float:
        """The correlation that generated DAGs teach, as a share of that of real ones."""
        return self.generated.pearson / self.real.pearson if self.real.pearson else 0.0

    @property
    def protocol(self) -> str:
        """How the numbers came about, in words."""
        size = self.surrogate
        source = (
            "drawn" if self.change is None else f"made of a training DAG with a near label (change {self.change:g})"
        )
        if self.best_of > 1:
            source += f", the one of {self.best_of} that a regressor of training DAGs says is nearest,"
        return (
            f"One DAG was {source} for each of {self.labels:,} labels ({self.name}) of training and validation DAGs, "
            f"{'within the' if self.within_rules else 'without'} decoding rules; surrogates of {size['layers']} layers "
            f"x {size['width']} (at most {size['epochs']} epochs, patience {size['patience']}) were trained on these "
            f"and on the real DAGs, and "
            f"tested on {self.test_graphs:,} real test DAGs. Seed {self.seed}."
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """The numbers as words: what, of generated DAGs, of real ones."""

        def words(value: Estimate | float | None, form: str = "{:.2%}") -> str:
            if value is None:
                return ""
            return form.format(value.value if isinstance(value, Estimate) else value)

        rows = [
            (f"surrogate, {name}", f"{getattr(self.generated, key):.4f}", f"{getattr(self.real, key):.4f}")
            for name, key in (("Pearson", "pearson"), ("Spearman", "spearman"), ("mean error", "mae"))
        ]
        rows += [
            ("Pearson as a share of real", f"{self.share:.2%}", ""),
            ("asked for and predicted, Pearson", f"{self.direct.pearson:.4f}", ""),
            ("asked for and predicted, mean error", f"{self.direct.mae:.4f}", ""),
        ]
        named = {"depth": "depth, W1 in layers", "layer_sizes": "layer sizes, MMD", "types": "types, MMD",
                 "in_degrees": "in-degrees, MMD", "out_degrees": "out-degrees, MMD"}  # fmt: skip
        rows += [
            (title, f"{getattr(self.distances, key):.4g}", f"{getattr(self.real_distances, key):.4g}")
            for key, title in named.items()
        ]
        rows += [
            ("valid", words(self.validity), ""),
            ("distinct", words(self.uniqueness), words(self.real_uniqueness)),
            ("distinct in types and edges", words(self.structures), words(self.real_structures)),
            ("new", words(self.novelty), ""),
        ]
        back = [
            (f"reconstruction, at most {SMALL} nodes, greedy", words(self.reconstruction), ""),
            ("likewise, types and edges", words(self.structure), ""),
            ("edit distance of these", words(self.small_edits, "{:.4g}"), ""),
            ("edit distance of larger ones", words(self.large_edits, "{:.4g}"), ""),
        ]
        return rows + [row for row in back if row[1]]

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        values = ("generated", "real", "direct", "distances", "real_distances", "validity")
        estimates = ("reconstruction", "structure", "small_edits", "large_edits")
        plain = (
            "uniqueness",
            "structures",
            "novelty",
            "real_uniqueness",
            "real_structures",
            "labels",
            "test_graphs",
            "change",
            "best_of",
            "seed",
            "device",
            "seconds",
        )
        found = {name: getattr(self, name) for name in estimates}
        return {
            "model": self.model,
            "task": self.task,
            "property": self.name,
            **{name: getattr(self, name).to_mapping() for name in values},
            "share": self.share,
            **{name: None if value is None else value.to_mapping() for name, value in found.items()},
            **{name: getattr(self, name) for name in plain},
            "surrogate": dict(self.surrogate),
            "protocol": self.protocol,
            "provenance": dict(self.provenance),
        }


def judge_generation(
    vae: VAE,
    data: Dataset,
    name: str,
    *,
    labels: int | None = None,
    test_limit: int | None = None,
    settings: SurrogateSettings | None = None,
    reconstructed: int = RECONSTRUCTED,
    valid: bool = False,
    change: float | None = None,
    best_of: int = 1,
    chooser: Chooser | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Generation:
    """Measures how good DAGs are that `vae` generates for values of the property `name`, one of its conditions.

    `labels` training labels are drawn with `seed`, and a tenth as many validation labels, instead of taking all;
    `test_limit` likewise of test DAGs; `reconstructed` test DAGs of either size are encoded and decoded, 0: none. With
    `valid`, DAGs are generated within the task's rules. With `change`, from 0 to 1, they are variations (as those of
    `VAE.variations`) of training DAGs with near values, not samples of the prior. With `best_of`, so many DAGs are made
    for a value, and one is taken by a `chooser` (None: fitted to the training and validation parts).
    """
    started, settings = time.monotonic(), settings or SurrogateSettings()
    check(change is None or 0 <= change <= 1, f"change is a share, from 0 to 1, not {change}")
    train, validation = Labelled.parts(data, name, labels, seed)
    check_conditions(vae, [name])
    test = Labelled.of(data, data.test, name, test_limit, seed)
    models = None if change is None else Labelled.of(data, data.train, name, seed=seed)
    if best_of > 1 and chooser is None:
        chooser = fit_chooser(vae.task, data, (name,), device=vae.device, progress=progress)
    generated = generate(
        vae, name, [*train.values, *validation.values], valid=valid, models=models, change=change or 0.0,
        best_of=best_of, chooser=chooser, seed=seed, progress=progress,
    )  # fmt: skip
    made = vae.task.unbatch(generated)
    real = [*train.dags, *validation.dags]
    inputs = NodeInputs.of(vae.task, train.dags)
    fits = {
        title: fit_surrogate(
            inputs, dags[: len(train.dags)], train.tensor, dags[len(train.dags) :], validation.tensor,
            settings=settings, seed=seed, title=title, device=vae.device, progress=progress,
        )
        for title, dags in (("surrogate, generated", made), ("surrogate, real", real))
    }  # fmt: skip
    of_generated, of_real = (
        Agreement.of(fits[title].predict(test.dags), test.tensor)
        for title in ("surrogate, generated", "surrogate, real")
    )
    asked = torch.cat([train.tensor, validation.tensor])
    obeying = vae.task.valid(generated).tolist()
    good = [dag for dag, obeys in zip(made, obeying, strict=True) if obeys]
    keys = vae.task.keys_of
    back = _reconstructed(vae, test.dags, reconstructed, seed, progress)
    return Generation(
        vae.config.name, vae.task.name, name, of_generated, of_real,
        Agreement.of(fits["surrogate, real"].predict(made), asked),
        distances(made, test.dags), distances(train.dags, test.dags),
        wilson(len(good), len(made)),
        distinct(good, keys) / len(good) if good else None,
        distinct(good, structure_keys) / len(good) if good else None,
        novel(good, data.train.dags, keys) / len(good) if good else None,
        distinct(real, keys) / len(real),
        distinct(real, structure_keys) / len(real),
        *back,
        labels=len(asked), test_graphs=len(test.dags), surrogate=asdict(settings), within_rules=valid, change=change,
        best_of=best_of, seed=seed,
        device=str(vae.device), seconds=time.monotonic() - started,
        provenance=provenance.record(seed, to_mapping(vae.config)),
    )  # fmt: skip


def check_conditions(vae: VAE, asked: Iterable[str]) -> None:
    """Refuses properties that the model was not trained to be given."""
    names = () if vae.conditions is None else vae.conditions.names
    for name in asked:
        if name not in names:
            has = f" (it has {', '.join(names)})" if names else ""
            raise ConfigError(
                f"this model was trained without the condition {name}{has}: dvae train --condition {name}"
            )


def generate(
    vae: VAE, name: str, values: Sequence[float], *, valid: bool = False, models: Labelled | None = None,
    change: float = 1.0, best_of: int = 1, chooser: Chooser | None = None, seed: int = 0,
    progress: bool | None = None,
) -> DagBatch:  # fmt: skip
    """One DAG for each value of a condition; with `valid`, within the task's rules.

    With `models`, a variation of one of those that are nearest to the value, `change` of the way to any other. With a
    `chooser`, the one of `best_of` DAGs that it says is nearest to the value.
    """
    check_conditions(vae, [name])
    assert vae.conditions is not None
    check(best_of == 1 or chooser is not None, "the best of several DAGs needs somebody who chooses it")
    rows = torch.full((len(values), len(vae.conditions.names)), torch.nan, device=vae.device)
    place = vae.conditions.names.index(name)
    wanted = torch.tensor(values, dtype=torch.float64).to(rows)
    rows[:, place] = (wanted - vae.conditions.centre[place]) / vae.conditions.scale[place]
    generator = torch.Generator().manual_seed(seed)
    groups = max(1, block_size(vae, 1) // best_of)
    made = []
    with evaluation_mode(vae), progress_bar("generated DAGs", len(values), "DAGs", progress) as bar:
        for some in torch.arange(len(values)).split(max(1, ROOM // best_of)):
            asked = rows[some].repeat_interleave(best_of, 0)
            noise = torch.randn(len(asked), vae.config.latent, generator=generator).to(vae.device)
            if models is None:
                latents = vae.conditions.conditional(noise, asked, generator)
            else:
                near = models.near([values[row] for row in some.tolist()], generator, best_of)
                latents = _varied(vae, [models.dags[place] for place in near], asked, noise, change)
            for part, given in zip(*(all_.split(groups * best_of) for all_ in (latents, asked)), strict=True):
                drawn = vae.decode_batch(part, seed=next_seed(generator), given=given, valid=valid)
                if chooser is not None and best_of > 1:
                    drawn = chooser.nearest(best_of, vae, drawn, given[::best_of])
                made.append(drawn)
                bar.update(len(drawn))
    return DagBatch.cat(made)


def _varied(vae: VAE, dags: Sequence[Dag], asked: Tensor, noise: Tensor, change: float) -> Tensor:
    """Latents of DAGs, moved to where the conditions asked for are met, and `change` of the way to others there."""
    assert vae.conditions is not None
    means, before = [], []
    for start in range(0, len(dags), AT_ONCE):
        batch = vae.task.batch(dags[start : start + AT_ONCE]).to(vae.device)
        means.append(vae.encode(batch).mean)
        before.append(vae.conditions.of(batch))
    return vae.conditions.varied(torch.cat(means), torch.cat(before), asked, noise, change)


def _reconstructed(
    vae: VAE, dags: Sequence[Dag], count: int, seed: int, progress: bool | None
) -> tuple[Estimate | None, Estimate | None, Estimate | None, Estimate | None]:
    """The share that comes back, its structure, and edit distances: of small DAGs and of large ones."""
    small, large = ([dag for dag in dags if (len(dag) <= SMALL) == wanted][:count] for wanted in (True, False))
    share = structure = small_edits = large_edits = None
    if small:
        found = reconstruction(vae, small, mode="mean", greedy=True, seed=seed, progress=progress)
        share = found.share
        structure = share if found.columns is None else found.columns.structure
        small_edits = None if found.closeness is None else found.closeness.edits
    if large:
        found = reconstruction(vae, large, mode="mean", greedy=True, seed=seed, progress=progress)
        large_edits = None if found.closeness is None else found.closeness.edits
    return share, structure, small_edits, large_edits
