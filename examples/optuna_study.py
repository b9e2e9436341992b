"""A DAG as a parameter of one's own Optuna study, and a study of ours in optuna-dashboard.

Run it: python examples/optuna_study.py   (about ten seconds)
Needs optuna; optuna-dashboard only to look.
"""

# %% A model of the space: Bayesian networks over eight variables. In earnest, train it longer.
import tempfile
from pathlib import Path

import optuna

import dvae
from dvae.models import build
from dvae.optuna import DagSampler, DagSpace, suggest_dag, to_optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
task = dvae.tasks.get("asia")
vae = build("dvae", task, hidden=16, latent=6, seed=0)
dvae.fit(vae, task.sample(300, seed=0), epochs=2, learning_rate=1e-2, progress=False)

folder = Path(tempfile.mkdtemp())

# %% Somebody's own study: a DAG beside a number. The strategy learns from every finished trial.
space = DagSpace(vae, strategy="evolution", drawings=folder / "drawings")


def objective(trial: optuna.Trial) -> float:
    dag = suggest_dag(trial, space)
    penalty = trial.suggest_float("penalty", 1.0, 10.0, log=True)
    return task.score(dag) - penalty


storage = f"sqlite:///{folder / 'mine.db'}"
sampler = DagSampler(space, optuna.samplers.RandomSampler(seed=0))  # others: of all other parameters; TPE by default
study = optuna.create_study(study_name="mine", direction="maximize", storage=storage, sampler=sampler)
study.optimize(objective, n_trials=30)
print(f"best of 30: {study.best_value:.2f} with {study.best_params}")
print("its DAG:", space.dag_of(study.best_trial).edges)

# %% The other way: a search of ours, copied for the dashboard, a drawing with every trial.
ours = dvae.search(vae, strategy="evolution", budget=20, seed=1, storage=f"dvae:///{folder / 'ours.db'}")
copied = to_optuna(ours, storage, name="ours", drawings=folder / "drawings", task=task)
print(f"{len(copied.trials)} trials copied; the best scores {copied.best_value:.2f}")
print(f"look at both:  optuna-dashboard {storage} --artifact-dir {folder / 'drawings'}")
ours.close()
