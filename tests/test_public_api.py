"""Rules that hold for the whole package: examples, types, and which way imports point."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import kinfolk as kf

SOURCE = Path(kf.__file__).parent
PUBLIC = [
    "kinfolk.neighbors",
    "kinfolk.similarity",
    "kinfolk.metrics",
    "kinfolk.formats",
    "kinfolk.datasets",
    "kinfolk.theory",
    "kinfolk.nn",
    "kinfolk.training",
    "kinfolk.enhance",
    "kinfolk.cluster",
    "kinfolk.rerank",
]

# what a step may import of ours; everything may use the ground floor
GROUND = {"errors", "files", "progress", "threads", "features", "with_faiss"}
ALLOWED = {
    **dict.fromkeys(GROUND, GROUND | {"formats"}),
    "formats": GROUND,
    "datasets": GROUND | {"formats"},
    "neighbors": GROUND,
    "metrics": {"errors", "features", "progress"},
    "similarity": GROUND | {"neighbors", "metrics", "theory"},
    "nn": GROUND | {"neighbors", "similarity"},
    "training": GROUND | {"formats", "neighbors", "similarity", "metrics", "nn"},
    "enhance": GROUND | {"neighbors", "similarity", "nn", "training"},
    "cluster": GROUND | {"neighbors", "similarity", "metrics", "nn", "training", "enhance", "rerank"},
    "rerank": GROUND | {"neighbors", "similarity", "nn", "enhance"},
    "theory": GROUND | {"neighbors", "similarity", "metrics"},
    "experiments": GROUND
    | {"datasets", "enhance", "cluster", "rerank", "formats", "neighbors", "nn", "similarity", "metrics", "theory"},
    "report": GROUND | {"experiments", "metrics"},
}


def test_every_public_name_is_there():
    assert {name for name in kf.__all__ if getattr(kf, name) is None} == set()
    assert set(kf.__all__) <= set(dir(kf))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        kf.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("module", PUBLIC)
def test_public_functions_have_types_and_a_runnable_example(module):
    names = getattr(importlib.import_module(module), "__all__", ["GraphEnhancer"])
    for name in names:
        thing = getattr(importlib.import_module(module), name)
        if not inspect.isfunction(thing):
            continue
        assert ">>>" in (thing.__doc__ or ""), f"{module}.{name} has no example"
        annotations = inspect.get_annotations(thing)
        assert set(inspect.signature(thing).parameters) | {"return"} <= set(annotations), f"{module}.{name} is untyped"


def test_imports_point_down_only():
    for module in pkgutil.walk_packages([str(SOURCE)], "kinfolk."):
        step = module.name.split(".")[1]
        if step not in ALLOWED:
            continue
        path = SOURCE.joinpath(*module.name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name and name.startswith("kinfolk."):
                    assert name.split(".")[1] in ALLOWED[step] | {step}, f"{module.name} imports {name}"
