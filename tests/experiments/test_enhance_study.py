"""What enhancing does to a set: every number of the study against an obvious way to get it."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.experiments.enhance_study import enhance_study, most_confused, pair_cosines, planes


@pytest.fixture(scope="module")
def celeb():
    return kf.datasets.celeb_like(12, seed=3)


@pytest.fixture(scope="module")
def study(celeb, few_steps):
    return enhance_study("celeb_like", "a note", celeb.part("test"), celeb.part("train"), k=10)


def test_every_version_is_scored_as_the_public_names_score_it(celeb, study):
    test = celeb.part("test")
    assert list(study.scores) == ["raw", "label-free", "trained"]
    raw, label_free, trained = study.versions
    np.testing.assert_allclose(raw.features, test.features, atol=1e-6)
    np.testing.assert_allclose(label_free.features, kf.GraphEnhancer().fit_transform(test), atol=1e-5)
    assert np.abs(trained.features - label_free.features).max() > 0.01
    for version in study.versions:
        expected = kf.metrics.mean_average_precision(version.features, test.labels)
        assert study.scores[version.name] == pytest.approx(100 * expected)
    assert raw.map < label_free.map


def test_the_pairs_are_those_of_the_raw_graph_in_every_version(celeb, study):
    test = celeb.part("test")
    g = kf.knn_graph(test, 10)
    np.testing.assert_allclose(study.versions[0].similarities, g.similarities, atol=1e-5)
    for version in study.versions:
        assert version.similarities.shape == study.same_class.shape == (len(test), 10)
    i, a = 7, 3
    assert study.same_class[i, a] == (test.labels[i] == test.labels[g.indices[i, a]])
    last = study.versions[-1]
    assert last.similarities[i, a] == pytest.approx(last.features[i] @ last.features[g.indices[i, a]], abs=1e-5)


def test_nothing_to_learn_from_leaves_the_trained_version_out():
    study = enhance_study("digits", "", kf.datasets.digits().take(slice(0, 300)), k=5)
    assert list(study.scores) == ["raw", "label-free"]


def test_pair_cosines_equal_single_products():
    X = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    g = kf.knn_graph(X, 6)
    expected = [[X[i] @ X[j] for j in g.indices[i]] for i in range(30)]
    np.testing.assert_allclose(pair_cosines(X, g), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_most_confused_equals_counting_edge_by_edge(count):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 7, 80) * 10
    g = kf.knn_graph(np.eye(71)[labels] + 0.5 * rng.standard_normal((80, 71)), 8)
    classes = sorted({int(label) for label in labels})
    edges = [(int(labels[i]), int(labels[j])) for i in range(80) for j in g.indices[i]]
    worst = max(classes, key=lambda c: sum(a == c != b for a, b in edges))
    shared = {c: sum({a, b} == {worst, c} for a, b in edges) for c in classes if c != worst}
    others = sorted(shared, key=lambda c: (-shared[c], c))[: count - 1]
    assert most_confused(g, labels, count).tolist() == sorted([worst, *others])


def test_a_plane_keeps_the_two_widest_directions_and_lies_on_the_first():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * [5, 3, 0.1, 0.1] + 7
    turned = X @ np.linalg.qr(rng.standard_normal((4, 4)))[0] * 3
    first, second = planes([X, turned])
    covariance = np.cov(X.T)
    assert np.trace(np.cov(first.T)) == pytest.approx(np.sort(np.linalg.eigvalsh(covariance))[-2:].sum())
    np.testing.assert_allclose(second, 3 * first, atol=1e-8)


def test_a_set_without_labels_is_refused():
    with pytest.raises(InputError, match="toy has no labels"):
        enhance_study("toy", "", kf.FeatureSet(np.eye(5)))
