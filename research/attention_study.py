"""The attention study: all forms on real sets, over k, applied at another k, and the paper's Table 2 and Figure 3
on the generated sets.

Five sections, each a list of cells (`research.attention_cells`) and a Markdown table of what came out:

    variants  every form on the real sets (the paper's Tables 8 and 9 beside it)
    over-k    forms that need no labels, over k
    served    one encoder trained at k = 40, served at other k
    regimes   raw, GCN, self, band at the paper's own k on the generated regimes (Table 2), with both recipes
    noise     the same over k: the noise of the graph grows (Figure 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinfolk import datasets
from kinfolk.experiments.feature_methods import FeatureMethod, encoder
from kinfolk.experiments.markdown import NOT_YET, markdown, spread
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.resume import Data
from kinfolk.formats import load
from research.attention_cells import Cell, MeasuredCell

MeasuredCells = Sequence[tuple[Cell, MeasuredCell]]

REAL = ("clinc150", "banking77", "omniglot", "market1501")
SEEDS = (0, 1, 2)
OVER_K = (5, 10, 20, 40, 80, 120, 160)
SERVED_SETS, TRAINED_K, SERVED_K = ("market1501", "clinc150"), 40, (20, 40, 80)
PAPER_STEPS = 1000


class StudySet(NamedTuple):
    """A generated set: the paper's set that it replaces, identities, the paper's k, and k up to much noise."""

    paper_data: str
    identities: int
    k: int
    over_k: tuple[int, ...]


STUDY_SETS = {
    "celeb_like": StudySet("ms-celeb", 120, 120, (10, 20, 40, 80, 120, 160)),
    "person_like": StudySet("msmt17", 200, 30, (5, 10, 20, 30, 45, 60)),
    "vehicle_like": StudySet("veri-776", 120, 80, (10, 20, 40, 80, 120, 160)),
}


RAW = FeatureMethod("raw", None)
WHOLE_GRAPH = (
    FeatureMethod("training-free", dict(pretrained=False), labelled=False),
    FeatureMethod("label-free", {}, labelled=False),
    FeatureMethod("trained (default)", {}),
)
ENCODERS = (
    encoder("GCN", attention="none"),
    encoder("self", attention="self"),
    encoder("quartet", attention="quartet"),
    encoder("band", attention="band"),
    encoder("quartet_self", attention="quartet_self"),
    encoder("band_self", attention="band_self"),
    encoder("band, no W_qart", attention="band", quartet_weights=False),
    encoder("band, fusion add", attention="band", fusion="add"),
    encoder("band, fusion mul", attention="band", fusion="mul"),
    encoder("Transformer, self", attention="self", base="transformer"),
    encoder("Transformer, band", attention="band", base="transformer"),
)
# where the paper has the same form: its Table 8 or 9, MS-Celeb, three layers, k = 120
PAPER_ABLATIONS = {
    **{
        name: ("table8", "method", name, "learned") for name in ("self", "quartet", "band", "quartet_self", "band_self")
    },
    "band, no W_qart": ("table8", "method", "band", "identity"),
    "band, fusion add": ("table9", "fusion", "add", "ms-celeb"),
    "band, fusion mul": ("table9", "fusion", "mul", "ms-celeb"),
}
# "band" has the shipped network, "quartet" the tests at one k with nothing learned: untrained, the two forms of the
# whole-graph model would be the same otherwise
UNLABELLED_METHODS = (
    FeatureMethod("GCN", dict(model="propagate", attention="none"), labelled=False),
    FeatureMethod("self", dict(model="propagate", attention="self"), labelled=False),
    FeatureMethod("quartet", dict(model="propagate", attention="quartet", pretrained=False), labelled=False),
    FeatureMethod("band", dict(model="propagate", attention="band"), labelled=False),
)
ORDER = ("raw", "GCN", "self", "band")
PAPER_NAMES = {"raw": "original", "GCN": "GCN", "self": "GCN w/ self", "band": "GCN w/ band"}
RECIPES: dict[str, dict[str, Any]] = {
    "fast": {},
    "paper": dict(recipe="paper", steps=PAPER_STEPS, out_dim=2048),
}


@lru_cache(maxsize=16)
def study_data(name: str, seed: int, folder: str = "../shared/data") -> Data:
    """Return a generated regime of this seed, or a real set from the folder, in its two parts.

    >>> len(study_data("person_like", 0).test)
    2971
    """
    if name in STUDY_SETS:
        return Data.of(getattr(datasets, name)(STUDY_SETS[name].identities, seed=seed))
    return Data.of(load(Path(folder) / f"{name}.npz"))


# ---- cells


def variants(sets: Sequence[str] = REAL, seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """Return every form on the real sets; all encoders of a set have the same k.

    >>> len(variants(["omniglot"], [0, 1]))
    29
    """
    cells = [_cell(data, RAW) for data in sets]
    for seed in seeds:  # a run that is stopped early has all sets
        for data in sets:
            cells += [_cell(data, method, seed=seed) for method in WHOLE_GRAPH]
            cells += [_cell(data, method, k="kin", seed=seed) for method in ENCODERS]
    return cells


def over_k(sets: Sequence[str] = (*REAL, *STUDY_SETS), ks: Sequence[int] = OVER_K) -> list[Cell]:
    """Return the forms without labels over k, the noise of the graph (a cell of the raw features), and k="auto".

    >>> len(over_k(["omniglot"], [5, 10]))
    11
    """
    cells = []
    for data in sets:
        cells += [_cell(data, method, k=k) for k in ks for method in (RAW, *UNLABELLED_METHODS)]
        cells.append(_cell(data, WHOLE_GRAPH[1]))
    return cells


def served(sets: Sequence[str] = SERVED_SETS, seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """Return the band encoder trained at k = 40 and served at 20, 40 and 80, and those trained at 20 and 80.

    >>> [(cell.k, cell.served_k) for cell in served(["clinc150"], [0])]
    [(20, None), (80, None), (40, 20), (40, None), (40, 80)]
    """
    pairs: list[tuple[int, int | None]] = [(k, None) for k in SERVED_K if k != TRAINED_K]
    pairs += [(TRAINED_K, None if k == TRAINED_K else k) for k in SERVED_K]
    band = encoder("band", attention="band")
    return [_cell(data, band, k=k, seed=seed, served_k=at) for data in sets for seed in seeds for k, at in pairs]


def regimes(sets: Sequence[str] = tuple(STUDY_SETS), seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """Return raw, GCN, self and band at the paper's k, trained with the fast recipe; the paper's, slower, once.

    >>> len(regimes(["person_like"], [0])), len(regimes(["person_like"], [0, 1]))
    (7, 11)
    """
    fast = [cell for data in sets for seed in seeds for cell in _ordered(data, STUDY_SETS[data].k, seed, ["fast"])]
    paper = [cell for data in sets for cell in _ordered(data, STUDY_SETS[data].k, seeds[0], ["paper"])]
    return fast + [cell for cell in paper if cell not in fast]


def noise(sets: Sequence[str] = tuple(STUDY_SETS)) -> list[Cell]:
    """Return the cells of `regimes` at growing_set k: seed 0, the fast recipe.

    >>> sorted({cell.k for cell in noise(["person_like"])})
    [5, 10, 20, 30, 45, 60]
    """
    return [cell for data in sets for k in STUDY_SETS[data].over_k for cell in _ordered(data, k, 0, ["fast"])]


SECTIONS: dict[str, Callable[[], list[Cell]]] = {
    "variants": variants,
    "over-k": over_k,
    "served": served,
    "regimes": regimes,
    "noise": noise,
}


def recipe_method(name: str, recipe: str) -> str:
    """Return what a form trained with one of the recipes is called.

    >>> recipe_method("band", "paper"), recipe_method("raw", "paper")
    ('band (paper)', 'raw')
    """
    return name if name == RAW.name else f"{name} ({recipe})"


def _ordered(data: str, k: int, seed: int, recipes: Iterable[str]) -> list[Cell]:
    cells = [_cell(data, RAW, k=k, seed=seed)]
    for recipe in recipes:
        for form in ENCODERS:
            if form.name in ORDER:
                settings = {**(form.settings or {}), **RECIPES[recipe]}
                cells.append(_cell(data, FeatureMethod(recipe_method(form.name, recipe), settings), k=k, seed=seed))
    return cells


def _cell(data: str, method: FeatureMethod, **more: Any) -> Cell:
    return Cell(data, method.name, method.settings, method.labelled, **more)


# ---- tables


def variants_table(found: MeasuredCells) -> str:
    """Return the Markdown table: a row for each form, a column for each set, best of each column in bold.

    >>> variants_table([])
    '*Not measured yet.*'
    """
    sets = _names(cell.data for cell, _ in found)
    groups: dict[tuple[str, str], list[float]] = {}
    for cell, row in found:
        groups.setdefault((cell.method, cell.data), []).append(row.map)
    methods = [m.name for m in (RAW, *WHOLE_GRAPH, *ENCODERS) if any(m.name == cell.method for cell, _ in found)]
    best = {data: max(_mean(groups.get((m, data))) for m in methods) for data in sets}
    ks = {cell.data: row.k for cell, row in found if cell.k == "kin"}
    head = [f"{data}, k={ks[data]}" if data in ks else data for data in sets]
    rows = []
    for method in methods:
        values = [groups.get((method, data)) for data in sets]
        shown = [_bold(spread(v), _mean(v) >= best[data]) for v, data in zip(values, sets, strict=True)]
        rows.append([method, *shown, _paper_ablation(method)])
    return markdown(["", *head, "paper, MS-Celeb"], rows)


def over_k_table(found: MeasuredCells) -> str:
    """Return, for each set and form, the best mAP over k and at which k, and the default beside it."""
    rows = []
    for data in _names(cell.data for cell, _ in found):
        here = [(cell, row) for cell, row in found if cell.data == data]
        line = [data]
        for method in (RAW, *UNLABELLED_METHODS):
            scored = [(row.map, row.k) for cell, row in here if cell.method == method.name]
            score, k = max(scored) if scored else (np.nan, None)
            line.append("–" if not scored else f"{score:.1f}" if method is RAW else f"{score:.1f} ({k})")
        default = [(row.map, row.k) for cell, row in here if cell.k == "auto"]
        rows.append([*line, f"{default[0][0]:.1f} ({default[0][1]})" if default else "–"])
    names = [method.name for method in (RAW, *UNLABELLED_METHODS)]
    return markdown(["best over k (at k)", *names, 'band, k="auto"'], rows)


def served_table(found: MeasuredCells) -> str:
    """Return the mAP of the encoder trained at k = 40 and of those trained at the k they serve, and the difference."""
    rows = []
    for data in _names(cell.data for cell, _ in found):
        for k in SERVED_K:
            own = {cell.seed: row.map for cell, row in found if (cell.data, cell.k, cell.served_k) == (data, k, None)}
            moved = {
                c.seed: r.map for c, r in found if c.data == data and c.k == TRAINED_K and (c.served_k or c.k) == k
            }
            both = [moved[seed] - own[seed] for seed in own if seed in moved]
            rows.append(
                [data, str(k), spread(list(own.values())), spread(list(moved.values())), spread(both, sign=True)]
            )
    return markdown(["", "served at k", "trained at this k", f"trained at k = {TRAINED_K}", "difference"], rows)


def regimes_table(found: MeasuredCells) -> str:
    """Return Table 2 on the generated regimes: both recipes, the paper's numbers, and whether the order holds."""
    rows, sentences = [], []
    paper = {row["method"]: row for row in paper_table("table2")}
    for data in _names(cell.data for cell, _ in found):
        study_set = STUDY_SETS[data]
        rows.append(
            [
                f"{study_set.paper_data}, the paper",
                "",
                *[paper[PAPER_NAMES[name]][study_set.paper_data] for name in ORDER],
            ]
        )
        for recipe in RECIPES:
            scores = {name: _scores(found, data, recipe_method(name, recipe)) for name in ORDER}
            rows.append([f"{data}, k={study_set.k}", recipe, *[spread(values) for values in scores.values()]])
            if all(scores.values()):
                sentences.append(f"- {data}, recipe {recipe}: {order_sentence(scores)}")
    table = markdown(["", "recipe", *ORDER], rows)
    return "\n".join([table, "", *sentences]) if sentences else table


