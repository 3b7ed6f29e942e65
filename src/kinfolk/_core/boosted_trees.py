"""Boosted regression trees as arrays: scikit-learn trains them, a compiled loop evaluates them, no pickle is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel

LEAF = 0xFFFF  # in place of a column
TYPES = dict(column=np.uint16, value=np.float32, left=np.uint8, right=np.uint8, start=np.int32, base=np.float32)


class BoostedTrees:
    """A sum of regression trees.

    Parameters
    ----------
    tensors : column (nodes,) uint16, the input that a node asks for, LEAF for a leaf; value (nodes,) float32, its
        threshold, or what a leaf adds; left, right (nodes,) uint8, the next node within the tree, left where the input
        is at most the threshold; start (trees,) int32, the first node of each tree; base (1,) float32, the first term.

    Examples
    --------
    >>> stump = dict(column=[0, LEAF, LEAF], value=[0.5, -1, 1], left=[1, 0, 0], right=[2, 0, 0], start=[0], base=[0])
    >>> BoostedTrees({name: np.array(values) for name, values in stump.items()})(np.array([[0.2], [0.7]]))
    array([-1.,  1.], dtype=float32)
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Keep the arrays as the loop wants them."""
        self.tensors = {name: np.ascontiguousarray(tensors[name], dtype=kind) for name, kind in TYPES.items()}
        asked = self.tensors["column"][self.tensors["column"] != LEAF]
        self.columns = int(asked.max()) + 1 if len(asked) else 0

    @classmethod
    def of(cls, models: list[Any]) -> BoostedTrees:
        """Return the mean of fitted sklearn.ensemble.HistGradientBoosting models of one output."""
        columns, values, left, right, start = [], [], [], [], [0]
        for model in models:
            for (predictor,) in model._predictors:
                nodes, leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
                columns.append(np.where(leaf, LEAF, nodes["feature_idx"]))
                values.append(np.where(leaf, nodes["value"] / len(models), nodes["num_threshold"]))
                left.append(nodes["left"])
                right.append(nodes["right"])
                start.append(start[-1] + len(nodes))
        base = np.mean([model._baseline_prediction for model in models])
        joined = dict(zip(("column", "value", "left", "right"), (columns, values, left, right), strict=True))
        flat = {name: np.concatenate(parts) for name, parts in joined.items()}
        return cls({**flat, "start": np.array(start[:-1]), "base": np.array([base])})

    def __call__(self, inputs: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the sum of all trees for inputs (m, columns): (m,)."""
        x = np.ascontiguousarray(inputs, dtype=np.float32)
        if x.shape[1] < self.columns:  # the compiled loop would read past the end
            raise ValueError(f"these trees ask for {self.columns} columns, not {x.shape[1]}")
        result = np.full(len(x), self.tensors["base"][0], dtype=np.float32)
        column, value, left, right, start, _ = self.tensors.values()
        _add_trees(x, column, value, left, right, start, result)
        return result


@kernel()
def _add_trees(
    x: NDArray[np.float32],
    column: NDArray[np.uint16],
    value: NDArray[np.float32],
    left: NDArray[np.uint8],
    right: NDArray[np.uint8],
    start: NDArray[np.int32],
    result: NDArray[np.float32],
) -> None:
    for row in range(len(x)):
        total = 0.0
        for tree in range(len(start)):
            node = np.int64(start[tree])
            while column[node] != LEAF:
                below = x[row, column[node]] <= value[node]
                node = np.int64(start[tree]) + np.int64(left[node] if below else right[node])
            total += value[node]
        result[row] += np.float32(total)
