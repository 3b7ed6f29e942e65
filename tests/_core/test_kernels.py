"""Spans of rows on all cores, and arrays of one type."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from kinfolk._core import kernels
from kinfolk._core.kernels import kernel, over_spans, read_only


def plus_one(values):
    return values + 1


def test_kernels_work_where_no_code_can_be_kept(monkeypatch):
    njit = numba.njit

    def nowhere_to_write(*arguments, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file")
        return njit(*arguments, **options)

    monkeypatch.setattr(numba, "njit", nowhere_to_write)
    np.testing.assert_array_equal(kernel()(plus_one)(np.arange(3)), [1, 2, 3])


def compilation_of(module: str) -> SimpleNamespace:
    function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return SimpleNamespace(data={"dispatcher": function})


def test_a_pause_for_compiling_is_named_once_and_only_on_a_terminal(monkeypatch, capsys):
    notice = kernels._Notice()
    notice.on_start(compilation_of("kinfolk.metrics.retrieval"))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    notice.on_start(compilation_of("somebody.else"))
    assert capsys.readouterr().err == ""
    for _ in range(2):
        notice.on_start(compilation_of("kinfolk.metrics.retrieval"))
    assert capsys.readouterr().err == "kinfolk: compiling, once\n"


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_spans_cover_every_row_once_in_order(monkeypatch, threads, n):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    spans = over_spans(lambda first, last: list(range(first, last)), n)
    assert [row for span in spans for row in span] == list(range(n))


def test_an_exception_of_a_span_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(ZeroDivisionError):
        over_spans(lambda first, last: 1 // first, 10)


@pytest.mark.parametrize(
    "values", [np.arange(6), np.arange(12, dtype=np.int32)[::2], np.arange(6, dtype=np.int32).reshape(2, 3).T]
)
def test_read_only_arrays_have_one_type(values):
    found = read_only(values)
    assert found.dtype == np.int32 and found.flags.c_contiguous and not found.flags.writeable
    np.testing.assert_array_equal(found, values)


def test_read_only_does_not_copy_without_need_nor_freeze_the_original():
    values = np.arange(6, dtype=np.int32)
    assert np.shares_memory(read_only(values), values)
    assert values.flags.writeable
