"""One test against many on one set: every number against counting edges."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.experiments.edge_study import edge_noise_over_k, edge_study, paper_edge_noise
from kinfolk.experiments.paper import paper_table


@pytest.fixture(scope="module")
def persons():
    return kf.datasets.person_like(16, dim=16)


@pytest.fixture(scope="module")
def study(persons):
    return edge_study("persons", "generated", persons, [5, 12], k=12)


def test_noise_and_auc_equal_counting_pairs_of_edges(persons, study):
    labels = persons.labels
    for row in study.over_k:
        g = kf.knn_graph(persons, row.k)
        same = np.array([[labels[i] == labels[j] for j in g.indices[i]] for i in range(len(g))])
        assert row.enr == pytest.approx(1 - same.mean())
        for auc, scores in ((row.auc_s, kf.sim_s(g)), (row.auc_m, kf.sim_m(g))):
            true, noisy = scores[same], scores[~same]
            wins = (true[:, None] > noisy).mean() + 0.5 * (true[:, None] == noisy).mean()
            assert auc == pytest.approx(100 * wins, abs=1e-3)


def test_noise_let_through_is_the_share_above_the_cut_that_keeps_95_percent(study):
    for scored in (study.one_test, study.many_tests):
        cut = np.quantile(scored.scores[study.same_class], 0.05)
        assert scored.noise_let_through == pytest.approx((scored.scores[~study.same_class] >= cut).mean(), abs=0.01)
        assert f"{scored.noise_let_through:.1%}" in study.sentence


def test_one_graph_serves_all_k(persons):
    graph = kf.knn_graph(persons, 12)
    assert edge_noise_over_k(persons, [5, 12], graph) == edge_noise_over_k(persons, [5, 12])


def test_the_papers_rows_are_those_of_its_tables():
    rows = [row for name in ("table1", "table5") for row in paper_table(name)]
    found = [row for data in ("ms-celeb", "msmt17", "veri-776") for row in paper_edge_noise(data)]
    assert [f"{row.auc_m:.2f}" for row in found] == [row["auc_m"] for row in rows]


def test_a_set_without_labels_is_refused():
    toy = kf.FeatureSet(np.eye(5))
    with pytest.raises(InputError, match="toy has no labels"):
        edge_study("toy", "", toy, [2], k=2)
    with pytest.raises(InputError, match="needs labels"):
        edge_noise_over_k(toy, [2])
