"""Run a trial: python -m tools.trials kills --count 60 --seed 0.

A trial is a module of this folder with run(count, seed), which returns counts by name: "ran", any others, and those
that must be 0 (MUST_BE_ZERO). They are printed as one line of JSON; the exit code is 1 unless they
are 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

TRIALS = ("kills", "writers", "signals", "corrupted", "calls")
MUST_BE_ZERO = ("lost", "wrong", "left_over", "foreign", "crashed", "late", "memory")


def main() -> None:
    """Run one trial and print its counts."""
    parser = argparse.ArgumentParser(prog="python -m tools.trials", description=__doc__)
    parser.add_argument("trial", choices=TRIALS)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    counts = import_module(f"tools.trials.{asked.trial}").run(asked.count, asked.seed)
    print(json.dumps(dict(trial=asked.trial, seed=asked.seed, **counts)))
    sys.exit(any(counts.get(name, 0) for name in MUST_BE_ZERO))


if __name__ == "__main__":
    main()
