from __future__ import annotations

import importlib
import sys

import pytest

from kinfolk._core.errors import MissingExtraError


@pytest.fixture
def import_anew(monkeypatch):
    monkeypatch.delitem(sys.modules, "kinfolk._core.needs_torch", raising=False)
    return lambda: importlib.import_module("kinfolk._core.needs_torch")


def test_with_torch(import_anew):
    pytest.importorskip("torch")
    assert import_anew().__name__ == "kinfolk._core.needs_torch"


def test_without_torch(import_anew, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'torch: pip install "kinfolk\[train\]"'):
        import_anew()
