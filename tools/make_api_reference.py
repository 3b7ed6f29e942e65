"""Write docs/reference/*.md: one page for each package, one entry for each name that it exports.

    python tools/make_api_reference.py

mkdocstrings fills in the docstrings when the documentation is built. Names are listed here by the module they are
defined in, because a function that is called like its module (rerank.k_reciprocal) would be taken for the module.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
TORCH = 'It needs torch: `pip install "kinfolk[train]"`.'
PAGES = {
    "features": "Vectors and what is known about each of them.",
    "formats": "Reading and writing feature sets. [Features on disk](../formats.md) has what each format keeps.",
    "datasets": "Generated sets, calibrated against the paper, and scikit-learn's digits. See [Generated data]"
    "(../generated-data.md).",
    "neighbors": "The graph of nearest neighbours by cosine. See [Neighbour graphs](../neighbors.md).",
    "metrics": "Scores of edges, rankings and clusters, with intervals. See [Scores](../evaluate.md).",
    "similarity": "One test and many tests for every edge. See [One test, many tests](../similarity.md).",
    "theory": "The bounds of the paper, and its quantities on your graph. See [The theory](../theory.md).",
    "kinship": "The tests of an edge at many scales, the shipped network, and the choice of k.",
    "nn": f"The networks of the paper. {TORCH} See [Attention study](../attention.md).",
    "training": f"The training loop of the networks. {TORCH}",
    "enhance": "Better features from the graph. See [Better features](../enhance.md).",
    "rerank": "Rankings of a gallery for each query. See [Re-identification](../reid.md).",
    "cluster": "Clusters without a threshold to guess, and every method people use. See [Clusters](../cluster.md) and "
    "[Peers](../peers.md).",
}
ENTRY = """::: {path}
    options:
      heading: {name}
      toc_label: {name}
"""


def page(package: str) -> str:
    """Return the page of one package."""
    module = import_module(f"kinfolk.{package}")
    exported = getattr(module, "__all__", ["FeatureSet"])  # the one public name of kinfolk.features
    things = {name: getattr(module, name) for name in exported}
    entries = [
        ENTRY.format(path=_path(thing, module.__name__), name=name)
        for name, thing in things.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    ]
    return "\n".join([f"# kinfolk.{package}\n\n{PAGES[package]}\n", *entries])


def _path(thing: type, package: str) -> str:
    """Return where a thing is defined; errors and warnings call themselves kinfolk.X and are found in their package."""
    module = package if thing.__module__ == "kinfolk" else thing.__module__
    return f"{module}.{thing.__qualname__}"


if __name__ == "__main__":
    for name in PAGES:
        (FOLDER / f"{name}.md").write_text(page(name))
