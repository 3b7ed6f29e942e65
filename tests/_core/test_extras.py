from __future__ import annotations

import json
import sys

import pytest

from kinfolk._core.errors import MissingExtraError
from kinfolk._core.extras import require


def test_an_installed_package_is_returned():
    assert require("json", extra="any") is json


@pytest.mark.parametrize("package", ["no_such_package", "no_such_package.inside"])
def test_a_missing_package_is_named_with_its_extra(package):
    with pytest.raises(MissingExtraError, match=r'optional package no_such_package: pip install "kinfolk\[train\]"'):
        require(package, extra="train")


def test_a_package_that_is_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('a library does not load')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OSError, match="does not load"):
        require("broken_package", extra="train")
    assert "broken_package" not in sys.modules
