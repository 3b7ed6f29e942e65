"""What needs no torch works without it; what needs it gives one sentence that says how to install it.

Each script runs in a process of its own in which `import torch` fails, as it does where torch is not installed.
"""

import subprocess
import sys
import textwrap

import pytest

BLOCKED = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())  # not sys.modules["torch"] = None, on which scipy stumbles
import numpy as np
import kinfolk as kf
fs = kf.datasets.celeb_like(n_identities=12, dim=16)
X, y = np.ascontiguousarray(fs.features[::3]), fs.labels[::3]
"""
SENTENCE = 'this needs the optional package torch: pip install "kinfolk[train]"'
NEEDS_TORCH = (
    "kf.GraphEnhancer().fit(X, y)",
    "kf.GraphEnhancer(model='subgraph').fit(X)",
    "kf.GraphEnhancer.paper('msmt17').fit(X, y)",
    "kf.cluster.AdaNets",
    "__import__('kinfolk.nn')",
    "kf.nn",
    "__import__('kinfolk.training')",
)


def run(script: str) -> list[str]:
    """Run the script where torch cannot be imported; return the lines it prints."""
    command = [sys.executable, "-c", BLOCKED + textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_everything_without_training_works(tmp_path):
    folder = str(tmp_path / "model")
    out = run(f"""
    g = kf.knn_graph(X, k=10)
    assert kf.sim_s(g).shape == kf.sim_m(g).shape == g.indices.shape
    assert kf.theory.min_tests(p=0.7, q=0.4, alpha=0.8, gamma=2.0) > 0
    assert kf.theory.estimate(g, y).p > kf.theory.estimate(g, y).q
    assert 0 <= kf.metrics.edge_noise_rate(g, y) <= 1
    assert 0 < kf.metrics.mean_average_precision(X, y) <= 1
    enhancer = kf.GraphEnhancer(show_progress=False).fit(X)
    Z = enhancer.transform(X)
    enhancer.save({folder!r})
    np.testing.assert_array_equal(kf.GraphEnhancer.load({folder!r}).transform(X), Z)
    for clusterer in (kf.cluster.Kin(), kf.cluster.GCut(k=10)):
        assert kf.metrics.pairwise(y, clusterer.fit_predict(X)).f > 0
    assert kf.rerank.k_reciprocal(X[:5], X[5:], top=3).indices.shape == (5, 3)
    print("torch" in sys.modules)
    """)
    assert out[-1] == "False"


@pytest.fixture(scope="module")
def sentences() -> dict[str, str]:
    """What each call that needs torch says without it."""
    lines = run(f"""
    for call in {NEEDS_TORCH!r}:
        try:
            eval(call)
        except kf.MissingExtraError as error:
            print(call, error, sep="\\t")
    """)
    return dict(line.split("\t") for line in lines if "\t" in line)


@pytest.mark.parametrize("call", NEEDS_TORCH)
def test_what_is_trained_says_how_to_install_torch(sentences, call):
    assert sentences.get(call) == SENTENCE
