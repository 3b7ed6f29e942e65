"""Chinese Whispers against dictionaries and loops."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import ChineseWhispers


@pytest.mark.parametrize("seed", range(3))
def test_chinese_whispers_is_the_naive_one(seed, reference):
    g = kf.knn_graph(reference.rows(50, 4, seed), 6)
    orders = np.random.default_rng(7)
    orders = [orders.permutation(50) for _ in range(4)]
    expected = reference.whisper(g.symmetric().toarray().astype(np.float64), np.float32(0.4), orders)
    found = ChineseWhispers(6, 0.4, iterations=4, random_state=7).fit_predict(g)
    assert reference.same_partition(found, expected)


def test_iterations_are_counted_from_one():
    with pytest.raises(kf.InputError, match="iterations must be a whole number from 1 on, not 0"):
        ChineseWhispers(iterations=0).fit(np.eye(4))
