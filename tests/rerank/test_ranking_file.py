"""Rankings on disk: read as they were written, and only with the rows they are of."""

from dataclasses import replace

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.rerank.ranking_file import read_ranking, write_ranking


@pytest.fixture(scope="module")
def sides():
    fs = kf.datasets.person_like(10, seed=0).part("test")
    fs = replace(fs, names=np.array([f"{row:03}.jpg" for row in range(len(fs))]))
    return fs.take(fs.query), fs.take(~fs.query)


@pytest.mark.parametrize("top", [7, None])
@pytest.mark.parametrize("names", ["different", "same", "odd", None])
@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_it_is_read_as_it_was_written(tmp_path, sides, suffix, names, top):
    if names is None:
        sides = [replace(fs, names=None) for fs in sides]
    elif names == "same":
        sides = [replace(fs, names=np.full(len(fs), "a.jpg")) for fs in sides]
    elif names == "odd":  # csv.writer leaves a lone carriage return bare
        sides = [replace(fs, names=np.array([f"{name}\r2" for name in fs.names])) for fs in sides]
    ranking = kf.rerank.cosine(*sides, top=top)
    write_ranking(tmp_path / f"r{suffix}", ranking, *sides)
    np.testing.assert_array_equal(read_ranking(tmp_path / f"r{suffix}", *sides), ranking.indices)


def test_safe_cells_are_read_back(tmp_path, sides):
    sides = [replace(fs, names=np.array([f"={name}" for name in fs.names])) for fs in sides]
    ranking = kf.rerank.cosine(*sides, top=3)
    write_ranking(tmp_path / "r.csv", ranking, *sides, safe_cells=True)
    assert (tmp_path / "r.csv").read_text().splitlines()[1].startswith("'=")
    np.testing.assert_array_equal(read_ranking(tmp_path / "r.csv", *sides), ranking.indices)


def test_names_in_another_order_are_found(tmp_path, sides):
    query, gallery = sides
    ranking = kf.rerank.cosine(query, gallery, top=9)
    write_ranking(tmp_path / "r.csv", ranking, query, gallery)
    back = np.arange(len(gallery))[::-1]
    found = read_ranking(tmp_path / "r.csv", query, gallery.take(back))
    np.testing.assert_array_equal(back[found], ranking.indices)


@pytest.mark.parametrize("column", ["names", "labels", "cameras"])
def test_an_array_file_of_other_rows_is_refused(tmp_path, sides, column):
    query, gallery = sides
    write_ranking(tmp_path / "r.npz", kf.rerank.cosine(query, gallery, top=5), query, gallery)
    better = replace(gallery, features=gallery.features + 0.1)
    assert read_ranking(tmp_path / "r.npz", query, better).shape == (len(query), 5)  # other features of the same rows
    assert read_ranking(tmp_path / "r.npz", query, replace(gallery, **{column: None})).shape == (len(query), 5)
    other = replace(gallery, **{column: getattr(gallery, column)[::-1]})
    with pytest.raises(kf.InputError, match=f"r.npz: a ranking of another set: its {column} of the gallery are others"):
        read_ranking(tmp_path / "r.npz", query, other)
    fewer = gallery.take(slice(1, None))
    with pytest.raises(kf.InputError, match="was it made from another set or --part"):
        read_ranking(tmp_path / "r.npz", query, fewer)
    with pytest.raises(kf.InputError, match="was it made from another set or --part"):
        read_ranking(tmp_path / "r.npz", query.take(slice(1, None)), gallery)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "the columns query,rank,gallery,distance,of were expected, not a,b"),
        ("", "is empty"),
        ("query,rank,gallery,distance,of\na,1,x,0,3\n", "line 2: a ranking of 3 gallery rows, but the set has 2"),
        ("query,rank,gallery,distance\nb,1,x,0\n", "line 2: query 'b' is not in the set"),
        ("query,rank,gallery,distance\na,1,z,0\n", "line 2: gallery 'z' is not in the set"),
        ("query,rank,gallery,distance\na,2,x,0\n", "line 2: the rank 1 was expected, not '2'"),
        ("query,rank,gallery,distance\na,1\n", "line 2 has 2 columns, 4 were expected"),
        ("query,rank,gallery,distance\n", "no list for the query 'a'"),
        ("query,rank,gallery,distance\na,1,x,0\na,2,y,0\na,3,x,0\n", "line 4: more ranks than the 2 rows"),
    ],
)
def test_a_table_that_is_no_ranking_of_the_set_is_refused(tmp_path, text, sentence):
    (tmp_path / "r.csv").write_text(text)
    query, gallery = kf.FeatureSet(np.eye(2)[:1], names=["a"]), kf.FeatureSet(np.eye(2), names=["x", "y"])
    with pytest.raises(kf.InputError, match=r"r\.csv") as error:
        read_ranking(tmp_path / "r.csv", query, gallery)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (dict(other=np.zeros(2)), "a ranking has the array indices, this file has other"),
        (dict(indices=np.zeros((1, 2))), "row numbers, not"),
        (dict(indices=np.array([[0, 9]])), "other rows than the 2 of this gallery"),
        (dict(indices=np.array([[0, -7]])), "other rows than the 2 of this gallery"),
        (dict(indices=np.array([[0, 1, 0]])), "other rows than the 2 of this gallery"),
        (dict(indices=np.array([[0, 2**64 - 1]], dtype=np.uint64)), "other rows than the 2 of this gallery"),
        (dict(indices=np.array([[0, 1]], dtype=object)), "object array"),
        (dict(indices=np.array([[0, 1]]), n_gallery=np.array([3, 4])), "was it made from another set"),
    ],
)
def test_arrays_that_are_no_ranking_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "r.npz", **arrays)
    with pytest.raises(kf.InputError, match=sentence):
        read_ranking(tmp_path / "r.npz", kf.FeatureSet(np.eye(2)[:1]), kf.FeatureSet(np.eye(2)))
    with pytest.raises(kf.InputError, match=r"a ranking is a .npz or .csv file"):
        read_ranking(tmp_path / "r.txt", kf.FeatureSet(np.eye(2)[:1]), kf.FeatureSet(np.eye(2)))
