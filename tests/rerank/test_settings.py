"""Settings that are given, of the literature, or chosen from the data."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._settings import neighbors_and_k, rank_lists
from rerank import dense


def test_given_settings_win_over_the_preset_and_the_data():
    query, gallery = dense.generated(5, 100)
    r = kf.rerank.k_reciprocal(query, gallery, k1=7, preset="paper")
    assert r.settings == dict(k1=7, k2=6, lambda_value=0.3)
    r = kf.rerank.k_reciprocal(query, gallery, k2=2, class_k=10)
    assert r.settings == dict(k1=14, k2=2, lambda_value=0.3)


def test_without_settings_they_follow_the_k_that_fits_the_classes():
    query, gallery = dense.generated(20, 300, n_classes=16, noise=0.2)
    k = neighbors_and_k(Pool(query, gallery))[1]
    assert kf.rerank.k_reciprocal(query, gallery).settings["k1"] == max(2, round(1.4 * k))
    assert kf.rerank.local_blurring(query, gallery).settings == dict(n=3 * k, temperature=0.1)
    assert kf.rerank.query_expansion(query, gallery).settings["k"] == max(1, round(k / 4))


def test_settings_that_do_not_change_with_k_need_no_search(monkeypatch):
    monkeypatch.setattr(Pool, "neighbors", None)
    query, gallery = dense.generated(5, 100)
    assert kf.rerank.query_expansion(query, gallery, k=3).settings == dict(k=3, alpha=3.0)
    assert kf.rerank.local_blurring(query, gallery, class_k=4).settings == dict(n=12, temperature=0.1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(k1=0), "k1 must be a whole number from 1 on, not 0"),
        (dict(k1=2.5), "k1 must be a whole number from 1 on, not 2.5"),
        (dict(lambda_value=-1), "lambda_value must be a number from 0 on, not -1"),
        (dict(lambda_value="1"), "lambda_value must be a number from 0 on, not '1'"),
        (dict(preset="book"), "preset must be 'paper' or None"),
    ],
)
def test_a_wrong_setting_gets_one_sentence(arguments, sentence):
    query, gallery = dense.generated(3, 20)
    with pytest.raises(kf.InputError, match=sentence):
        kf.rerank.k_reciprocal(query, gallery, **dict(class_k=5) | arguments)


@pytest.mark.parametrize(
    ("method", "given", "sentence"),
    [
        ("kr", dict(k1=24), "k1=24 rows are too many: there are 23"),
        ("kr", dict(k2=24), "k2=24 rows are too many: there are 23"),
        ("ecn", dict(k=24), "k=24 rows are too many: there are 23"),
        ("ecn", dict(t=23), "t=23 rows are too many: there are 22"),
        ("ecn", dict(q=23), "q=23 rows are too many: there are 22"),
        ("qe", dict(k=21), "k=21 rows are too many: there are 20"),
        ("lbr", dict(n=21), "n=21 rows are too many: there are 20"),
    ],
)
def test_a_given_setting_that_asks_for_more_rows_than_there_are_is_refused(method, given, sentence):
    query, gallery = dense.generated(3, 20)
    rank = kf.rerank.METHODS[method]
    with pytest.raises(kf.InputError, match=sentence):
        rank(query, gallery, preset="paper", **given)
    ((name, value),) = given.items()
    assert len(rank(query, gallery, preset="paper", **{name: value - 1})) == 3
    assert len(rank(query, gallery, preset="paper")) == 3  # settings of the literature take what there is


@pytest.mark.parametrize("length", [1, 2, 7, 50])
def test_rank_lists_begin_with_the_row_itself(length):
    query, gallery = dense.generated(4, 20)
    pool = Pool(query, gallery)
    expected = dense.rank_lists(dense.cosines(query, gallery))[:, :length]
    for known in (None, pool.neighbors(3), pool.neighbors(23)):
        found = rank_lists(pool, known, length)
        np.testing.assert_array_equal(found.indices, expected)
        assert found.indices.flags.c_contiguous and found.similarities.shape == found.indices.shape
