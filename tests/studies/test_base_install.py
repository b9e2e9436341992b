"""Searching with nothing but the base install: no Optuna, no BoTorch, no scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = """
    import sys
    for name in ("optuna", "sqlalchemy", "botorch", "gpytorch", "sklearn", "pandas", "psycopg"):
        sys.modules[name] = None
    import dvae
    from dvae.studies import Study, storage_of
    from pathlib import Path

    run = Path(sys.argv[1])
    task = dvae.tasks.get("asia")
    vae = dvae.models.build("dvae", task, hidden=8, latent=3, seed=0)
    for strategy in ("random", "evolution", "gradient"):
        for budget in (4, 6):
            options = {"storage": storage_of(run), "name": strategy, "batch": 2, "initial": 2}
            dvae.search(vae, strategy=strategy, budget=budget, **options)
        assert len(Study.open(storage_of(run), strategy).trials) == 6
    for name, words in (("trust-region", "botorch"), ("paper", "botorch")):
        try:
            dvae.search(vae, strategy=name, budget=3)
        except dvae.DvaeError as error:
            assert words in str(error) and "pip install" in str(error), error
        else:
            raise AssertionError(name)
    try:
        Study.open("sqlite:///" + str(run / "other.db"))
    except dvae.DvaeError as error:
        assert "optuna" in str(error), error
    assert not {name for name in sys.modules if name.startswith(("optuna.", "botorch."))}
    print("done")
"""


def test_three_strategies_and_their_ledger_need_no_extra(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["studies.db"]
