"""Make the pictures of docs/enhance.md and of the README: python -m research.make_enhance_images (two minutes)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray
from PIL import Image

import kinfolk as kf
from kinfolk.experiments.enhance_study import enhance_study
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.edge_probabilities import probability_blocks
from kinfolk.kinship.edge_tests import TEST_SCALES, edge_tests
from kinfolk.neighbors import NeighborGraph
from kinfolk.report.enhance_study import before_and_after_figure
from kinfolk.report.figures import COLORS, PAPER
from kinfolk.report.learning_curves import learning_curves
from research._page import IMAGES

RIGHT, WRONG = COLORS[2], COLORS[1]
K_OF_THE_PROBE, K_OF_THE_SCALES = 16, 64
IDENTITIES = 48  # as in kinfolk demo
GAP = 1.0  # between the neighbours that are kept and the others
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    digits = kf.datasets.digits()
    save(one_probe(digits), "enhance_probe.png")
    save(tests_over_scales(digits), "enhance_scales.png")
    save(before_and_after_figure(enhance_study("digits", "", digits)), "enhance_digits.png")
    celeb = kf.datasets.celeb_like(IDENTITIES)
    train, test = celeb.part("train"), celeb.part("test")
    save(before_and_after_figure(enhance_study("celeb_like", "", test, train)), "enhance_celeb.png")
    encoder = kf.GraphEnhancer(layers=2).fit(train, train.labels)
    learning_curves(encoder.log_, IMAGES / "learning_curves.svg", force=True)


def save(figure: Figure, name: str) -> None:
    """Write a PNG of few colours: a third of the size, and nobody sees it."""
    figure.savefig(IMAGES / name, dpi=130, bbox_inches="tight")
    with Image.open(IMAGES / name) as image:
        image.convert("RGB").quantize(128).save(IMAGES / name, optimize=True)


def judged(fs: kf.FeatureSet, k: int) -> tuple[NeighborGraph, NDArray[np.float32], NDArray[np.bool_]]:
    """Return the graph of the centred features, and of its edges up to 2 k the kinship and whether they are right."""
    g = kf.knn_graph(fs.features - fs.features.mean(axis=0), k=2 * k)
    blocks = probability_blocks(KinshipNetwork.shipped(), g, [k])
    kinship = np.concatenate([np.exp(block.log_p[0]) for block in blocks])
    return g, kinship, fs.labels[g.indices] == fs.labels[:, None]


def one_probe(fs: kf.FeatureSet) -> Figure:
    """Draw the neighbours of the probe that many tests help most: by cosine, and by kinship."""
    g, kinship, right = judged(fs, K_OF_THE_PROBE)
    kept = (kinship > 0.5).sum(axis=1)
    by_kinship = np.argsort(-kinship, axis=1, kind="stable")
    by_cosine = np.broadcast_to(np.arange(g.k), by_kinship.shape)
    inside = np.arange(g.k) < kept[:, None]
    wrong = [~np.take_along_axis(right, order, 1) & inside for order in (by_cosine, by_kinship)]
    probe = int(np.argmax(wrong[0].sum(axis=1) - wrong[1].sum(axis=1)))
    figure = Figure(figsize=(10.4, 5.9), layout="constrained")
    titles = ("one test: the nearest by cosine", "many tests: the likeliest kin")
    for ax, title, order, errors in zip(figure.subplots(1, 2), titles, (by_cosine, by_kinship), wrong, strict=True):
        neighbors, correct = g.indices[probe, order[probe]], right[probe, order[probe]]
        sunflower(ax, fs.features[probe], fs.features[neighbors], correct, int(kept[probe]))
        share = errors.sum() / kept.sum()
        ax.set_title(
            f"{title}\n{errors[probe].sum()} of {kept[probe]} kept are wrong here, {share:.1%} over all probes"
        )
    handles = [
        Rectangle((0, 0), 1, 1, fill=False, edgecolor=c, linewidth=2.5, linestyle=s) for c, s in LINE_STYLES.values()
    ]
    handles.append(Circle((0, 0), 1, facecolor="#eef2f7"))
    names = ["same class", "another class", "kept"]
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, handlelength=1.6)
    return figure


LINE_STYLES = {True: (RIGHT, "-"), False: (WRONG, (0, (2, 1)))}  # distinguished without colours too


def sunflower(ax: Axes, probe: NDArray, neighbors: NDArray, right: NDArray[np.bool_], kept: int) -> None:
    """Draw the probe in the middle, its neighbours around it, the first nearest, and a disc under those kept."""
    ranks = np.arange(1, len(neighbors) + 1)
    angles = ranks * GOLDEN_ANGLE
    radii = np.sqrt(ranks + 1.2) + np.where(ranks > kept, GAP, 0)
    places = radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    disc = Circle((0, 0), radii[kept - 1] + 0.75 * GAP, facecolor="#eef2f7", edgecolor="#c9d1dc", zorder=0)
    ax.add_patch(disc)
    for place, correct in zip(places[:kept], right, strict=False):
        color, style = LINE_STYLES[bool(correct)]
        ax.plot(*np.stack([np.zeros(2), place]).T, color=color, linestyle=style, linewidth=1.6, zorder=1)
    for place, pixels, correct in zip(places, neighbors, right, strict=True):
        color, style = LINE_STYLES[bool(correct)]
        thumbnail(ax, pixels, place, 0.54, color, style)
    thumbnail(ax, probe, np.zeros(2), 0.66, "#1c2330", "-")
    edge = radii[-1] + 0.75
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    ax.axis("off")


def thumbnail(
    ax: Axes, pixels: NDArray, centre: NDArray, half: float, color: str, style: str | tuple[int, tuple[int, int]]
) -> None:
    x, y = centre
    image = pixels.reshape(8, 8)
    ax.imshow(image, cmap="gray_r", extent=(x - half, x + half, y - half, y + half), zorder=3, interpolation="nearest")
    frame = Rectangle(centre - half, 2 * half, 2 * half, fill=False, edgecolor=color, linestyle=style)
    frame.set(linewidth=2.6, zorder=4)
    ax.add_patch(frame)


def tests_over_scales(fs: kf.FeatureSet) -> Figure:
    """Draw the tests of a stranger that is nearer to a probe than a kin is, and the range over all edges."""
    k = K_OF_THE_SCALES
    g, kinship, right = judged(fs, k)
    shares = edge_tests(g, k).values[:, :, : len(TEST_SCALES)]
    probe, kin, stranger = misleading(kinship, right)
    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    left, ax = figure.subplots(1, 2, width_ratios=(1, 1.7))
    left.set(xlim=(-1.6, 4.6), ylim=(-2.2, 2.2), aspect="equal")
    left.axis("off")
    left.set_title("the stranger is nearer to the probe")
    for place, end in ((1.15, kin), (-1.15, stranger)):
        color, style = LINE_STYLES[bool(right[probe, end])]
        left.plot([0, 2.2], [0, place], color=color, linestyle=style, linewidth=2.2)
        thumbnail(left, fs.features[g.indices[probe, end]], np.array([2.2, place]), 0.75, color, style)
        facts = f"cosine {g.similarities[probe, end]:.3f}\nkinship {kinship[probe, end]:.2f}"
        left.text(3.15, place, facts, va="center", color=color, fontweight="bold")
    thumbnail(left, fs.features[probe], np.zeros(2), 0.75, "#1c2330", "-")
    left.text(0, -1.05, "probe", ha="center", va="top", color=PAPER)
    x = np.array(TEST_SCALES)
    for edge, correct, name in ((kin, True, "with the kin"), (stranger, False, "with the stranger")):
        color, style = LINE_STYLES[correct]
        low, high = np.quantile(shares[right == correct], (0.25, 0.75), axis=0)
        ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
        ax.plot(x, shares[probe, edge], "o", linestyle=style, color=color, linewidth=2.2, clip_on=False, label=name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e8ebf0", linewidth=0.8)
    ax.set(xscale="log", xlabel="neighbours that are compared", ylabel="share in common", ylim=(0, None))
    ax.set_title("shared neighbours at seven scales; bands: the middle half of all edges", fontsize=11)
    ax.set_xticks(x, ["k/8", "k/4", "k/2", "0.7 k", "k", "1.4 k", "2 k"])
    ax.minorticks_off()
    ax.legend(frameon=False, loc="upper left")
    return figure


def misleading(kinship: NDArray[np.float32], right: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Return a probe, a kin and a nearer stranger, the kinship of the two as far apart as anywhere."""
    doubtful = np.minimum.accumulate(np.where(right, np.inf, kinship), axis=1)
    lead = np.where(right, kinship - doubtful, -np.inf)
    probe, kin = np.unravel_index(np.argmax(lead), lead.shape)
    stranger = np.argmin(np.where(right[probe, :kin], np.inf, kinship[probe, :kin]))
    return int(probe), int(kin), int(stranger)


if __name__ == "__main__":
    main()
