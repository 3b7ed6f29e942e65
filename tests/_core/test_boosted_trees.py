"""Boosted trees as arrays give what scikit-learn gives."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from kinfolk._core.boosted_trees import LEAF, BoostedTrees


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 6)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def test_the_mean_of_regressors(data):
    X, y = data
    models = [
        HistGradientBoostingRegressor(max_iter=30, random_state=seed, max_features=0.5).fit(X, y) for seed in (0, 1)
    ]
    found = BoostedTrees.of(models)(X)
    np.testing.assert_allclose(found, (models[0].predict(X) + models[1].predict(X)) / 2, atol=1e-5)


def test_log_odds_of_a_classifier(data):
    X, y = data
    model = HistGradientBoostingClassifier(max_iter=20).fit(X, y > 0)
    np.testing.assert_allclose(BoostedTrees.of([model])(X), model.decision_function(X), atol=1e-5)


def test_no_rows():
    model = HistGradientBoostingRegressor(max_iter=2).fit(np.arange(60.0)[:, None], np.arange(60.0))
    assert BoostedTrees.of([model])(np.empty((0, 1))).shape == (0,)


def test_inputs_with_too_few_columns_are_refused():
    stump = dict(column=[3, LEAF, LEAF], value=[0.5, -1, 1], left=[1, 0, 0], right=[2, 0, 0], start=[0], base=[0])
    trees = BoostedTrees({name: np.array(values) for name, values in stump.items()})
    assert trees(np.zeros((2, 4))).tolist() == [-1, -1]
    with pytest.raises(ValueError, match="ask for 4 columns, not 3"):
        trees(np.zeros((2, 3)))
