"""DAGs in scikit-learn: embed, predict, cross-validate, search settings, keep.

Run it: python examples/sklearn_regression.py   (about ten seconds)
Needs scikit-learn.
"""

# %% Some DAGs of one's own: small pipelines of typed steps, and what each costs.
import random
import tempfile
from pathlib import Path

import joblib
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dvae import Dag
from dvae.sklearn import DagEmbedder, DagRegressor
from dvae.tasks import GenericTask

COSTS = {"load": 1.0, "filter": 0.5, "join": 4.0, "save": 1.0}
chance = random.Random(0)


def some_dag() -> Dag:
    middle = [chance.choice(["filter", "join"]) for _ in range(chance.randint(1, 4))]
    edges = [(place, place + 1) for place in range(len(middle) + 1)]
    edges += [(0, place) for place in range(2, len(middle) + 1) if chance.random() < 0.5]
    return Dag(("load", *middle, "save"), tuple(edges))


dags = [some_dag() for _ in range(120)]
costs = [sum(COSTS[str(label)] for label in dag.types) + 0.2 * len(dag.edges) for dag in dags]

# %% A transformer: DAGs to vectors, and back to DAGs.
small = {"hidden": 32, "latent": 6, "epochs": 5, "random_state": 0}
embedder = DagEmbedder(**small).fit(dags)
vectors = embedder.transform(dags)
print(f"{len(dags)} DAGs are rows of {vectors.shape[1]} numbers; loss {embedder.losses_[-1]:.2f}")
between = (vectors[:1] + vectors[1:2]) / 2
print("half way between the first two:", embedder.inverse_transform(between)[0].types)

# %% In a pipeline, cross-validated. A task made of all DAGs knows every type, whatever a fold holds.
task = GenericTask.infer("pipelines", dags)
pipeline = make_pipeline(DagEmbedder(task, **small), StandardScaler(), Ridge())
print("R² of latents:", cross_val_score(pipeline, dags, costs, cv=2).round(2))

# %% A regressor of graph states: what the encoder knows before the bottleneck predicts better.
regressor = DagRegressor(DagEmbedder(task, **small, space="states"))
print("R² of states: ", cross_val_score(regressor, dags, costs, cv=2).round(2))

# %% Kept in a file, with the model as data and not as code.
with tempfile.TemporaryDirectory() as folder:
    joblib.dump(regressor.fit(dags, costs), Path(folder) / "regressor.joblib")
    again = joblib.load(Path(folder) / "regressor.joblib")
    print("the first costs", costs[0], "and is expected to cost", again.predict(dags[:1]).round(2)[0])
