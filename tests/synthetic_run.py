"""A run that nobody measured, with plausible numbers and every kind of part: python tests/synthetic_run.py FOLDER."""

from __future__ import annotations

import sys

import numpy as np

from kinfolk.experiments.results import (
    CaseStudy,
    Chart,
    Claim,
    ExperimentResult,
    Histogram,
    Line,
    Lines,
    Map,
    Table,
)

FACES, PERSONS, REAL = "celeb_like (generated)", "person_like (generated)", "market1501"
MADE = "172 cells: 164 by commit 858b544, 8 by commit ca0955d."
VERSIONS = {"kinfolk": "0.1.0", "numpy": "2.4.6", "torch": "2.13.0"}
FORMS = {"GCN": 83.0, "self": 86.5, "quartet": 91.0, "band": 93.5}
KS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
SHARED = dict(seeds=3, versions=VERSIONS)
CLAIMS = (
    ("Sim-M tells edges better than Sim-S at k = 80.", "Table 1", "holds", "AUC 97.3 ± 0.1 against 94.8 ± 0.2"),
    ("The advantage of many tests grows with k.", "Section 4.1", "holds", "+0.4 at k = 20, +2.5 at k = 80"),
    ("B-Attention is above self-attention.", "Table 2", "holds", "mAP 93.5 ± 0.3 against 86.5 ± 0.4"),
    ("Q-Attention alone is above self-attention.", "Table 2", "undecided", "mAP 86.9 ± 0.9 against 86.5 ± 0.4"),
    ("A Transformer with band is above one without.", "Table 2", "does not hold", "mAP 84.9 ± 0.3 and 85.4 ± 0.2"),
    (
        "Infomap on band features beats all other clusterers on every set by far.",
        "Table 3",
        "undecided",
        "–",
    ),
)


def synthetic_run(seed: int = 0) -> list[ExperimentResult]:
    """Return results of every kind, not in the order of the paper."""
    rng = np.random.default_rng(seed)
    return [_clusters(rng), _curves(rng), _precision(rng), _over_k(rng), _closeup(rng), _own(rng)]


