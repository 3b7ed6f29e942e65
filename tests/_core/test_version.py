import re
import tomllib
from pathlib import Path

import kinfolk as kf
from kinfolk._core.version import __version__


def test_the_version_is_stated_once():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in pyproject["project"]
    assert pyproject["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "kinfolk._core.version.__version__"}
    assert kf.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", __version__)
