"""The OpenBLAS of faiss uses the processor that the one of numpy detected, and the environment stays as it was."""

import json
import os
import subprocess
import sys

import pytest

from kinfolk._core.faiss import KNOWN, VARIABLE

SAY = """
import json, os
import kinfolk._core.faiss
from threadpoolctl import threadpool_info
found = {i["filepath"]: i.get("architecture") for i in threadpool_info() if i["internal_api"] == "openblas"}
print(json.dumps([found, os.environ.get("OPENBLAS_CORETYPE")]))
"""


def loaded(**more):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | more
    done = subprocess.run([sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_both_libraries_use_the_same_processor():
    found, left = loaded()
    newer = [name for path, name in found.items() if "faiss" not in path]
    of_faiss = [name for path, name in found.items() if "faiss" in path]
    if not newer or not of_faiss or newer[0] not in KNOWN:
        pytest.skip("no two OpenBLAS here, or a processor without another name")
    assert of_faiss == [KNOWN[newer[0]]] and left is None


def test_the_setting_of_the_user_stays():
    found, left = loaded(**{VARIABLE: "Haswell"})
    assert left == "Haswell"
    assert all(name in ("Haswell", None) for path, name in found.items() if "faiss" in path)
