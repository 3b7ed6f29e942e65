"""kill -9 at chance moments of every command that writes.

Afterwards the output is the old one, the new one, or absent if it was; nothing of the user's has changed; the same
command run again succeeds, gives the bits of an undisturbed run, and leaves nothing else.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tools.trials.world import COMMANDS, VARIANTS, World, command, harm, new_world, visible, written

OLD, NEW = VARIANTS


def run(count: int, seed: int) -> dict[str, int]:
    """Kill `count` commands, and count what went wrong."""
    chance, counts = random.Random(seed), Counter(ran=0, killed=0, lost=0, wrong=0, left_over=0)
    with new_world() as world:
        for number in range(count):
            output = list(COMMANDS)[number % len(COMMANDS)]
            counts.update(_trial(world, output, replaces=chance.random() < 0.5, chance=chance))
    return dict(counts)


def _trial(world: World, output: str, replaces: bool, chance: random.Random) -> Counter[str]:
    place, counts = world.place(), Counter(ran=1)
    old = world.peaceful(output, OLD).tree if replaces else {}
    new = world.peaceful(output, NEW).tree
    if replaces:
        subprocess.run(command(output, OLD), cwd=place, capture_output=True, check=True)
    how = _killed(world, place, output, replaces, chance)
    counts["killed"] = how != "too late"
    after = visible(written(place))
    about = f"{output} {how} {'replacing' if replaces else 'new'}"
    if after not in (old, new):
        counts["lost" if replaces else "wrong"] += 1
        print(f"{about}: neither old nor new but {sorted(after)}", file=sys.stderr)
    again = subprocess.run(command(output, NEW, force=replaces), cwd=place, capture_output=True, text=True, check=False)
    is_there = again.returncode == 2 and after == new and not replaces
    if (again.returncode and not is_there) or visible(written(place)) != new:
        counts["wrong"] += 1
        print(f"{about}: run again: {again.returncode}, {again.stderr}", file=sys.stderr)
    return counts + harm(world, place, about, resumes=False)


def _killed(world: World, place: Path, output: str, force: bool, chance: random.Random) -> str:
    """Run the command and kill it at a step, or after some time."""
    peaceful = world.peaceful(output, NEW)
    step = chance.randint(1, peaceful.steps + 2 * force) if chance.random() < 0.8 else 0
    process = subprocess.Popen(
        command(output, NEW, force, step), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(None if step else chance.uniform(0.3, 1.0) * peaceful.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    killed = process.returncode == -9
    return "too late" if not killed else f"at step {step}" if step else "after a time"
