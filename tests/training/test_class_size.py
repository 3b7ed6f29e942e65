"""The size of a class, told by labels."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.training.class_size import SHARE, class_size, k_told


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_it_is_the_mean_over_rows(labels):
    slow = np.mean([labels.count(label) for label in labels])
    assert class_size(np.array(labels)) == pytest.approx(slow)


@given(st.integers(1, 400), st.floats(1, 400))
def test_k_follows_labels_only_near_them(own, size):
    told = SHARE * size
    expected = max(1, round(told)) if told / 2 <= own <= 2 * told else own
    assert k_told(own, size) == expected


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 12)
    return np.eye(16)[y] + 0.1 * rng.standard_normal((len(y), 16)), y


@pytest.fixture(scope="module")
def fitted(labelled):
    return kf.GraphEnhancer(show_progress=False).fit(*labelled)


@pytest.mark.filterwarnings("ignore::kinfolk.enhance.estimator.KeptTrainingFreeWarning")
def test_a_fit_keeps_it_whether_training_helped_or_not(fitted, labelled):
    X, y = labelled
    assert fitted.class_size_ == 12
    unknown = kf.GraphEnhancer(show_progress=False).fit(X, np.where(np.arange(len(y)) % 12 < 6, y, -1))
    assert unknown.class_size_ == 6
    assert kf.GraphEnhancer(show_progress=False).fit(X).class_size_ is None
    few = np.where(y < 3, y, -1)
    assert kf.GraphEnhancer(show_progress=False).fit(X, few).class_size_ is None


def test_it_is_saved_and_folders_without_it_are_read(fitted, tmp_path):
    folder = tmp_path / "model"
    fitted.save(folder)
    assert kf.GraphEnhancer.load(folder).class_size_ == 12
    file = folder / "config.json"
    whole = json.loads(file.read_text())
    _without(whole, "class_size")
    file.write_text(json.dumps(whole))
    assert kf.GraphEnhancer.load(folder).class_size_ is None


def _without(tree: dict, name: str) -> None:
    tree.pop(name, None)
    for value in tree.values():
        if isinstance(value, dict):
            _without(value, name)
