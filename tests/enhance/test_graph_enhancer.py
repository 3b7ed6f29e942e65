"""GraphEnhancer: every form runs, nothing depends on chance, and rows get better.

Run as a program this file is the fit that gets killed.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import kinfolk as kf
from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning, _learning, _serving, with_labels
from kinfolk.metrics import mean_average_precision
from kinfolk.training import metric

FORMS = ("none", "self", "quartet", "band", "quartet_self", "band_self", "cosine", "kernel")
may_keep = pytest.mark.filterwarnings("ignore::kinfolk.enhance.KeptTrainingFreeWarning")


def quiet(**settings) -> GraphEnhancer:
    return GraphEnhancer(**{"show_progress": False, **settings})


def small_set() -> tuple[np.ndarray, np.ndarray]:
    fs = kf.datasets.celeb_like(n_identities=12, dim=16)
    return np.array(fs.features[::5]), fs.labels[::5]


def assert_unit_rows(Z: np.ndarray, shape: tuple[int, int]) -> None:
    assert Z.shape == shape
    assert Z.dtype == np.float32
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-4)


# ---- every form


@may_keep
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    ("attention", "base", "recipe"), list(itertools.product(FORMS, ("gcn", "transformer"), ("fast", "paper")))
)
def test_every_form_can_be_fitted(data, attention, base, recipe):
    X, y = data
    e = quiet(k=8, attention=attention, base=base, recipe=recipe, steps=3)
    assert_unit_rows(e.fit(X, y).transform(X), X.shape)
    assert_unit_rows(e.transform(X[:20], reference=X), (20, 16))
    assert len(e.get_feature_names_out()) == 16
    assert_unit_rows(clone(e).fit(X).transform(X), X.shape)


@may_keep
@pytest.mark.parametrize("recipe", ["fast", "paper"])
@pytest.mark.parametrize(
    "settings",
    [
        dict(out_dim=5),
        dict(out_dim=40, base="transformer"),
        dict(layers=2),
        dict(layers=3, base="transformer"),
        dict(heads=4),
        dict(fusion="add"),
        dict(fusion="mul"),
        dict(quartet_weights=False),
        dict(normalize="qk", quartet_weights=False),
    ],
    ids=str,
)
def test_every_setting_of_the_sub_graph_model_can_be_fitted(data, settings, recipe):
    X, y = data
    e = quiet(k=8, recipe=recipe, steps=3, **settings).fit(X, y)
    assert_unit_rows(e.transform(X), (len(X), settings.get("out_dim", 16)))
    assert len(e.get_feature_names_out()) == settings.get("out_dim", 16)


def test_the_papers_settings():
    e = GraphEnhancer.paper("ms-celeb", steps=5)
    assert (e.k, e.layers, e.out_dim, e.recipe, e.steps) == (120, 3, 2048, "paper", 5)
    with pytest.raises(kf.InputError, match="msmt17"):
        GraphEnhancer.paper("imagenet")


# ---- better rows


@pytest.mark.parametrize("pretrained", [True, False])
def test_without_labels_rows_find_their_class_better(pretrained):
    for fs in (kf.datasets.celeb_like(12, dim=64), kf.datasets.digits().take(slice(None, None, 2))):
        Z = quiet(pretrained=pretrained).fit(fs).transform(fs)
        assert mean_average_precision(Z, fs.labels) > mean_average_precision(fs, fs.labels) + 0.05


@pytest.mark.parametrize("regime", ["celeb_like", "person_like", "vehicle_like"])
@pytest.mark.parametrize("items", [3, 4, 6])
def test_small_classes_are_not_made_worse_even_in_families_of_look_alikes(regime, items):
    fs = getattr(kf.datasets, regime)(n_identities=300, seed=7)
    order = np.random.default_rng(2).permutation(len(fs))
    few = np.concatenate([order[fs.labels[order] == label][:items] for label in np.unique(fs.labels)])
    X, y = fs.features[few], fs.labels[few]
    assert mean_average_precision(quiet().fit_transform(X), y) > mean_average_precision(X, y)


def test_real_features_without_labels(shared_data):
    test = kf.load(shared_data / "market1501.npz").part("test")
    some = test.take(np.isin(test.labels, np.unique(test.labels[test.labels >= 0])[:60]))
    Z = quiet().fit(some).transform(some)
    assert mean_average_precision(Z, some.labels) > mean_average_precision(some, some.labels) + 0.05


@pytest.mark.parametrize("settings", [dict(), dict(pretrained=False), dict(model="subgraph")], ids=str)
def test_new_rows_get_better_with_a_reference_and_in_any_order(settings):
    fs = kf.datasets.celeb_like(12, dim=64)
    new = np.random.default_rng(0).permutation(len(fs))[:200]
    X_new, X_old = fs.features[new], np.delete(fs.features, new, axis=0)
    e = quiet(**settings).fit(X_old)
    Z = e.transform(X_new, reference=X_old)
    assert_unit_rows(Z, (200, 64))
    assert mean_average_precision(Z, fs.labels[new]) > mean_average_precision(X_new, fs.labels[new]) + 0.05
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_allclose(e.transform(X_new[order], reference=X_old), Z[order], atol=1e-5)
    np.testing.assert_allclose(e.transform(X_new[7:8], reference=X_old), Z[7:8], atol=1e-5)


# ---- near copies


def people(seed: int = 0) -> np.ndarray:
    """Return rows of twelve classes of twelve, none of them a copy."""
    centres = np.random.default_rng(0).standard_normal((12, 16)).repeat(12, axis=0)
    return (centres + 0.8 * np.random.default_rng(seed).standard_normal(centres.shape)).astype(np.float32)


def with_copies(X: np.ndarray, count: int, row: int = 7) -> np.ndarray:
    """Return the rows, and behind them near copies of one."""
    noise = 1e-6 * np.random.default_rng(0).standard_normal((count, X.shape[1]))
    return np.concatenate([X, X[row] + noise.astype(np.float32)])


def with_metric(e: GraphEnhancer, dim: int = 16) -> GraphEnhancer:
    """Give a fitted enhancer a metric, as labels do."""
    e.metric_ = np.eye(dim, dtype=np.float32)
    e.metric_ += 0.05 * np.random.default_rng(0).standard_normal((dim, dim), dtype=np.float32)
    return e


WITH_COPIES = [dict(), dict(k=8), dict(pretrained=False), dict(k=8, pretrained=False), dict(attention="none")]


@pytest.mark.parametrize("settings", WITH_COPIES, ids=str)
@pytest.mark.parametrize("count", [1, 5, 30, 200])
def test_near_copies_of_a_row_change_nothing_for_the_others(settings, count):
    X = people()
    both = with_copies(X, count)
    for e in (quiet(**settings).fit(X), with_metric(quiet(**settings).fit(X))):
        Z = e.transform(both)
        assert_unit_rows(Z, both.shape)
        np.testing.assert_allclose(Z[: len(X)], e.transform(X), atol=1e-5)
        np.testing.assert_allclose(Z[len(X) :], np.broadcast_to(Z[7], (count, 16)), atol=1e-4)


@pytest.mark.parametrize("settings", WITH_COPIES, ids=str)
@pytest.mark.parametrize("count", [1, 30, 200])
def test_near_copies_in_a_reference_change_nothing_for_new_rows(settings, count):
    old, new = people(), people(seed=1)
    for e in (quiet(**settings).fit(old), with_metric(quiet(**settings).fit(old))):
        Z = e.transform(new, reference=with_copies(old, count))
        assert_unit_rows(Z, new.shape)
        np.testing.assert_allclose(Z, e.transform(new, reference=old), atol=1e-5)


@pytest.mark.parametrize("settings", WITH_COPIES, ids=str)
def test_the_order_of_near_copies_does_not_matter(settings):
    X = people()
    both = np.concatenate([X, X[::3] + 0.01 * np.random.default_rng(0).standard_normal(X[::3].shape)])
    e = quiet(**settings).fit(both)
    Z = e.transform(both)
    order = np.random.default_rng(1).permutation(len(both))
    np.testing.assert_allclose(e.transform(both[order]), Z[order], atol=1e-5)


@pytest.mark.parametrize("settings", WITH_COPIES, ids=str)
@pytest.mark.parametrize("count", [1, 30, 200])
def test_fit_transform_is_fit_and_transform_also_with_near_copies(settings, count):
    both = with_copies(people(), count)
    np.testing.assert_array_equal(quiet(**settings).fit_transform(both), quiet(**settings).fit(both).transform(both))


@pytest.mark.parametrize("settings", [dict(), dict(k=1), dict(pretrained=False), dict(model="subgraph")], ids=str)
@pytest.mark.parametrize("things", [1, 2, 3])
@pytest.mark.parametrize("copies", [2, 3, 70])
def test_sets_of_little_but_near_copies(data, settings, things, copies):
    X, _ = data
    rows = X[:things].repeat(copies, axis=0)
    rows = rows + 1e-6 * np.random.default_rng(0).standard_normal(rows.shape)
    e = quiet(**settings)
    Z = e.fit_transform(rows)
    assert_unit_rows(Z, rows.shape)
    np.testing.assert_array_equal(e.transform(rows), Z)
    assert_unit_rows(e.transform(X, reference=rows), X.shape)


def test_near_copies_keep_what_distinguishes_them():
    rng = np.random.default_rng(0)
    families = rng.standard_normal((40, 1, 64)) / 8
    classes = (families + 0.12 * rng.standard_normal((40, 4, 64)) / 8).reshape(160, 64)
    y = np.arange(160).repeat(5)
    X = classes[y] + 0.04 * rng.standard_normal((800, 64)) / 8
    Z = quiet().fit_transform(X)
    assert kf.metrics.mean_average_precision(Z, y) > 0.99, "classes as near as copies are told apart"


# ---- labels


@pytest.mark.usefixtures("few_steps")
@may_keep
def test_labels_below_zero_are_unknown_and_names_of_labels_do_not_matter(data):
    X, y = data
    some = np.where(np.arange(len(y)) % 9 == 0, -1, y)
    Z = quiet(k=8).fit(X, some).transform(X)
    np.testing.assert_array_equal(quiet(k=8).fit(X, np.where(some < 0, -7, some)).transform(X), Z)
    np.testing.assert_array_equal(quiet(k=8).fit(X, some.astype(float)).transform(X), Z)
    full = quiet(k=8).fit(X, y).transform(X)
    np.testing.assert_array_equal(quiet(k=8).fit(X, [f"identity {i:02}" for i in y]).transform(X), full)
    np.testing.assert_array_equal(quiet(k=8).fit(X, 10 * y + 3).transform(X), full)


@pytest.mark.parametrize("settings", [dict(k=8), dict(model="subgraph", k=8)], ids=str)
def test_too_few_identities_keep_the_label_free_form(data, settings):
    X, y = data
    for labels in (y % 5, np.full(len(y), -1), np.arange(len(y))):
        with pytest.warns(KeptTrainingFreeWarning, match="too few"):
            e = quiet(**settings).fit(X, labels)
        assert not e.trained_
        np.testing.assert_array_equal(e.transform(X), quiet(**settings).fit(X).transform(X))


@pytest.mark.usefixtures("few_steps")
def test_training_that_does_not_help_keeps_the_label_free_form(monkeypatch, data):
    X, y = data
    monkeypatch.setattr("kinfolk.enhance.with_labels._compare", lambda *_: {"label-free": 0.5, "trained": 0.4})
    with pytest.warns(KeptTrainingFreeWarning, match="did not improve"):
        e = quiet(k=8).fit(X, y)
    np.testing.assert_array_equal(e.transform(X), quiet(k=8).fit(X).transform(X))


def test_labels_that_do_not_fit_are_refused(data):
    X, y = data
    for labels in (y[:-1], y[:, None]):
        with pytest.raises(kf.InputError, match="one label a row"):
            quiet().fit(X, labels)


# ---- rows of all kinds


@pytest.mark.parametrize(
    "settings", [dict(), dict(pretrained=False), dict(model="subgraph"), dict(recipe="paper")], ids=str
)
def test_small_sets_and_sets_of_equal_rows(data, settings):
    X, _ = data
    for rows in (X[:2], X[:3], X[:5], X[:3].repeat(20, axis=0), X[:1].repeat(30, axis=0), np.vstack([X[:20], -X[:20]])):
        e = quiet(**settings)
        assert_unit_rows(e.fit_transform(rows), rows.shape)
        assert_unit_rows(e.transform(rows[:1]), (1, 16))
        assert_unit_rows(e.transform(X, reference=rows), X.shape)


@pytest.mark.parametrize("settings", [dict(), dict(model="subgraph"), dict(recipe="paper")], ids=str)
def test_a_k_above_the_number_of_others_is_refused(data, settings):
    X, _ = data
    with pytest.raises(kf.InputError, match="k=5 neighbours are too many: each row has 4 others"):
        quiet(k=5, **settings).fit(X[:5])
    e = quiet(k=4, **settings).fit(X[:5])
    assert_unit_rows(e.transform(X[:3]), (3, 16))  # the k of a model gives way to a smaller set


def test_equal_rows_stay_equal(data):
    X, _ = data
    Z = quiet(k=8).fit_transform(np.vstack([X, X]))
    np.testing.assert_allclose(Z[: len(X)], Z[len(X) :], atol=0.05)


def test_features_may_come_in_any_form(data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    e = quiet(k=8).fit(X)
    for form in (np.load(tmp_path / "X.npy", mmap_mode="r"), torch.from_numpy(X), kf.FeatureSet(X, labels=y)):
        np.testing.assert_array_equal(quiet(k=8).fit(form).transform(form), e.transform(X))
        np.testing.assert_array_equal(e.transform(form, reference=form), e.transform(X, reference=X))
    for form in (np.asfortranarray(X), X.tolist(), 3 * X.astype(float)):
        np.testing.assert_allclose(quiet(k=8).fit(form).transform(form), e.transform(X), atol=1e-5)


def test_tables_keep_their_columns(data, tmp_path):
    X = data[0][:40]
    titles = [f"f{number}" for number in range(X.shape[1])]
    table = pd.DataFrame(X, columns=titles, index=[f"{number}.jpg" for number in range(40)])
    enhancer = GraphEnhancer(k=5).fit(table)
    assert enhancer.feature_names_in_.tolist() == titles
    Z = enhancer.transform(table)
    np.testing.assert_array_equal(Z, GraphEnhancer(k=5).fit(X).transform(X))
    np.testing.assert_array_equal(enhancer.transform(pa.table(list(X.T), names=titles), reference=table).shape, Z.shape)
    wrong = table[titles[::-1]]
    for act in (
        lambda: enhancer.transform(wrong),
        lambda: enhancer.transform(table, reference=wrong),
        lambda: kf.cluster.Kin(enhancer=enhancer).fit(wrong),
    ):
        with pytest.raises(kf.InputError, match="same order as they were in fit"):
            act()
    assert kf.cluster.Kin(enhancer=enhancer).fit(table).labels_.shape == (40,)
    enhancer.save(tmp_path / "model")
    with pytest.raises(kf.InputError, match="same order as they were in fit"):
        GraphEnhancer.load(tmp_path / "model").transform(wrong)
    named = GraphEnhancer(k=5).set_output(transform="pandas").fit(table).transform(table)
    assert named.index.equals(table.index)


def test_rows_are_never_changed(data):
    X = data[0].copy()
    X.flags.writeable = False
    quiet(k=8).fit(X).transform(X, reference=X)
    np.testing.assert_array_equal(X, data[0])


def test_what_is_no_feature_is_refused(data):
    X, _ = data
    e = quiet(k=8).fit(X)
    spoilt = {"NaN": np.nan, "an infinite value": np.inf, "zero vector": 0.0}
    for what, value in spoilt.items():
        bad = X.copy()
        bad[3] = value
        for call in (quiet().fit, e.transform, lambda rows: e.transform(X, reference=rows)):
            with pytest.raises(kf.InputError, match=f"row 3 .*{what}"):
                call(bad)
    with pytest.raises(kf.InputError, match="X has 15 dimensions, the fit had 16"):
        e.transform(X[:, :15])
    with pytest.raises(kf.InputError, match="the reference has 15 dimensions"):
        e.transform(X, reference=X[:, :15])
    with pytest.raises(kf.InputError, match="reference needs at least 2 rows"):
        e.transform(X, reference=X[:1])
    with pytest.raises(kf.InputError, match="at least 2 rows"):
        quiet().fit(X[:1])


# ---- a scikit-learn estimator


def test_parameters_and_clones(data):
    e = quiet(k=8, attention="quartet")
    assert e.get_params()["attention"] == "quartet"
    assert clone(e.fit(data[0])).get_params() == e.get_params()
    with pytest.raises(NotFittedError):
        clone(e).transform(data[0])
    assert e.set_params(k=5).k == 5


@pytest.mark.usefixtures("few_steps")
@may_keep
def test_in_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(quiet(k=8), KNeighborsClassifier(3)).fit(X, y)
    assert pipeline.score(X, y) > 0.7
    pipeline.set_params(graphenhancer__k=5).fit(X, y)
    assert pipeline[0].k_ == 5


NOT_MEANT = {
    "check_transformer_preserve_dtypes": "rows are float32, whatever they were",
    "check_methods_subset_invariance": "a row is enhanced by the rows it comes with",
    "check_fit2d_1sample": "the sentence about a single row is our own",
}


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn(own_sentences):
    results = check_estimator(quiet(k=5), expected_failed_checks=NOT_MEANT | own_sentences, on_fail=None, on_skip=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 25


# ---- the same bits


@may_keep
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    "settings", [dict(k=8), dict(model="subgraph", k=8, steps=5), dict(recipe="paper", k=8, steps=5)], ids=str
)
def test_the_same_random_state_gives_the_same_bits(data, settings):
    X, y = data
    one, other = (quiet(random_state=3, **settings).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    np.testing.assert_array_equal(one.fit(X, y).transform(X), other.transform(X))
    assert one.scores_ == other.scores_


@may_keep
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    "settings",
    [dict(), dict(model="subgraph"), dict(model="subgraph", base="transformer"), dict(recipe="paper")],
    ids=str,
)
@pytest.mark.parametrize("k", [10, 40])
def test_a_model_of_one_k_can_be_used_with_another(data, settings, k):
    X, y = data
    e = quiet(k=20, steps=3, **settings).fit(X, y)
    before = e.transform(X)
    assert_unit_rows(e.set_params(k=k).transform(X), X.shape)
    assert not np.array_equal(e.transform(X), before)
    assert_unit_rows(e.transform(X[:9], reference=X), (9, 16))


def checkpointed(folder: Path) -> GraphEnhancer:
    X, y = small_set()
    metric.STEPS = 60
    return quiet(k=8, checkpoint_dir=folder).fit(X, y)


@may_keep
def test_killed_for_real_and_fitted_again(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # one map after the other, so that the steps can be counted
    monkeypatch.setattr(metric, "STEPS", 60)  # undone at the end
    killed = subprocess.run([sys.executable, __file__, str(tmp_path / "killed")], check=False)
    assert killed.returncode == -signal.SIGKILL
    true_loss, steps = metric.supervised_contrastive, itertools.count()
    monkeypatch.setattr(metric, "supervised_contrastive", lambda *a: (next(steps), true_loss(*a))[1])
    again = checkpointed(tmp_path / "killed")
    taken_up = next(steps)
    alone = checkpointed(tmp_path / "alone")
    assert next(steps) - 1 - taken_up == taken_up + 3 * 60 + 50  # three whole maps and a checkpoint at step 50
    X, _ = small_set()
    np.testing.assert_array_equal(again.transform(X), alone.transform(X))
    assert again.scores_ == alone.scores_


def kill_myself_in_the_middle() -> None:
    true_loss, steps = metric.supervised_contrastive, itertools.count()

    def deadly(*arguments):
        if next(steps) == 3 * 60 + 55:  # in the fourth map, after a checkpoint
            os.kill(os.getpid(), signal.SIGKILL)
        return true_loss(*arguments)

    metric.supervised_contrastive = deadly


if __name__ == "__main__":
    kill_myself_in_the_middle()
    checkpointed(Path(sys.argv[1]))


def test_a_refit_does_not_remember_the_fit_before():
    rng = np.random.default_rng(0)
    fs = kf.datasets.celeb_like(12, dim=16)
    enhancer = GraphEnhancer(model="subgraph", show_progress=False).fit(rng.standard_normal((30, 16)))
    assert enhancer.fit(fs).k_ == GraphEnhancer(model="subgraph", show_progress=False).fit(fs).k_


def test_labels_with_hardly_a_pair_keep_the_training_free_form():
    X = np.array(kf.datasets.celeb_like(12, dim=16).features[::6])
    y = np.arange(len(X))
    y[1] = 0
    for settings in (dict(k=8), dict(k=8, model="subgraph"), dict(k=8, recipe="paper", steps=2)):
        labels = np.arange(len(X)) if "recipe" in settings else y
        with pytest.warns(KeptTrainingFreeWarning, match="too few to learn from"):
            kept = GraphEnhancer(**settings).fit(X, labels)
        assert np.array_equal(kept.transform(X), GraphEnhancer(**settings).fit(X).transform(X))


@may_keep
@pytest.mark.usefixtures("few_steps")
def test_the_class_size_is_kept_whether_training_helped_or_not():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 12)
    X = np.eye(16)[y] + 0.1 * rng.standard_normal((len(y), 16))
    assert quiet().fit(X, y).class_size_ == 12
    assert quiet().fit(X, np.where(np.arange(len(y)) % 12 < 6, y, -1)).class_size_ == 6
    assert quiet().fit(X).class_size_ is None
    assert quiet().fit(X, np.where(y < 3, y, -1)).class_size_ is None


@may_keep
@pytest.mark.usefixtures("few_steps")
def test_a_labelled_fit_searches_once_for_all_rows_and_twice_a_fold(monkeypatch, data):
    searches = []
    for module in (_serving, _learning, with_labels, metric):
        search = module.knn_graph
        monkeypatch.setattr(module, "knn_graph", lambda X, *a, f=search, **b: searches.append(len(X)) or f(X, *a, **b))
    fs = kf.datasets.celeb_like(n_identities=30, dim=16)
    quiet().fit(fs, fs.labels)
    assert searches[0] == len(fs)
    assert len(searches) == 1 + 2 * with_labels.FOLDS
    assert searches[1::2] == searches[2::2], "each fold before and after its metric"
    assert 0.95 * len(fs) < sum(searches[1::2]) <= len(fs), "near copies count once"


@may_keep
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("settings", [dict(random_state=3), dict(pretrained=False)], ids=str)
@pytest.mark.parametrize("kept", [True, False])
def test_fit_transform_is_fit_and_transform_also_with_labels(monkeypatch, settings, kept):
    monkeypatch.setattr(with_labels, "_compare", lambda *_: {"label-free": 0.5, "trained": 0.5 + kept})
    fs = kf.datasets.celeb_like(n_identities=60, dim=16, seed=2)
    assert len(fs) > 1500, "more than the rows that k is chosen on, so that the seed matters"
    labels = np.where(np.arange(len(fs)) % 5 == 0, -1, fs.labels)
    apart = quiet(**settings).fit(fs, labels).transform(fs)
    np.testing.assert_array_equal(quiet(**settings).fit_transform(fs, labels), apart)


def test_a_set_that_is_marked_as_enhanced_is_refused(data):
    X, y = data
    e = quiet(k=8).fit(X)
    Z = kf.FeatureSet(e.transform(X), labels=y, enhanced=True)
    for enhance_again in (e.fit, e.transform, e.fit_transform, lambda Z: e.transform(X, reference=Z)):
        with pytest.raises(kf.InputError, match="enhanced already"):
            enhance_again(Z)
    with pytest.raises(kf.InputError, match="enhanced already"):
        kf.rerank.band(Z, Z)
    assert e.transform(Z.features).shape == X.shape


def test_misspelled_arguments_are_refused(data):
    with pytest.raises(TypeError, match="nearest_scal"):
        quiet(k=8).fit_transform(data[0], nearest_scal=False)
