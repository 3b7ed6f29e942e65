"""Figure 8: every share against loops over the nodes, and the shown probe against the rule it is chosen by."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.enhance import attention_maps
from kinfolk.experiments.case_study import (
    ALONE,
    EQUAL,
    SHOWN_ATTENTIONS,
    StrangerShares,
    case_study,
    choose_probe,
    fitting_k,
    node_names,
    to_strangers,
    verdict_of_less,
)
from kinfolk.experiments.feature_methods import encoder, fitted
from kinfolk.experiments.results import ExperimentResult, read_result
from kinfolk.experiments.resume import Data
from kinfolk.metrics import Difference


@pytest.fixture(scope="module")
def data():
    return Data.of(kf.datasets.person_like(16, dim=16))


@pytest.fixture(scope="module")
def found(data):
    return case_study({"persons": data}, quick=True, echo=lambda text: None)


# ---- the shown sub-graph


def test_a_case_is_a_subgraph_of_the_trained_encoder(data, found):
    (case,) = found.cases
    k = len(case.nodes) - 1
    band = fitted(encoder("band", attention="band", k=k), data.train, data, seed=0)
    probe = choose_probe(data.test.labels, band.subgraphs(data.test)[1])
    maps = attention_maps(band, data.test, [probe])
    assert list(case.weights) == list(SHOWN_ATTENTIONS)
    for form in SHOWN_ATTENTIONS:
        np.testing.assert_allclose(case.weights[form], maps.weights[form][0], atol=1e-5)
        np.testing.assert_allclose(np.sum(case.weights[form], axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(case.similarities, maps.cosines[0], atol=1e-5)
    assert case.similarities[0][1:] == tuple(sorted(case.similarities[0][1:], reverse=True))
    labels = data.test.labels[maps.nodes[0]]
    assert len(set(zip(case.labels, labels, strict=True))) == len(set(case.labels)) == len(set(labels))
    assert f"k = {k}, {len(set(labels))} classes" in case.text


def test_the_probe_is_chosen_by_the_rule():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 6, 90)
    neighbors = np.stack([rng.permutation(np.delete(np.arange(90), i))[:9] for i in range(90)])

    def noise(i):
        return np.mean([labels[j] != labels[i] for j in neighbors[i]])

    def several(i):
        counts = Counter(labels[j] for j in [i, *neighbors[i]] if labels[j] >= 0)
        return sum(count > 1 for count in counts.values())

    allowed = [i for i in range(90) if labels[i] >= 0 and several(i) >= 3]
    chosen = choose_probe(labels, neighbors, seed=5)
    assert chosen in allowed
    assert abs(noise(chosen) - 0.4) == pytest.approx(min(abs(noise(i) - 0.4) for i in allowed))
    equals = [i for i in allowed if abs(noise(i) - 0.4) == pytest.approx(abs(noise(chosen) - 0.4))]
    drawn = np.random.default_rng(5).permutation(90)
    assert chosen == min(equals, key=lambda i: drawn[i])


def test_where_no_subgraph_has_three_classes_the_noise_alone_decides():
    labels = np.repeat([0, 1], 10)
    neighbors = np.array([[j for j in range(20) if j != i][:5] for i in range(20)])
    neighbors[3] = [0, 1, 2, 18, 19]
    assert choose_probe(labels, neighbors) == 3


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=30))
def test_names_tell_classes_apart_in_the_order_they_appear(labels):
    names, classes = node_names(labels)
    assert classes[0] == 0
    for i, name in enumerate(names):
        assert name == f"C{classes[i]}_node{i}"
        assert classes[i] <= max(classes[:i], default=-1) + 1
        for j in range(i):
            assert (classes[i] == classes[j]) == (labels[i] == labels[j] >= 0)


def test_k_grows_while_the_training_part_is_quiet(data):
    for most in (10, 20, 40, 119):
        ks = [k for k in (10, 20, 40, 80, 119) if k <= most]
        quiet = [k for k in ks if kf.metrics.edge_noise_rate(kf.knn_graph(data.train, k), data.train.labels) <= 0.4]
        assert fitting_k(data, most) == max(quiet, default=10)


def test_too_few_rows_are_refused(data):
    few = Data(data.train.take(slice(0, 8)), data.test)
    with pytest.raises(InputError, match="more than 10 rows"):
        fitting_k(few, most=40)


# ---- many sub-graphs


def strangers_by_loops(weights, labels):
    result = np.zeros(labels.shape)
    for b, i in np.ndindex(labels.shape):
        others = [j for j in range(labels.shape[1]) if j != i]
        total = sum(weights[b, i, j] for j in others)
        wasted = sum(weights[b, i, j] for j in others if labels[b, i] < 0 or labels[b, j] != labels[b, i])
        result[b, i] = wasted / total if total else 0
    return result


shapes = st.tuples(st.integers(1, 4), st.integers(1, 6))


@given(shapes.flatmap(lambda s: st.tuples(
    hnp.arrays(np.float32, (*s, s[1]), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    hnp.arrays(np.int64, s, elements=st.integers(-1, 2)),
)))  # fmt: skip
@settings(deadline=None)
def test_attention_to_strangers_equals_loops_over_pairs(drawn):
    weights, labels = drawn
    np.testing.assert_allclose(to_strangers(weights, labels), strangers_by_loops(weights, labels), atol=1e-12)


def test_equal_weights_give_the_edge_noise_to_the_probe(data):
    g = kf.knn_graph(data.test, 6)
    nodes = np.column_stack([np.arange(len(g)), g.indices])
    shares = to_strangers(np.ones((len(g), 7, 7)), data.test.labels[nodes])[:, 0]
    np.testing.assert_allclose(shares, kf.metrics.edge_noise_rate(g, data.test.labels, per_node=True), atol=1e-6)


def test_an_identity_that_counts_twice_is_one_that_is_there_twice():
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(0, 3, (12, 4)), rng.random((12, 4, 4))
    labels[:3, 0] = [0, 1, 2]
    once = StrangerShares.of(labels, {"self": weights}).scores("self").at(np.array([2.0, 1.0, 0.0]))
    rows = [i for i in range(12) for _ in range({0: 2, 1: 1, 2: 0}[labels[i, 0]])]
    twice = StrangerShares.of(labels[rows], {"self": weights[rows]})
    np.testing.assert_allclose(once, [twice.of_probe("self").mean(), twice.of_all("self").mean()])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.09, -0.01, "holds"),
        (-0.09, -0.004, "undecided"),
        (-0.004, -0.001, "does not hold"),  # real, but too small to be seen
        (-0.02, 0.03, "undecided"),
        (0.01, 0.03, "does not hold"),
    ],
)
def test_less_means_visibly_less(low, high, verdict):
    assert verdict_of_less(Difference("share", 0.1, 0.2, (low + high) / 2, low, high, 0.95)) == verdict


# ---- the result


def test_the_table_holds_means_over_probes(data, found):
    (table,) = found.tables
    assert [row[0] for row in table.rows] == [EQUAL, *SHOWN_ATTENTIONS, ALONE]
    k = len(found.cases[0].nodes) - 1
    band = fitted(encoder("band", attention="band", k=k), data.train, data, seed=0)
    probes = np.sort(np.random.default_rng(0).permutation(len(data.test))[:200])
    maps = attention_maps(band, data.test, probes)
    labels = data.test.labels[maps.nodes]
    for row in table.rows[1:4]:
        shares = strangers_by_loops(maps.weights[row[0]], labels)
        assert float(row[1].strip("*")) == pytest.approx(100 * shares[:, 0].mean(), abs=0.06)
        assert float(row[2].strip("*")) == pytest.approx(100 * shares.mean(), abs=0.06)
        assert float(row[3]) == pytest.approx(100 * maps.weights[row[0]][:, 0, 0].mean(), abs=0.06)
    noise = np.mean(labels[:, 1:] != labels[:, :1])
    assert float(table.rows[0][1]) == pytest.approx(100 * noise, abs=0.06)
    for column in (1, 2):
        marked = [float(row[column].strip("*")) for row in table.rows if "*" in row[column]]
        assert marked and max(marked) <= min(float(row[column].strip("*")) for row in table.rows[1:4])


def test_claims_say_what_was_compared(found):
    assert [claim.data for claim in found.claims] == ["persons"] * 3
    assert all("quartet" in claim.figures and "interval" in claim.figures for claim in found.claims)


def test_the_result_is_the_same_again_and_survives_the_disk(data, found, tmp_path):
    again = case_study({"persons": data}, quick=True, echo=lambda text: None)
    assert again.model_copy(update=dict(seconds=found.seconds)) == found
    assert read_result(found.save(tmp_path)) == found
    assert (
        isinstance(found, ExperimentResult)
        and found.quick
        and [chart.name for chart in found.charts] == ["figure8-curves"]
    )


def test_too_few_identities_to_learn_from_show_the_form_before_training():
    fs = kf.datasets.person_like(8, dim=16)
    found = case_study({"few": Data.of(fs)}, quick=True, echo=lambda text: None)
    assert found.charts == () and "as it started" in found.cases[0].text
