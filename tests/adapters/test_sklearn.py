"""DAGs in scikit-learn: the estimators' own promises, and scikit-learn's checks as far as they are about DAGs."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy
import pytest

from dvae.dag import Dag
from dvae.errors import ConfigError, DagError, TaskError
from dvae.tasks import GenericTask

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402
from sklearn.utils.validation import validate_data  # noqa: E402

from dvae.sklearn import DagEmbedder, DagRegressor  # noqa: E402

SMALL = {"model": "svae", "latent": 3, "hidden": 8, "epochs": 1, "random_state": 0}


def chains(count: int = 24) -> list[Dag]:
    """Chains of two types, with a shortcut here and there."""
    rng = numpy.random.default_rng(0)
    found = []
    for number in range(count):
        middle = [str(rng.choice(["a", "b"])) for _ in range(2 + number % 3)]
        edges = [(place, place + 1) for place in range(len(middle) + 1)]
        found.append(Dag(("in", *middle, "out"), (*edges, (0, 2)) if number % 2 else tuple(edges)))
    return found


def sizes(dags: list[Dag]) -> list[float]:
    return [float(dag.types.count("a")) for dag in dags]


def test_dags_become_rows_and_rows_become_valid_dags() -> None:
    dags = chains()
    embedder = DagEmbedder(**SMALL).fit(dags)
    rows = embedder.transform(dags)
    assert rows.shape == (len(dags), 3)
    assert rows.dtype == numpy.float64
    back = embedder.inverse_transform(rows)
    assert len(back) == len(dags)
    assert all(embedder.task_.is_valid(dag) for dag in back)
    assert list(embedder.get_feature_names_out()) == ["latent0", "latent1", "latent2"]
    assert len(embedder.losses_) == 1


def test_rows_are_what_the_model_encodes() -> None:
    dags = chains()
    embedder = DagEmbedder(**SMALL).fit(dags)
    assert numpy.array_equal(embedder.transform(dags), embedder.vae_.encode(dags).mean.double().numpy())


def test_the_seed_decides() -> None:
    dags = chains()
    first, again = (DagEmbedder(**SMALL).fit(dags).transform(dags) for _ in range(2))
    other = DagEmbedder(**{**SMALL, "random_state": 1}).fit(dags).transform(dags)
    assert numpy.array_equal(first, again)
    assert not numpy.array_equal(first, other)


def test_an_array_of_objects_is_as_good_as_a_list() -> None:
    dags = chains()
    embedder = DagEmbedder(**SMALL).fit(numpy.array(dags, dtype=object))
    assert numpy.array_equal(embedder.transform(dags), embedder.transform(numpy.array(dags, dtype=object)))


def test_states_predict_and_do_not_decode() -> None:
    embedder = DagEmbedder(**SMALL, space="states").fit(chains())
    assert embedder.transform(chains(2)).shape == (2, embedder.n_features_out_)
    assert embedder.get_feature_names_out()[0] == "state0"
    with pytest.raises(ConfigError, match="cannot be decoded; take space='latents'"):
        embedder.inverse_transform(embedder.transform(chains(2)))


def test_a_pipeline_is_cross_validated() -> None:
    dags = chains()
    task = GenericTask.infer("chains", dags)
    pipeline = make_pipeline(DagEmbedder(task, **SMALL), StandardScaler(), Ridge())
    scores = cross_val_score(pipeline, dags, sizes(dags), cv=2, error_score="raise")
    assert numpy.isfinite(scores).all()


def test_settings_are_searched_over() -> None:
    dags = chains()
    search = GridSearchCV(DagRegressor(DagEmbedder(**SMALL)), {"embedder__latent": [2, 4]}, cv=2, error_score="raise")
    search.fit(dags, sizes(dags))
    assert search.best_params_["embedder__latent"] in (2, 4)
    assert search.best_estimator_.embedder_.n_features_out_ == search.best_params_["embedder__latent"]


def test_a_regressor_learns_what_a_dag_is_made_of() -> None:
    dags = chains(60)
    embedder = DagEmbedder(**{**SMALL, "epochs": 3, "hidden": 32}, space="states")
    regressor = DagRegressor(embedder).fit(dags[:40], sizes(dags[:40]))
    assert regressor.score(dags[40:], sizes(dags[40:])) > 0.8


def test_a_clone_is_not_fitted_and_has_the_same_settings() -> None:
    embedder = DagEmbedder(**SMALL, settings={"batch_size": 4}).fit(chains())
    copy = clone(embedder)
    assert copy.get_params() == embedder.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(chains(1))


def test_a_pickle_holds_files_and_no_module() -> None:
    dags = chains()
    embedder = DagEmbedder(**SMALL).fit(dags)
    text = pickle.dumps(embedder)
    assert b"torch" not in text
    again = pickle.loads(text)
    assert numpy.array_equal(again.transform(dags), embedder.transform(dags))
    assert again.inverse_transform(again.transform(dags)) == embedder.inverse_transform(embedder.transform(dags))
    assert pickle.loads(pickle.dumps(DagEmbedder(latent=2))).latent == 2


def test_joblib_keeps_a_regressor(tmp_path: Any) -> None:
    joblib = pytest.importorskip("joblib")
    dags = chains()
    regressor = DagRegressor(DagEmbedder(**SMALL)).fit(dags, sizes(dags))
    joblib.dump(regressor, tmp_path / "regressor.joblib")
    assert numpy.array_equal(joblib.load(tmp_path / "regressor.joblib").predict(dags), regressor.predict(dags))


def test_mistakes_are_told() -> None:
    dags = chains()
    with pytest.raises(DagError, match=r"give \[dag\]"):
        DagEmbedder(**SMALL).fit(dags[0])
    with pytest.raises(DagError, match="item 1 is str"):
        DagEmbedder(**SMALL).fit([dags[0], "dag"])
    with pytest.raises(TaskError, match="holds no DAG"):
        DagEmbedder(**SMALL).fit([])
    with pytest.raises(ConfigError, match="space is 'latent'"):
        DagEmbedder(**SMALL, space="latent").fit(dags)
    with pytest.raises(ConfigError, match="colour"):
        DagEmbedder(**SMALL, settings={"colour": 1}).fit(dags)
    with pytest.raises(TaskError, match=r"DAG 0 .*'z'"):
        DagEmbedder(**SMALL).fit(dags).transform([Dag(("z",))])
    with pytest.raises(ValueError, match="24 DAGs and 3 numbers"):
        DagRegressor().fit(dags, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="NaN"):
        DagRegressor().fit(dags, [float("nan")] * len(dags))


# scikit-learn makes rows of numbers for its checks. These two estimators take rows and make a DAG of each, so that
# all checks run on the code above.


def as_dag(row: Any) -> Dag:
    steps = numpy.floor(4 * row[:6]).astype(int)
    return Dag(tuple(int(step) % 7 for step in steps), tuple((place, place + 1) for place in range(len(steps) - 1)))


TASK = GenericTask("rows", ("start", "end", *range(7)), 8, virtual_start=True, virtual_end=True)


class OfRows:
    """Rows of numbers where DAGs are expected."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # one epoch
        return tags


