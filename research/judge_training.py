"""Train the judge that Kin ships with, on generated sets only.

    python -m research.judge_training FOLDER [FILE]     # 20 minutes on two cores; without FILE the shipped one changes

What is seen of the sets is kept in FOLDER, part by part: a run that was interrupted goes on where it was.

1. For each set of `research.uneven_sets` and `research.varied_sets`: all candidates of Kin,
   what is known of each, and its score by the truth.
2. Boosted trees learn how far a candidate is below the best of its set (`kinfolk.cluster._internal.judge`).
3. On further sets, what the judge picks: is each row of the class that most rows of its cluster are of? Do the two
   sides of each merge belong together? The first gives the probabilities of rows, the second how steep those of merges
   are.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from kinfolk._core.boosted_trees import BoostedTrees
from kinfolk._core.files import replacing
from kinfolk.cluster._internal import candidates as made
from kinfolk.cluster._internal.agglomerate import tree_through
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.judge import SHIPPED
from kinfolk.cluster._internal.membership import describe_rows, whole
from kinfolk.cluster._internal.survey import Survey, survey_of
from kinfolk.cluster._internal.tree import height_of_cut
from kinfolk.cluster._internal.views import strangers_of
from kinfolk.features import unit_rows
from research.uneven_sets import uneven_set
from research.varied_sets import thinned, varied

PARTS = {"uneven": 12, "varied": 12}  # of each kind of generated sets
MEMBER_PARTS = {"uneven": 2, "varied": 2}  # of further sets
SETS_OF_PART = 100
ROWS = (30, 3000)  # of an uneven set, as a guide
FEWEST, MOST = 12, 9000  # rows: fewer say nothing, more take long
MOST_VARIED = 4500
FURTHEST = 20.0  # points below the best: worse is as bad
NEARLY_BEST = 8.0  # points: cuts that kinship groups may start from
WEIGHT_OF_GROUPS = 10.0  # beside cuts: there is one clustering of the kinship graph to dozens of cuts
MODELS = 4  # whose mean is taken
BOOSTING = dict(
    max_iter=150, learning_rate=0.1, max_leaf_nodes=16, min_samples_leaf=60, l2_regularization=5.0, max_features=0.3
)
ROWS_OF_SET, MERGES_OF_SET = 200, 200


class Learned(NamedTuple):
    """A set: its number, its survey, and the truth of all rows (n,)."""

    seed: int
    survey: Survey
    truth: NDArray[np.int64]

    def points(self, candidates: list[made.Candidate]) -> list[float]:
        """Return the scores of candidates."""
        return [_points(self.truth, candidate.labels[self.survey.copy_of]) for candidate in candidates]

    def with_groups(self) -> tuple[list[made.Candidate], NDArray[np.float32], list[float]]:
        """Return all candidates, what is known of them, and their scores.

        The kinship groups start from any cut that is nearly the best: what the judge will pick is not known yet.
        """
        survey, scores = self.survey, self.points(self.survey.cuts)
        near = np.flatnonzero(np.array(scores) >= max(scores) - NEARLY_BEST)
        start = survey.cuts[int(np.random.default_rng(self.seed).choice(near))]
        groups = [survey.groups(start.labels, 0)]
        seen, _ = made.describe(groups, survey.cuts, survey.halves, survey.edges, survey.common)
        return [*survey.cuts, *groups], np.concatenate([survey.seen, seen]), scores + self.points(groups)


def generated(kind: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the set of this seed, features (n, d) and labels (n,)."""
    if kind == "varied":
        fs = thinned(varied(seed), seed, MOST_VARIED)
        return np.asarray(fs.features), np.asarray(fs.labels)
    n = int(np.exp(np.random.default_rng(seed).uniform(*np.log(ROWS))))
    _, features, labels = uneven_set(seed, n)
    return features, labels


def read_set(kind: str, seed: int) -> Learned | None:
    """Return the set of this seed as Kin sees it; None where it is too small, too large or all of one row."""
    found = generated(kind, seed)
    if not FEWEST <= len(found[0]) <= MOST:
        return None
    survey = survey_of(unit_rows(found[0]))
    if survey is None or len(survey.rows) < FEWEST:
        return None
    return Learned(seed, survey, np.unique(found[1], return_inverse=True)[1])


def judged_part(kind: str, part: int) -> dict[str, NDArray[Any]]:
    """Return inputs (c, 48), scores (c,) in points and the set (c,) of all candidates of a part's sets."""
    inputs, scores, sets = [], [], []
    for seed in range(part * SETS_OF_PART, (part + 1) * SETS_OF_PART):
        learned = read_set(kind, seed)
        if learned is None:
            continue
        candidates, seen, points = learned.with_groups()
        inputs.append(seen)
        scores.append(points)
        sets.append(np.full(len(candidates), seed))
    return dict(inputs=np.concatenate(inputs), scores=np.concatenate(scores), sets=np.concatenate(sets))


