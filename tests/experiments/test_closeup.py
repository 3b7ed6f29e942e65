"""A closer look: every number of the charts against the public names, or against counting one by one."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.enhance import KeptTrainingFreeWarning
from kinfolk.experiments.closeup import DIFFERENT, SAME, closeup, counted_between, doubling_edges, rows_to_map, sizes_of
from kinfolk.experiments.results import read_result
from kinfolk.experiments.resume import Data

pytestmark = pytest.mark.usefixtures("few_steps")


def quiet(text):
    return None


@pytest.fixture(scope="module")
def data():
    return Data.of(kf.datasets.person_like(20, dim=16))


@pytest.fixture(scope="module")
def found(data, few_steps):
    return closeup({"persons (generated)": data}, quick=True, echo=quiet)


@pytest.fixture(scope="module")
def trained(data, few_steps):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KeptTrainingFreeWarning)
        return kf.GraphEnhancer().fit(data.train, data.train.labels)


def chart(found, what):
    return next(chart for chart in found.charts if chart.name == f"look-{what}-persons-generated")


def test_the_table_equals_the_public_metrics(data, found, trained):
    (table,) = found.tables
    test = data.test
    enhancers = [None, kf.GraphEnhancer().fit(test), trained]
    for row, name, enhancer in zip(table.rows, ("raw", "label-free", "trained"), enhancers, strict=False):
        clusters = kf.cluster.Kin(enhancer=enhancer).fit_predict(test)
        features = test.features if enhancer is None else enhancer.transform(test)
        scores = (
            kf.metrics.mean_average_precision(features, test.labels),
            kf.metrics.pairwise(test.labels, clusters).f,
            kf.metrics.bcubed(test.labels, clusters).f,
        )
        kept = " (label-free form kept)" if name == "trained" and not trained.trained_ else ""
        assert row[0] == f"{name}{kept} + Kin"
        assert [float(cell.strip("*")) for cell in row[1:4]] == pytest.approx([100 * s for s in scores], abs=0.051)
        sizes = [np.count_nonzero(clusters == c) for c in set(clusters)]
        assert row[4:] == (str(len(sizes)), str(sizes.count(1)))
    assert table.rows[3][4] == str(len(set(test.labels))) and table.rules == (3,)
    for column in (1, 2, 3):
        values = [float(row[column].strip("*")) for row in table.rows[:3]]
        assert all(value == max(values) for value, row in zip(values, table.rows, strict=False) if "*" in row[column])


def test_similarities_are_counted_pair_by_pair(data, found):
    test = data.test
    g = kf.knn_graph(test, 40)
    raw, label_free, _ = chart(found, "similarities").panels
    for panel in (raw, label_free):
        assert sum(map(sum, panel.counts.values())) == g.indices.size
        assert panel.edges[0] < panel.edges[-1] and panel.edges[0] <= panel.mark <= panel.edges[-1] + 1
    same = [test.labels[i] == test.labels[j] for i in range(len(g)) for j in g.indices[i]]
    assert sum(raw.counts[SAME]) == sum(same)
    low, high = raw.edges[30:32]
    inside = (g.similarities >= low) & (g.similarities < high)
    strangers = test.labels[g.indices] != test.labels[:, None]
    assert raw.counts[DIFFERENT][30] == pytest.approx(np.count_nonzero(inside & strangers), abs=1)
    assert raw.mark == pytest.approx(kf.cluster.GCut().fit(test).threshold_, abs=1e-5)
    enhanced = kf.GraphEnhancer().fit_transform(test)
    assert label_free.mark == pytest.approx(kf.cluster.GCut().fit(enhanced).threshold_, abs=1e-4)


def test_sizes_stand_beside_those_of_the_classes(data, found):
    for panel, row in zip(chart(found, "sizes").panels, found.tables[0].rows, strict=False):
        assert sum(panel.counts["clusters"]) == int(row[4])
        assert panel.counts["clusters"][0] == int(row[5])
        assert sum(panel.counts["classes"]) == len(set(data.test.labels))
        assert panel.log_x


def test_the_map_shows_the_same_rows_in_every_version(data, found):
    panels = chart(found, "map").panels
    assert [panel.title.split(",")[0].split(" (")[0] for panel in panels] == ["raw", "label-free", "trained"]
    for panel in panels:
        assert len(panel.x) == len(panel.y) == len(panel.labels) <= 600
        assert panel.labels == panels[0].labels and len(set(panel.labels)) == min(10, len(set(data.test.labels)))
    shown = [np.count_nonzero(data.test.labels == label) for label in set(panels[0].labels)]
    assert len(panels[0].x) == sum(shown)


def test_the_curves_are_those_of_the_training_log(found, trained):
    (panel,) = chart(found, "curves").panels
    log = trained.log_
    assert [line.label for line in panel.lines] == list(dict.fromkeys(row["stage"] for row in log))
    first = [row["loss"] for row in log if row["stage"] == panel.lines[0].label][:10]
    assert panel.lines[0].y[0] == pytest.approx(np.mean(first))


def test_too_few_identities_to_learn_from_leave_the_curves_out():
    found = closeup({"few": Data.of(kf.datasets.person_like(8, dim=16))}, quick=True, echo=quiet)
    assert [c.name for c in found.charts] == ["look-similarities-few", "look-sizes-few", "look-map-few"]
    assert found.tables[0].rows[2][0] == "trained (label-free form kept) + Kin"


def test_the_result_survives_the_disk(found, tmp_path):
    assert read_result(found.save(tmp_path)) == found


@given(st.integers(1, 5000))
def test_edges_part_sizes_where_they_double(largest):
    edges = doubling_edges(largest)
    assert edges[-2] < largest < edges[-1]
    for size in range(1, min(largest, 100) + 1):
        (place,) = np.flatnonzero((edges[:-1] < size) & (size < edges[1:]))
        assert place == int(size - 1).bit_length()


@given(st.lists(st.integers(1, 40), max_size=30))
def test_every_value_is_counted_once(sizes):
    edges = doubling_edges(40)
    counts = counted_between(edges, np.array(sizes, dtype=np.int64))
    by_hand = [sum(low < s < high for s in sizes) for low, high in itertools.pairwise(edges)]
    assert list(counts) == by_hand and sum(counts) == len(sizes)


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=40))
def test_sizes_leave_out_the_unknown(labels):
    expected = sorted(labels.count(label) for label in set(labels) - {-1})
    assert sorted(sizes_of(np.array(labels)).tolist()) == expected


def test_many_rows_are_drawn_for_the_map_with_the_seed():
    labels = np.arange(3).repeat(700)
    rows = rows_to_map(labels, np.array([0, 2]), seed=4)
    assert len(rows) == 600 == len(set(rows)) and set(labels[rows]) == {0, 2}
    assert (np.diff(rows) > 0).all() and (rows == rows_to_map(labels, np.array([0, 2]), seed=4)).all()
    assert (rows != rows_to_map(labels, np.array([0, 2]), seed=5)).any()
