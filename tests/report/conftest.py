"""What the tests of the report share."""

import pytest

from kinfolk.report.page import write_page
from kinfolk.report.run import run_page
from synthetic_run import synthetic_run


@pytest.fixture(scope="session")
def run():
    """Results of every kind, with numbers nobody measured."""
    return synthetic_run()


@pytest.fixture(scope="session")
def page(run):
    """What the page of that run shows."""
    return run_page(run)


@pytest.fixture(scope="session")
def report(page, tmp_path_factory):
    """The page of that run, as a file."""
    return write_page(page, tmp_path_factory.mktemp("run") / "report.html")


@pytest.fixture(scope="session")
def html(report):
    """The text of that file."""
    return report.read_text()