def member_part(kind: str, part: int, judge: BoostedTrees) -> dict[str, NDArray[Any]]:
    """Return inputs (m, 28) and truth (m,) of rows, and heights and truth (e,) of merges, of what the judge picks."""
    rows, right, heights, belong = [], [], [], []
    for seed in range(part * SETS_OF_PART, (part + 1) * SETS_OF_PART):
        learned = read_set(kind, seed)
        if learned is None:
            continue
        survey, spaces = learned.survey, learned.survey.spaces
        chosen, below_best = survey.choose(judge, 0)
        truth = learned.truth[survey.rows]
        main = _main_class(chosen.labels, truth)
        raw = whole(survey.unit, spaces.graph.indices, survey.near)
        enhanced = whole(spaces.best, spaces.neighbors[made.ENHANCED], spaces.similarities)
        pick = np.random.default_rng(seed).permutation(len(truth))[:ROWS_OF_SET]
        rows.append(describe_rows(raw, enhanced, survey.halves, chosen.labels, below_best)[0][pick])
        right.append((main[chosen.labels] == truth)[pick])
        height, same = _merges(survey, chosen, truth)
        pick = np.random.default_rng(seed).permutation(len(height))[:MERGES_OF_SET]
        heights.append(height[pick])
        belong.append(same[pick])
    names = ("rows", "right", "heights", "belong")
    return dict(zip(names, (np.concatenate(values) for values in (rows, right, heights, belong)), strict=True))


def train_judge(inputs: NDArray[np.float32], scores: NDArray[np.float64], sets: NDArray[np.int64]) -> BoostedTrees:
    """Return trees that say how far a candidate is below the best of its set, from -1, far, to 0."""
    starts = np.flatnonzero(np.diff(sets, prepend=-1))  # the candidates of a set stand together
    best = np.repeat(np.maximum.reduceat(scores, starts), np.diff(starts, append=len(sets)))
    below = np.maximum(scores - best, -FURTHEST) / FURTHEST
    weight = np.where(inputs[:, made.FIRST_SOURCE + made.KINSHIP] > 0, WEIGHT_OF_GROUPS, 1.0)
    models = [HistGradientBoostingRegressor(**BOOSTING, random_state=seed) for seed in range(MODELS)]
    return BoostedTrees.of([model.fit(inputs, below, sample_weight=weight) for model in models])


def train_members(rows: NDArray[np.float32], right: NDArray[np.bool_]) -> BoostedTrees:
    """Return trees that give the log odds of rows: few and small, so that they stay calibrated elsewhere."""
    settings = BOOSTING | dict(max_iter=80, max_leaf_nodes=8, min_samples_leaf=400)
    return BoostedTrees.of([HistGradientBoostingClassifier(**settings, random_state=0).fit(rows, right)])


def steepness(heights: NDArray[np.float64], belong: NDArray[np.bool_]) -> float:
    """Return the slope of the log odds that the sides of a merge belong together, by its height beyond the cut."""
    return float(LogisticRegression(C=1e6).fit(heights[:, None], belong).coef_[0, 0])


def _points(truth: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    from kinfolk.metrics import bcubed, pairwise

    return 50 * (pairwise(truth, labels).f + bcubed(truth, labels).f)


def _main_class(labels: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class that most rows of each cluster are of."""
    cells, counts = np.unique(labels * (truth.max() + 1) + truth, return_counts=True)
    order = np.argsort(counts, kind="stable")
    main = np.empty(labels.max() + 1, dtype=np.int64)
    main[(cells // (truth.max() + 1))[order]] = (cells % (truth.max() + 1))[order]
    return main


def _merges(
    survey: Survey, chosen: made.Candidate, truth: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Return the height of each merge beyond the cut, in units, and whether the rows it names are of one class."""
    source = made.ENHANCED if chosen.source == made.KINSHIP else chosen.source
    X = survey.spaces.features[source]
    inside, between = tree_through(X, survey.spaces.neighbors[source], chosen.labels)
    both = Merges(*(np.concatenate(parts) for parts in zip(inside, between, strict=True)))
    height = (both.similarity - height_of_cut(inside, between)) / strangers_of(X).spread
    return height, np.equal(truth[both.left], truth[both.right])


def _kept(folder: Path, name: str, make: Any, *arguments: Any) -> Path:
    file = folder / f"{name}.npz"
    if not file.exists():
        with replacing(file, force=False) as temporary, temporary.open("wb") as stream:
            np.savez(stream, **make(*arguments))
        print(file, flush=True)
    return file


def _joined(files: list[Path]) -> dict[str, NDArray[Any]]:
    parts = [np.load(file) for file in files]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}


def main() -> None:
    """Make what is missing in the folder, train, and write the judge."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else SHIPPED
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # one set a core
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts = [(kind, part) for kind, count in PARTS.items() for part in range(count)]
        jobs = [pool.submit(_kept, folder, f"judged-{kind}-{part}", judged_part, kind, part) for kind, part in parts]
        judge = train_judge(**_joined([job.result() for job in jobs]))
        parts = [(kind, PARTS[kind] + part) for kind, count in MEMBER_PARTS.items() for part in range(count)]
        jobs = [
            pool.submit(_kept, folder, f"members-{kind}-{part}", member_part, kind, part, judge) for kind, part in parts
        ]
        known = _joined([job.result() for job in jobs])
    tensors = {f"clusterings.{name}": values for name, values in judge.tensors.items()}
    tensors |= {
        f"members.{name}": values for name, values in train_members(known["rows"], known["right"]).tensors.items()
    }
    slope = steepness(known["heights"], known["belong"])
    with replacing(file, force=True) as temporary:
        save_file(tensors | {"steepness": np.array([slope], dtype=np.float32)}, temporary)
    print(f"{file}: {file.stat().st_size / 1e6:.2f} MB, steepness {slope:.2f}")


if __name__ == "__main__":
    main()
