"""What the tests of clusterers share."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "reference.py")))
