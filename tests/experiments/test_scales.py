"""Test sets that grow: nested parts, one training for all of them."""

from itertools import pairwise

from kinfolk.experiments import scales
from kinfolk.experiments.feature_methods import LABEL_FREE, FeatureCache, FeatureMethod
from kinfolk.experiments.feature_quality import Quality, measure_quality
from kinfolk.experiments.task_cells import TaskCell


def test_parts_are_nested(tiny):
    sizes = [set(tiny.grown(part).labels) for part in scales.TEST_PARTS]
    assert all(small <= large for small, large in pairwise(sizes)) and len(sizes[0]) == 2
    assert sizes[-1] == set(tiny.test.labels)


def test_all_parts_share_one_training(tiny, fits):
    quick = FeatureMethod("quick", dict(model="subgraph", attention="self", steps=1, k=5))
    cache = FeatureCache()
    for part in scales.TEST_PARTS:
        row = measure_quality(cache, TaskCell("tiny", quick, Quality(5, part)), tiny, "")
        assert row.chosen["rows"] == len(tiny.grown(part))
    assert [len(X) for X, _ in fits] == [len(tiny.train)]
    fits.clear()
    for part in (1, 9):
        cache.test(LABEL_FREE, tiny, 0, part)
    # without labels the enhancer is fitted to the rows it enhances
    assert [len(X) for X, _ in fits] == [len(tiny.grown(1)), len(tiny.test)]


def test_the_last_column_is_the_loss_from_part_1_to_part_9(made_up):
    study = scales.STUDIES["table6"]
    (table,) = study.tables(made_up(study, seeds=[0]))
    row = next(row for row in table.rows if row[0] == "GCN w/ band")
    assert table.head[6] == "1 to 9"
    assert abs(float(row[6]) - (float(row[5]) - float(row[1]))) < 0.11
