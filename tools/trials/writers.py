"""Two processes write one output at once, with and without --force.

The result is one of the two whole outputs and nothing else. Without --force exactly one of the two succeeds; the other
says in one sentence why not.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter

from tools.trials.world import COMMANDS, VARIANTS, World, command, new_world, unharmed, written


def run(count: int, seed: int) -> dict[str, int]:
    """Run `count` pairs, and count what went wrong."""
    chance, counts = random.Random(seed), Counter(ran=0, refused=0, lost=0, wrong=0, left_over=0)
    with new_world() as world:
        for number in range(count):
            output = list(COMMANDS)[number % len(COMMANDS)]
            counts.update(_trial(world, output, force=chance.random() < 0.5, delay=chance.choice((0, 0, 0.05, 0.3))))
    return dict(counts)


def _trial(world: World, output: str, force: bool, delay: float) -> Counter[str]:
    place, counts = world.place(), Counter(ran=1)
    processes = []
    for variant in VARIANTS:
        line = command(output, variant, force)
        processes.append(
            subprocess.Popen(line, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        )
        time.sleep(delay)
    errors = [process.communicate()[1] for process in processes]
    codes = [process.returncode for process in processes]
    found = written(place)
    succeeded = [variant for variant, code in zip(VARIANTS, codes, strict=True) if code == 0]
    expected = [world.peaceful(output, variant).tree for variant in succeeded]
    counts["refused"] = codes.count(2)
    about = f"{output} {'with' if force else 'without'} --force, {codes}"
    if set(codes) - {0, 2} or 0 not in codes or (not force and codes.count(0) != 1):
        counts["wrong"] += 1
        print(f"{about}: {errors}", file=sys.stderr)
    elif found not in expected:
        counts["left_over" if any(name.startswith(".") for name in found) else "wrong"] += 1
        print(f"{about}: neither whole output but {sorted(found)}", file=sys.stderr)
    if not unharmed(place, world):
        counts["lost"] += 1
        print(f"{about}: an input or a file of the user's has changed", file=sys.stderr)
    return counts
