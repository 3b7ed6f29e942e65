"""Ctrl-C and SIGTERM at chance moments of every command that writes.

The exit code is 130 or 143, unless the command had ended; the output is the old one, the new one, or absent if it was;
nothing is left but work that the same command takes up again.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tools.trials.world import COMMANDS, VARIANTS, World, command, harm, new_world, visible, written

OLD, NEW = VARIANTS
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(count: int, seed: int) -> dict[str, int]:
    """Signal `count` commands, and count what went wrong."""
    chance, counts = random.Random(seed), Counter(ran=0, too_late=0, lost=0, wrong=0, left_over=0)
    with new_world() as world:
        for number in range(count):
            output = list(COMMANDS)[number % len(COMMANDS)]
            counts.update(_trial(world, output, SIGNALS[number // len(COMMANDS) % 2], chance))
    return dict(counts)


def _trial(world: World, output: str, number: int, chance: random.Random) -> Counter[str]:
    place, counts, replaces = world.place(), Counter(ran=1), chance.random() < 0.5
    old = world.peaceful(output, OLD).tree if replaces else {}
    new = world.peaceful(output, NEW).tree
    if replaces:
        subprocess.run(command(output, OLD), cwd=place, capture_output=True, check=True)
    how, code, errors = _signalled(world, place, output, number, replaces, chance)
    found = written(place)
    about = f"{output} {signal.Signals(number).name} {how} {'replacing' if replaces else 'new'}, exit code {code}"
    ended = code in (0, -number) and visible(found) == new  # -number: Python itself was ending
    counts["too_late"] = ended
    if not ended and (code != 128 + number or len(errors.splitlines()) != 1):
        counts["wrong"] += 1
        print(f"{about}: {errors}", file=sys.stderr)
    if visible(found) not in (old, new):
        counts["lost" if replaces else "wrong"] += 1
        print(f"{about}: neither old nor new but {sorted(visible(found))}", file=sys.stderr)
    return counts + harm(world, place, about, resumes=True)


def _signalled(
    world: World, place: Path, output: str, number: int, force: bool, chance: random.Random
) -> tuple[str, int, str]:
    """Run the command and signal it at a step, or some time after it has begun to work; return its code and errors."""
    peaceful = world.peaceful(output, NEW)
    step = chance.randint(1, peaceful.steps + 2 * force) if chance.random() < 0.8 else 0
    line = command(output, NEW, force, step or peaceful.steps * 9, number)
    process = subprocess.Popen(line, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not step:
        work = place / f".{output}.kinfolk"
        while process.poll() is None and not work.exists():
            pass  # the command has begun when its work folder is there
        try:
            process.wait(chance.uniform(0.0, 0.5) * peaceful.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    errors = process.communicate()[1]
    return f"at step {step}" if step else "after a time", process.returncode, errors
