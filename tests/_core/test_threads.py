"""Work dealt to the cores: in order, side by side, and with every thread count as it was."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from kinfolk._core import threads
from kinfolk._core.threads import deal, thread_count


def settings() -> tuple[int, list[int]]:
    return torch.get_num_threads(), [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads_each():
    """Give torch and BLAS two threads, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, user_api="blas"):
        yield settings()
    torch.set_num_threads(before)


def test_the_number_of_threads_is_that_of_the_environment_but_not_more_than_there_are_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = thread_count()
    for asked, expected in (("1", 1), ("1,2", 1), ("100000", cores), ("0", cores), ("many", cores), ("", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert thread_count() == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_parts(monkeypatch, workers):
    monkeypatch.setattr(threads, "thread_count", lambda: workers)
    assert deal(lambda part: part * part, range(50)) == [part * part for part in range(50)]
    assert deal(lambda part: part, []) == []


def test_the_parts_are_worked_on_side_by_side(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 3)
    all_three = threading.Barrier(3, timeout=30)
    deal(lambda _: all_three.wait(), range(3))  # a worker alone would wait in vain


def test_a_worker_has_one_thread_and_afterwards_all_is_as_before(two_threads_each):
    def look(part: int) -> tuple[int, list[int]]:
        _ = torch.ones(64, 64) @ torch.ones(64, 64)
        _ = np.ones((64, 64)) @ np.ones((64, 64))
        return settings()

    assert two_threads_each[0] == 2
    inside = deal(look, range(8))
    assert all(count == 1 and set(blas) <= {1} for count, blas in inside)
    assert settings() == two_threads_each


def test_an_error_is_raised_and_afterwards_all_is_as_before(two_threads_each):
    def fail(part: int) -> None:
        if part == 5:
            raise ValueError("part 5")

    with pytest.raises(ValueError, match="part 5"):
        deal(fail, range(100))
    assert settings() == two_threads_each
    assert deal(abs, [-1]) == [1]  # the lock is free again


def test_callers_in_several_threads_leave_the_settings_as_they_were(two_threads_each):
    callers = [threading.Thread(target=deal, args=(lambda part: part, range(20))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert settings() == two_threads_each


def test_torch_is_not_needed(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    assert deal(abs, [-2]) == [2]
    assert "torch" not in sys.modules


def test_a_deal_inside_a_deal_gives_the_same_and_does_not_hang():
    assert deal(lambda a: deal(lambda b: 10 * a + b, range(3)), range(2)) == [[0, 1, 2], [10, 11, 12]]
