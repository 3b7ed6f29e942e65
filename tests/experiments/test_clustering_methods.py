"""The clustering methods of the tables: each tunes itself on labelled rows and clusters."""

import json

import numpy as np
import pytest

from kinfolk.cluster._internal.sweep import balance
from kinfolk.experiments.clustering_methods import CLASSICAL_METHODS, G_CUT, INFOMAP, RECENT_METHODS, Sample


@pytest.fixture(scope="module")
def train(tiny):
    return Sample(tiny.train.features, tiny.train.labels)


@pytest.mark.parametrize("method", [*CLASSICAL_METHODS, *RECENT_METHODS, G_CUT, INFOMAP], ids=lambda m: m.name)
def test_every_method_tunes_and_clusters(method, tiny, train):
    chosen = method.tune(method, train, 0) if method.tune else {}
    json.dumps(chosen)  # it is kept in the file of cells
    clusters = method.clusters(Sample(tiny.test.features, tiny.test.labels), 0, chosen)
    assert clusters.shape == tiny.test.labels.shape
    assert balance(train.labels, method.clusters(train, 0, chosen)) > 0.2


def test_tuning_takes_the_best_on_the_sample(train):
    hac = next(method for method in CLASSICAL_METHODS if method.name == "HAC")
    best = balance(train.labels, hac.clusters(train, 0, hac.tune(hac, train, 0)))
    for threshold in (0.1, 0.3, 0.5, 0.7):
        assert balance(train.labels, hac.clusters(train, 0, dict(threshold=threshold))) <= best + 0.01


def test_k_means_gets_the_number_of_classes_and_the_seed(train):
    k_means = CLASSICAL_METHODS[0]
    assert len(np.unique(k_means.clusters(train, 3, {}))) == len(np.unique(train.labels))
    assert k_means.make(3, n_clusters=2).get_params()["random_state"] == 3


def test_the_graph_of_a_small_sample_has_all_its_rows():
    sample = Sample(np.eye(5, dtype=np.float32) + 0.1, np.arange(5))
    assert sample.graph.k == 4 and sample.graph is sample.graph