class EmbedderOfRows(OfRows, DagEmbedder):
    def __init__(self, random_state: Any = None) -> None:
        super().__init__(TASK, **{**SMALL, "random_state": random_state})

    def fit(self, X: Any, y: Any = None) -> EmbedderOfRows:
        super().fit([as_dag(row) for row in validate_data(self, X)])
        return self

    def transform(self, X: Any) -> Any:
        estimator_checks.check_is_fitted(self)
        return super().transform([as_dag(row) for row in validate_data(self, X, reset=False)])


class RegressorOfRows(OfRows, DagRegressor):
    def __init__(self, random_state: Any = None) -> None:
        super().__init__(DagEmbedder(TASK, **SMALL, space="states"), random_state=random_state)

    def fit(self, X: Any, y: Any) -> RegressorOfRows:
        if y is None:
            raise ValueError("RegressorOfRows requires y to be passed, but the target y is None.")
        X, y = validate_data(self, X, y, y_numeric=True)
        super().fit([as_dag(row) for row in X], y)
        return self

    def predict(self, X: Any) -> Any:
        estimator_checks.check_is_fitted(self)
        return super().predict([as_dag(row) for row in validate_data(self, X, reset=False)])


QUICK = ("cloneable", "pickle", "dict_unchanged", "subset_invariance", "get_params", "set_params", "attributes_set_in")
OTHER = {"check_array_api_input": "runs only with SCIPY_ARRAY_API set, and a DAG is no array"}


def checks() -> list[Any]:
    found = []
    for estimator in (EmbedderOfRows(), RegressorOfRows()):
        for _, check in estimator_checks.estimator_checks_generator(estimator, mark=None):
            name = check.func.__name__
            marks = [] if any(word in name for word in QUICK) else [pytest.mark.slow]
            if name not in OTHER:
                found.append(pytest.param(estimator, check, id=f"{type(estimator).__name__}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_a_check_of_scikit_learn(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as scikit-learn's own tests do: checks provoke warnings
        check(clone(estimator))


def test_scikit_learn_is_told_that_dags_are_no_rows() -> None:
    """With the tags of `DagEmbedder` itself scikit-learn leaves all checks out that make rows of numbers."""
    for estimator in (DagEmbedder(**SMALL), DagRegressor()):
        with pytest.warns(match="Can't test estimator"):
            few = list(estimator_checks.estimator_checks_generator(estimator, mark=None))
        for made, check in few:
            check(made)
