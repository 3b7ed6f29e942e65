"""The tests behind a pair."""

import numpy as np
import pytest

import kinfolk as kf


def test_an_explanation_adds_up():
    g = kf.knn_graph(np.random.default_rng(1).standard_normal((30, 3)), 5)
    for i, j in [(0, int(g.indices[0, 0])), (3, 17), (8, int(g.indices[8, 4])), (2, 2)]:
        pair = kf.explain(g, i, j)
        assert sum(v.adds for v in pair.vouchers) == pytest.approx(pair.sim_m, abs=1e-5)
        assert pair.sim_m == pytest.approx(float(kf.sim_m(g, pairs=[[i, j]])[0]))
        own, other = {i, *g.indices[i].tolist()}, {j, *g.indices[j].tolist()}
        assert {v.candidate for v in pair.vouchers} == own & other
        assert {f.candidate for f in pair.failed} == own ^ other
        assert f"rows {i} and {j}" in str(pair)
    assert kf.explain(g, 0, int(g.indices[0, 0])).cosine == pytest.approx(float(g.similarities[0, 0]))
    with pytest.raises(kf.InputError, match="row 30 is not in the graph"):
        kf.explain(g, 0, 30)


def test_an_explanation_prints_the_largest_tests_and_counts_the_rest():
    g = kf.knn_graph(kf.datasets.celeb_like(12), 40)
    pair = kf.explain(g, 0, int(g.indices[0, 0]))
    lines = str(pair).splitlines()
    assert len(pair.vouchers) > 5 and len(pair.failed) > 5 and len(lines) == 13
    assert lines[1].startswith(f"  {pair.vouchers[0].candidate}: ")
    assert f"and {len(pair.vouchers) - 5} more vouch" in lines[6]
    assert f"and {len(pair.failed) - 5} more are known to one" in lines[12]
