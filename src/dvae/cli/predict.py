"""`dvae predict`: properties of DAGs, each with an interval."""

from __future__ import annotations

import csv
import io
import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import ScoredDag
    from dvae.evaluation import Prediction, Predictor

ENDINGS = (".jsonl", ".csv")
MIN_COMPARED = 2  # DAGs with a known value, before predictions are compared with them


def predict(
    run: options.Run,
    file: Annotated[Path, typer.Argument(metavar="DAGS", help="A .jsonl file of DAGs that the model knows.")],
    properties: Annotated[
        str | None,
        typer.Option("--properties", metavar="A,B", help="What to predict \\[default: all that the run's data have]."),
    ] = None,
    level: Annotated[
        float, typer.Option("--level", help="The share of DAGs whose truth lies in its interval, between 0 and 1.")
    ] = 0.9,
    refit: Annotated[bool, typer.Option("--refit", help="Fit the regressors again.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to a .jsonl or .csv file.")] = None,
    data: options.MovedData = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Predict properties of DAGs, each with an interval; regressors are fitted on first use and kept in RUN.

    Without --out, one JSON object a line is printed. Try: dvae predict runs/circuits my.jsonl --properties fom,gain
    """
    from dvae.runs import Run
    from dvae.tasks import read_dags

    output.check_ending(out, ENDINGS, "a list of predictions")
    if not 0 < level < 1:
        raise ConfigError(f"--level is {level:g}; it must lie between 0 and 1")
    opened = Run.open(run, data=data)
    vae = opened.model(device)
    items = read_dags(vae.task, file)
    names = None if properties is None else [name.strip() for name in properties.split(",") if name.strip()]
    predictor = opened.predictor(names, vae=vae, refit=refit, progress=True)
    rows = predictor.predict(vae, [item.dag for item in items], level=level)
    if out is not None:
        _write(out, rows)
    compared = _compared(items, rows)
    for name, found in compared.items():
        found["rmse"] = found["error"] / predictor.models[name].scale
    if json:
        answer: dict[str, object] = {"count": len(rows), "level": level, "properties": _described(predictor)}
        answer["compared"] = compared
        answer |= {"file": str(out)} if out is not None else {"predictions": [_plain(row) for row in rows]}
        output.print_json(answer)
        return
    if out is None:
        for row in rows:
            print(json_module.dumps(_plain(row)))
    output.note(f"predicted {output.counted(len(rows), 'DAG')}" + (f", to {out}" if out else ""))
    for name, model in predictor.models.items():
        output.note(f"  {name}: {model.candidate}; r {model.r:.3f}, RMSE {model.rmse:.3f} on DAGs kept back")
    for name, found in compared.items():
        output.note(
            f"  {name}, known of {found['count']:,}: r {found['r']:.3f}, RMSE {found['rmse']:.3f} of the training "
            f"deviation {predictor.models[name].scale:.4g}, {found['within']:.1%} within their intervals"
        )


def _plain(row: dict[str, Prediction]) -> dict[str, dict[str, float]]:
    return {name: one._asdict() for name, one in row.items()}


def _write(path: Path, rows: Sequence[dict[str, Prediction]]) -> None:
    from dvae.dag.lines import write_lines
    from dvae.files import write_text

    if path.suffix == ".jsonl":
        write_lines(path, (json_module.dumps(_plain(row)) for row in rows))
        return
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = list(rows[0]) if rows else []
    table.writerow([column for name in names for column in (name, f"{name}_low", f"{name}_high")])
    table.writerows([number for one in row.values() for number in one] for row in rows)
    write_text(path, text.getvalue())


def _described(predictor: Predictor) -> dict[str, dict[str, object]]:
    return {
        name: {"regressor": model.candidate, "r": model.r, "rmse": model.rmse, "deviation": model.scale}
        for name, model in predictor.models.items()
    }


def _compared(items: Sequence[ScoredDag], rows: Sequence[dict[str, Prediction]]) -> dict[str, dict[str, float]]:
    """How close predictions are, where the DAGs of the file have the properties themselves."""
    import torch

    from dvae.evaluation.prediction import SCORE
    from dvae.regression.metrics import pearson

    found = {}
    for name in rows[0] if rows else ():
        pairs = []
        for item, row in zip(items, rows, strict=True):
            known = item.dag.properties.get(name, item.score if name == SCORE else None)
            if known is not None:
                pairs.append((*row[name], known))
        if len(pairs) >= MIN_COMPARED:
            value, low, high, truth = torch.tensor(pairs, dtype=torch.float64).unbind(1)
            found[name] = {
                "count": len(pairs),
                "r": pearson(value, truth),
                "error": float((value - truth).square().mean().sqrt()),
                "within": float(((low <= truth) & (truth <= high)).double().mean()),
            }
    return found