def noise_table(found: MeasuredCells) -> str:
    """Return Figure 3 in numbers: for each regime the mAP at every k, and the loss from best to last."""
    blocks = []
    for data in _names(cell.data for cell, _ in found):
        here = [(cell, row) for cell, row in found if cell.data == data]
        enr = {row.k: row.enr for _, row in here if row.enr is not None}
        rows = []
        for name in _names(cell.method for cell, _ in here):
            line = {row.k: row.map for cell, row in here if cell.method == name}
            values = [line[k] for k in enr if k in line]
            shown = [f"{line[k]:.1f}" if k in line else "–" for k in enr]
            loss = "" if name == RAW.name or len(values) < len(enr) else f"{values[-1] - max(values):+.1f}"
            rows.append([name, *shown, loss])
        heads = [f"k={k}, ENR {value:.2f}" for k, value in enr.items()]
        blocks.append(markdown([data, *heads, "best to last"], rows))
    return "\n\n".join(blocks) if blocks else NOT_YET


TABLES: dict[str, Callable[[MeasuredCells], str]] = {
    "variants": variants_table,
    "over-k": over_k_table,
    "served": served_table,
    "regimes": regimes_table,
    "noise": noise_table,
}


def order_sentence(scores: Mapping[str, Sequence[float]]) -> str:
    """Return the order of the methods by their means, the lowest first, and whether that is the paper's order.

    >>> order_sentence({"raw": [60.0], "GCN": [70.0], "self": [69.0], "band": [80.0]})
    "raw < self < GCN < band: not the paper's order"
    """
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    rising = sorted(means, key=means.__getitem__)
    return f"{' < '.join(rising)}: {'' if rising == list(scores) else 'not '}the paper's order"


def _scores(found: MeasuredCells, data: str, method: str) -> list[float]:
    return [row.map for cell, row in found if cell.data == data and cell.method == method]


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _mean(values: Sequence[float] | None) -> float:
    return float(np.mean(values)) if values else -np.inf


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes and text != "–" else text


def _paper_ablation(method: str) -> str:
    if method not in PAPER_ABLATIONS:
        return ""
    table, column, name, value = PAPER_ABLATIONS[method]
    return next(row[value] for row in paper_table(table) if row[column] == name)
