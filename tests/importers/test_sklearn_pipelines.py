"""Pipelines of scikit-learn as DAGs."""

from __future__ import annotations

import pytest

from dvae.dag import Dag
from dvae.errors import DagError
from dvae.importers import from_sklearn

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Lasso, Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def test_steps_follow_each_other_and_branches_meet() -> None:
    pipeline = make_pipeline(make_union(StandardScaler(), PCA(2)), "passthrough", Ridge())
    assert from_sklearn(pipeline) == Dag(
        ("input", "StandardScaler", "PCA", "FeatureUnion", "Ridge", "output"),
        ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)),
    )


def test_columns_models_and_what_wraps_them() -> None:
    columns = make_column_transformer(
        (make_pipeline(StandardScaler(), PCA(1)), [0]), (OneHotEncoder(), [1]), ("drop", [2])
    )
    stack = StackingRegressor([("a", Ridge()), ("b", Lasso())], final_estimator=Ridge())
    dag = from_sklearn(make_pipeline(columns, SelectFromModel(Lasso()), stack))
    assert dag.types == (
        "input", "StandardScaler", "PCA", "OneHotEncoder", "ColumnTransformer", "Lasso", "SelectFromModel", "Ridge",
        "Lasso", "StackingRegressor", "Ridge", "output",
    )  # fmt: skip
    assert (0, 3) in dag.edges
    assert {(2, 4), (3, 4), (6, 7), (6, 8), (7, 9), (8, 9)} <= set(dag.edges)


def test_a_fitted_pipeline_knows_its_features() -> None:
    pipeline = make_pipeline(StandardScaler(), PCA(1), Ridge()).fit(
        [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]], [1.0, 2.0, 3.0]
    )
    assert from_sklearn(pipeline).node["features"] == (None, 2, 2, 1, None)


def test_only_estimators_are_taken() -> None:
    with pytest.raises(DagError, match="an estimator of scikit-learn is expected, not list"):
        from_sklearn([1])