def case_study(rng: np.random.Generator, sizes: tuple[int, ...], data: str) -> CaseStudy:
    """Return a sub-graph whose forms of attention give strangers less and less weight."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    labels[1:] = rng.permutation(labels[1:])
    centers = rng.standard_normal((len(sizes), 32))
    X = centers[labels] + 1.9 * rng.standard_normal((len(labels), 32))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    ranks = np.concatenate([[0], 1 + np.argsort(-(X[1:] @ X[0]))])
    X, labels = X[ranks], labels[ranks]
    cosines = X @ X.T
    same = labels[:, None] == labels
    logits = {"self": 6 * cosines, "quartet": 7 * cosines + same, "band": 7 * cosines + 2.5 * same}
    weights = {}
    for name, values in logits.items():
        exponents = np.exp(values + rng.standard_normal(values.shape))
        weights[name] = (exponents / exponents.sum(axis=1, keepdims=True)).tolist()
    return CaseStudy(
        data=data,
        text=f"The {len(labels) - 1} nearest neighbours of one probe. Self-attention weighs look-alikes; "
        "many tests see that most of these are strangers.",
        nodes=["probe", *(f"item {rank}" for rank in range(1, len(labels)))],
        labels=labels.tolist(),
        similarities=cosines.tolist(),
        weights=weights,
    )


def _clusters(rng: np.random.Generator) -> ExperimentResult:
    names = ("K-Means", "HAC", "DBSCAN", "FINCH", "Clusformer", "Ada-NETS", "original + G-cut", "GCN w/ self + G-cut")
    names += ("GCN w/ band + G-cut", "original + Infomap", "GCN w/ band + Infomap", "band (kinfolk) + Kin")
    head = ("", "F_P", "F_B", "s", "MS-Celeb part 1 F_P, the paper", "F_B, the paper")
    scores = np.sort(rng.uniform(61, 96, (len(names), 2)), axis=0)
    rows = []
    for place, (name, (fp, fb)) in enumerate(zip(names, scores, strict=True)):
        ours = [
            f"{fp:.1f} ± {rng.uniform(0.2, 9):.1f}",
            f"{fb:.1f} ± {rng.uniform(0.2, 4):.1f}",
            f"{rng.uniform(0, 9):.1f}",
        ]
        if place == len(names) - 1:
            ours[:2] = [f"**{text}**" for text in ours[:2]]
        paper = ("", "") if place in (3, 11) else (f"{fp - 1:.2f}", f"{fb - 2:.2f}")
        rows.append((name, *(["–"] * 3 if place == 5 else ours), *paper))
    tables = [Table(data=data, head=head, rows=rows, rules=(6, 9), made=MADE) for data in (FACES, REAL)]
    return ExperimentResult(
        name="table3",
        title="Table 3: clusters of faces",
        about="Pairwise and BCubed F × 100 of the test part, mean ± standard deviation over seeds.",
        tables=tables,
        claims=[*_claims(FACES, 5, 6), *_claims(REAL, 5, 6)],
        cells=172,
        seconds=8040,
        **SHARED,
    )


def _precision(rng: np.random.Generator) -> ExperimentResult:
    head = ("", FACES, PERSONS, "paper, MS-Celeb")
    rows = [
        (name, f"{value:.1f} ± 0.3", f"{value - rng.uniform(2, 9):.1f} ± 0.4", f"{value + 1:.2f}")
        for name, value in FORMS.items()
    ]
    rows[-1] = tuple(f"**{text}**" if place in (1, 2) else text for place, text in enumerate(rows[-1]))
    return ExperimentResult(
        name="table2",
        title="Table 2: mean average precision",
        about="How early each item finds the others of its class, × 100.",
        tables=[Table(data=PERSONS, head=head, rows=rows, made=MADE)],
        claims=[*_claims(FACES, 0, 5), *_claims(PERSONS, 0, 5)],
        cells=48,
        seconds=372.5,
        **SHARED,
    )


def _curves(rng: np.random.Generator) -> ExperimentResult:
    fpr = np.concatenate([[0.0], np.logspace(-4, 0, 80)])
    panels = []
    for data, power in ((FACES, 0.10), (PERSONS, 0.2), (REAL, 0.3)):
        lines = [
            Line(label=name, x=fpr.tolist(), y=(fpr**p).tolist())
            for name, p in (("Sim-S", power), ("Sim-M", power / 3))
        ]
        panels.append(
            Lines(
                title=data,
                xlabel="false positive rate",
                ylabel="true positive rate",
                lines=lines,
                zoom=(0, 0.1, 0.7, 1),
            )
        )
    edges = np.linspace(-1, 1, 61)
    counts = {
        name: np.histogram(rng.normal(mean, width, 4000), edges)[0].tolist()
        for name, mean, width in (("same class", 0.5, 0.15), ("different classes", 0.1, 0.13))
    }
    shared = dict(xlabel="score of an edge", edges=edges.tolist(), counts=counts)
    histograms = [
        Histogram(title="Sim-S", mark=0.31, mark_label="threshold", **shared),
        Histogram(title="Sim-M", mark=-0.4, mark_label="threshold", log_y=True, **shared),
    ]
    return ExperimentResult(
        name="figure3",
        title="Figure 3: one test and many",
        about="Can an edge between two classes be told from a true one?",
        charts=[
            Chart(name="figure3", title="ROC of the edges", text="Higher and further left is better.", panels=panels),
            Chart(name="figure3-scores", title="Scores", text="The less they overlap, the better.", panels=histograms),
        ],
        cells=9,
        seconds=31,
        **SHARED,
    )


def _over_k(rng: np.random.Generator) -> ExperimentResult:
    panels = []
    for data in (FACES, PERSONS, REAL, "clinc150", "banking77"):
        lines = []
        for name, best in FORMS.items():
            y = best - np.log2(np.array(KS) / 40) ** 2 * rng.uniform(0.3, 1.5)
            lines.append(Line(label=name, x=KS, y=y.tolist(), spread=rng.uniform(0.1, 1.2, len(KS)).tolist()))
            if data == FACES and name in ("self", "band"):
                lines.append(Line(label=f"{name}, the paper", x=KS, y=(y - 1.5).tolist(), paper=True))
        panels.append(Lines(title=data, xlabel="neighbours k", ylabel="mAP × 100", lines=lines, log_x=True))
    chart = Chart(name="figure4", title="mAP over k", text="Band keeps what a larger k brings.", panels=panels)
    return ExperimentResult(
        name="figure4", title="Figure 4: over k", about="", charts=[chart], cells=90, seconds=900, **SHARED
    )


def _closeup(rng: np.random.Generator) -> ExperimentResult:
    maps = []
    for title, classes, each in (("raw", 6, 30), ("40 classes", 40, 20), ("many dots", 40, 60)):
        labels = np.repeat(np.arange(classes), each)
        points = rng.normal(0, 4, (classes, 2))[labels] + rng.normal(0, 0.5, (len(labels), 2))
        maps.append(Map(title=title, x=points[:, 0].tolist(), y=points[:, 1].tolist(), labels=labels.tolist()))
    return ExperimentResult(
        name="closeup",
        title="A look at the features",
        about="Neighbourhoods and features as pictures.",
        charts=[Chart(name="look-map", title="Features in the plane", text="", panels=maps)],
        cases=[
            case_study(rng, (15, 9, 6, 4, 3, 2, 1, 1), FACES),
            case_study(rng, (40, 25, 16, 10, 8, 6, 5, 4, 3, 2, 1, 1), PERSONS),
        ],
        seconds=2,
        **SHARED,
    )


def _own(rng: np.random.Generator) -> ExperimentResult:
    table = Table(data="<script>alert(1)</script> $x_1$", head=("k", "ENR"), rows=[("5", f"{rng.random():.3f}")])
    line = Line(label="$cost$ & <b>", x=(1.0, 2.0), y=(3.0, 4.0))
    panel = Lines(title="a_b $x", xlabel="100 %", ylabel="^", lines=(line,))
    chart = Chart(name="own <chart>", title='"quoted" <i>', text="", panels=(panel,))
    return ExperimentResult(
        name="own", title="An own study", about="", tables=[table], charts=[chart], seconds=0.4, **SHARED
    )


def _claims(data: str, start: int, end: int) -> list[Claim]:
    return [
        Claim(claim=claim, where=where, data=data, verdict=verdict, figures=figures)
        for claim, where, verdict, figures in CLAIMS[start:end]
    ]


if __name__ == "__main__":
    for result in synthetic_run():
        print(result.save(sys.argv[1]))
