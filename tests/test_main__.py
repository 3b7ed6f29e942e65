"""python -m kinfolk is the program."""

import subprocess
import sys

import kinfolk as kf


def test_the_module_runs_as_the_program():
    done = subprocess.run([sys.executable, "-m", "kinfolk", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"kinfolk {kf.__version__}\n"


def test_its_help_names_the_program():
    done = subprocess.run([sys.executable, "-m", "kinfolk", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: python -m kinfolk" in done.stdout
