"""Spans of rows on all cores, and arrays of one type."""

import os
import shutil
import subprocess
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


RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import own_kernel
print(own_kernel.plus_one(41))
print(sum(own_kernel.plus_one.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A folder with a module that has a kernel."""
    folder = tmp_path / "package"
    folder.mkdir()
    lines = ["from kinfolk._core.kernels import kernel", "@kernel()", "def plus_one(value):", "    return value + 1"]
    (folder / "own_kernel.py").write_text("\n".join(lines))
    return folder


def run_kernel(package, *prefix, **environment):
    """Run the kernel in a new process; return its result and how often its code was found on disk."""
    without = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [*prefix, sys.executable, "-c", RUN, str(package)]
    done = subprocess.run(command, env=without | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_damaged_code_on_disk_is_compiled_again_and_kept(package, tmp_path):
    place = dict(NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert run_kernel(package, **place) == ["42", "0"]
    assert run_kernel(package, **place) == ["42", "1"]
    for file in (*(tmp_path / "kept").rglob("*.nbi"), *(tmp_path / "kept").rglob("*.nbc")):
        os.truncate(file, 5)
    assert run_kernel(package, **place) == ["42", "0"]
    assert run_kernel(package, **place) == ["42", "1"]


def test_read_only_folders_of_the_package_and_of_the_user(package, tmp_path):
    without_rights = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
    if os.geteuid() != 0:
        without_rights = []
    elif shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and there is no setpriv to give up that right")
    (tmp_path / "home").mkdir()
    for folder in (package, tmp_path / "home"):
        folder.chmod(0o555)
    assert run_kernel(package, *without_rights, HOME=str(tmp_path / "home")) == ["42", "0"]
    assert [file.name for file in package.iterdir()] == ["own_kernel.py"]
    assert list((tmp_path / "home").iterdir()) == []


def test_a_full_disk_for_code_is_no_failure():
    class Full:
        def load_overload(self, *_):
            return None

        def save_overload(self, *_):
            raise OSError(28, "No space left on device")

    cache = kernels._KeptCode(Full())
    assert cache.load_overload(None, None) is None
    cache.save_overload(None, None)


def compilation_of(module: str) -> SimpleNamespace:
    function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return SimpleNamespace(data={"dispatcher": function})


def test_a_pause_for_compiling_is_a_stage(caplog):
    compiling, ours, other = (
        kernels._Compiling(),
        compilation_of("kinfolk.metrics.retrieval"),
        compilation_of("some.module"),
    )
    with caplog.at_level("INFO", "kinfolk"):
        compiling.on_start(other)
        assert caplog.messages == []
        compiling.on_end(other)
        for _ in range(2):  # a kernel, and one that it calls
            compiling.on_start(ours)
        assert caplog.messages == ["compiling, once"]
        for _ in range(2):
            compiling.on_end(ours)
    assert caplog.messages[1].startswith("compiling, once: 0.") and len(caplog.messages) == 2


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
