"""What holds for every learned clusterer: labels, new sets, model folders, seeds, mistakes."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import kinfolk as kf
from kinfolk.cluster import AdaNets, Clusformer, GCut, StarFC
from kinfolk.cluster._internal.sweep import balance
from kinfolk.cluster.learned._base import calibrate, probability, score_blocks, with_scores
from kinfolk.kinship.choose_k import k_for_labelled

KINDS = [AdaNets, StarFC, Clusformer]
every = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def persons():
    fs = kf.datasets.person_like(60, seed=1, dim=32)
    return fs.part("train"), fs.part("test")


@pytest.fixture(scope="module")
def models(persons):
    train, _ = persons
    return {kind: kind(steps=60).fit(train, train.labels) for kind in KINDS}


@every
def test_it_learns_and_beats_gcut_tuned_on_the_same_identities(kind, persons, models):
    train, test = persons
    raw = GCut(k=80).tune(train, train.labels)
    learned = balance(test.labels, models[kind].predict(test))
    assert learned > balance(test.labels, GCut(k=80, threshold=raw.threshold).fit_predict(test)) + 0.05
    assert 0.3 < models[kind].score_ <= 1
    assert models[kind].k_ == k_for_labelled(np.unique(train.labels, return_inverse=True)[1])


@every
def test_a_saved_model_gives_the_same_clusters(kind, persons, models, tmp_path):
    _, test = persons
    models[kind].save(tmp_path / "model")
    again = kind.load(tmp_path / "model")
    assert again.get_params() == models[kind].get_params()
    assert (again.settings_, again.odds_, again.k_) == (models[kind].settings_, models[kind].odds_, models[kind].k_)
    np.testing.assert_array_equal(again.predict(test), models[kind].predict(test))
    other = next(k for k in KINDS if k is not kind)
    with pytest.raises(kf.InputError, match="of the kind"):
        other.load(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["config"]["n_features"] += 1
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(kf.InputError, match="do not fit"):
        kind.load(tmp_path / "model")


@every
def test_a_k_above_the_number_of_others_is_refused(kind, persons):
    train, _ = persons
    with pytest.raises(kf.InputError, match=f"k={len(train)} neighbours are too many: each labelled row has"):
        kind(k=len(train)).fit(train, train.labels)


@every
def test_the_same_seed_gives_the_same_model_whatever_torch_drew_before(kind, persons):
    train, test = persons
    small = train.take(np.isin(train.labels, np.unique(train.labels)[:8]))
    torch.manual_seed(5)
    one = kind(k=8, steps=5).fit(small, small.labels)
    before = torch.random.get_rng_state()
    two = kind(k=8, steps=5).fit(small, small.labels)
    assert torch.equal(before, torch.random.get_rng_state())
    for a, b in zip(one.networks_, two.networks_, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
    np.testing.assert_array_equal(one.predict(test), two.predict(test))
    other = kind(k=8, steps=5, random_state=1).fit(small, small.labels)
    assert any(
        not torch.equal(x, y)
        for x, y in zip(one.networks_[0].state_dict().values(), other.networks_[0].state_dict().values(), strict=True)
    )


@every
def test_fit_predict_clusters_new_rows_and_keeps_them(kind, persons, models):
    _, test = persons
    model = models[kind]
    labels = model.fit_predict(test)
    np.testing.assert_array_equal(labels, model.predict(torch.from_numpy(np.array(test.features))))
    assert model.labels_ is labels and model.n_clusters_ == labels.max() + 1
    assert np.all(np.diff(np.bincount(labels)) <= 0)
    assert model.summary().rows == len(test) and model.summary().tightness > 0
    limited = clone(model).set_params(max_size=4)
    for name in ("networks_", "odds_", "settings_", "k_", "n_features_in_", "score_"):
        setattr(limited, name, getattr(model, name))
    assert np.bincount(limited.predict(test)).max() <= 4
    for few in (1, 2, 5):  # fewer rows than neighbours
        assert model.predict(test.features[:few]).shape == (few,)


@every
def test_mistakes_are_named_in_one_sentence(kind, persons, models):
    train, test = persons
    with pytest.raises(kf.InputError, match="learns from labelled identities"):
        kind().fit(train)
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        kind().fit_predict(test)
    with pytest.raises(NotFittedError):
        kind().save("nowhere")
    with pytest.raises(kf.InputError, match="2 or more identities with two rows, not 1"):
        kind().fit(np.eye(5), [0, 0, 1, 2, 3])
    with pytest.raises(kf.InputError, match="2 or more identities with two rows, not 0"):
        kind().fit(np.eye(2), [-1, -1])
    with pytest.raises(kf.InputError, match="has 3 dimensions, the fit had 32"):
        models[kind].predict(np.eye(3))
    with pytest.raises(kf.InputError, match='k must be a whole number from 1 on, or "auto", not 0'):
        kind(k=0).fit(train, train.labels)
    with pytest.raises(kf.InputError, match="steps must be"):
        kind(steps=0.5).fit(train, train.labels)
    with pytest.raises(kf.InputError, match="give it features, not a graph"):
        models[kind].predict(kf.knn_graph(test, 5))


@pytest.mark.parametrize("kind", [AdaNets])
def test_tables_keep_their_columns(kind, persons, tmp_path):
    train, _ = persons
    titles = [f"f{number}" for number in range(train.dim)]
    table = pd.DataFrame(train.features, columns=titles)
    model = kind(steps=1).fit(table, train.labels)
    assert model.feature_names_in_.tolist() == titles
    np.testing.assert_array_equal(model.predict(table), model.fit_predict(table))
    model.save(tmp_path / "model")
    for one in (model, kind.load(tmp_path / "model")):
        with pytest.raises(kf.InputError, match="same order as they were in fit"):
            one.predict(table[titles[::-1]])


@every
def test_rows_of_unknown_identity_are_left_out(kind, persons):
    train, test = persons
    small = train.take(np.isin(train.labels, np.unique(train.labels)[:8]))
    known = kind(k=8, steps=3).fit(small, small.labels)
    X = np.concatenate([small.features, test.features[:30]])
    more = kind(k=8, steps=3).fit(X, np.concatenate([small.labels, np.full(30, -1)]))
    np.testing.assert_array_equal(known.predict(test), more.predict(test))


@every
def test_settings_are_stored_as_given(kind):
    assert list(inspect.signature(kind).parameters) == [
        "k",
        "steps",
        "max_size",
        "random_state",
        "show_progress",
        "verbose",
    ]
    assert clone(kind(k=7, steps=9)).get_params() == kind(k=7, steps=9).get_params()


NOT_MEANT = {
    "check_fit1d": "the sentence about one-dimensional features is our own",
    "check_clustering": "asks for clusters of the rows that were learned from, without labels",
    "check_estimators_pickle": "is not promised: models are saved without pickle",
    "check_methods_subset_invariance": "rows are clustered together: a part of them is another set",
    "check_requires_y_none": "the sentence about missing labels is our own",
    "check_fit2d_1sample": "one row is too few identities, which is said in our own sentence",
}


@pytest.mark.slow
def test_the_checks_of_scikit_learn(own_sentences):
    results = check_estimator(
        StarFC(steps=1), expected_failed_checks=NOT_MEANT | own_sentences, on_fail=None, on_skip=None
    )
    failed = [(r["check_name"], str(r["exception"])[:200]) for r in results if r["status"] == "failed"]
    assert failed == []


def test_a_calibration_finds_the_probability_of_kin():
    rng = np.random.default_rng(0)
    scores = rng.uniform(-2, 2, (400, 50)).astype(np.float32)
    kin = rng.random(scores.shape) < 1 / (1 + np.exp(-(3 * scores - 1)))
    a, b = calibrate(scores, kin, seed=0)
    assert a == pytest.approx(3, abs=0.15) and b == pytest.approx(-1, abs=0.15)
    assert probability(np.array([0.0]), (a, b))[0] == pytest.approx(1 / (1 + np.exp(-b)), abs=1e-6)
    assert calibrate(scores, np.ones_like(kin), seed=0) == (1.0, 0.0)


def test_blocks_of_scores_are_those_of_all_rows_at_once(monkeypatch):
    monkeypatch.setattr("kinfolk.cluster.learned._base.BLOCK_ENTRIES", 40)
    indices = np.arange(60).reshape(20, 3).astype(np.int32)
    asked = []

    def score(rows):
        asked.append(len(rows))
        return indices[rows] * 2.0

    np.testing.assert_array_equal(score_blocks(indices, 2, score), indices * 2.0)
    assert len(asked) == 4


def test_scored_edges_are_sorted_with_their_scores():
    rng = np.random.default_rng(0)
    indices, scores = rng.integers(0, 9, (9, 5)), rng.random((9, 5)).astype(np.float32)
    g = with_scores(indices, scores)
    for i in range(9):
        order = sorted(range(5), key=lambda a: -scores[i, a])
        assert g.indices[i].tolist() == [indices[i, a] for a in order]
        assert g.similarities[i].tolist() == [scores[i, a] for a in order]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("k",), 10**9, "k must be less than or equal to"),
        (("k",), "x", "k must be a valid integer, not 'x'"),
        (("n_features",), 1 << 20, "the weights do not fit"),
        (("odds",), [[1.0, 0.0]] * 1000, "odds List should have at most 2 items"),
        (("odds",), [[1.0], [1.0]], "odds.0 List should have at least 2 items"),
        (("score",), 7.5, "score must be less than or equal to 1, not 7.5"),
        (("settings",), {}, "settings: .* is missing"),
        (("settings",), {"cmd": 1}, "settings: .* is (missing|not known)"),
        (("parameters", "steps"), 0, "parameters.steps must be greater than or equal to 1, not 0"),
        (("parameters", "random_state"), -1, "parameters.random_state must be greater than or equal to 0, not -1"),
        (("parameters", "more"), 1, "parameters.more is not known"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_a_folder_has_a_range(kind, models, tmp_path, place, value, message):
    models[kind].save(tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    whole = json.loads(file.read_text())
    inner = whole["config"]
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    file.write_text(json.dumps(whole))
    with pytest.raises(kf.InputError, match=message) as caught:
        kind.load(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)
    assert "\n" not in str(caught.value)
