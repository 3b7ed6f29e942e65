"""How a source tree has grown: files, lines, constants, imports inside functions, and imports between packages.

python tools/count_source.py src/kinfolk [another/src/kinfolk]     # two trees side by side
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from pathlib import Path

# the layers of docs/architecture.md, lowest first
ORDER = (
    *("_core", "features", "formats", "datasets", "neighbors", "metrics", "similarity", "theory", "kinship", "nn"),
    *("training", "enhance", "rerank", "cluster", "experiments", "report", "cli"),
)
GROUND = ("errors", "files", "progress", "threads", "with_faiss")  # of kinfolk 0.1, now _core


def layer(name: str) -> str:
    """Return the layer of a top-level module or package."""
    return "_core" if name in GROUND else name


def imports(tree: ast.AST, inside: bool = False) -> list[tuple[str, bool]]:
    """Return the modules that a file imports, each with whether the import stands inside a function."""
    found = []
    for node in ast.iter_child_nodes(tree):
        nested = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "kinfolk" else [f"kinfolk.{a.name}" for a in node.names]
            found += [(name, inside) for name in names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, inside) for alias in node.names]
        else:
            found += imports(node, nested)
    return found


def counts(root: Path) -> dict[str, str]:
    """Return the figures of one tree."""
    files = sorted(root.rglob("*.py"))
    lines = [len(file.read_text().splitlines()) for file in files]
    constants, late, edges = 0, 0, defaultdict(set)
    torch = set()
    for file in files:
        tree = ast.parse(file.read_text())
        own = layer(file.relative_to(root).parts[0].removesuffix(".py"))
        for node in tree.body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                constants += sum(isinstance(n, ast.Name) and n.id.isupper() and len(n.id) > 1 for n in names)
        for name, inside in imports(tree):
            late += inside and own != "cli"
            if name.split(".")[0] == "torch" or name.startswith("safetensors.torch"):
                torch.add(own)
            if name.startswith("kinfolk."):
                edges[own].add(layer(name.split(".")[1]))
    up = [f"{a}→{b}" for a in ORDER for b in sorted(edges[a]) if b in ORDER and ORDER.index(b) > ORDER.index(a)]
    return {
        "files": str(len(files)),
        "lines, all / median / longest file": f"{sum(lines):,} / {statistics.median(lines):.0f} / {max(lines)}",
        "module-level constants": str(constants),
        "imports inside functions, outside cli": str(late),
        "packages that import torch": f"{len(torch)}: {', '.join(sorted(torch))}",
        "imports between packages": str(sum(len(found - {a}) for a, found in edges.items())),
        "of these upwards": f"{len(up)}: {', '.join(up)}" if up else "0",
    }


if __name__ == "__main__":
    trees = [counts(Path(argument)) for argument in sys.argv[1:] or ["src/kinfolk"]]
    for name in trees[0]:
        print(f"{name:<40} " + "   |   ".join(tree[name] for tree in trees))
