"""Run benchmarks and write docs/benchmarks.md: python -m benchmarks [exact ivf ...]."""

import sys
import tempfile

from benchmarks import cluster, data, enhance, fit, knn, metrics, peers, rerank, similarity
from benchmarks.page import ROOT, save_result, write_page

SCRATCH = ROOT / ".bench"  # gigabytes of generated rows: ignored by git, and left behind only when a run is killed

BENCHMARKS = {
    "exact": knn.exact,
    "ivf": knn.ivf,
    "libraries": knn.libraries,
    "similarity": similarity.sim_m_section,
    "encoders": enhance.encoders,
    "fit": fit.before_and_after,
    "enhance": enhance.over_n,
    "gcut": cluster.gcut,
    "infomap": cluster.infomap,
    "clusterers": cluster.over_n,
    "kin-cuts": cluster.kin_cuts,
    "peers": peers.peers,
    "rerank-market": rerank.market,
    "rerank-msmt17": rerank.msmt17,
    "rerank-over-n": rerank.over_n,
    "clustering-scores": metrics.clustering,
    "retrieval-scores": metrics.retrieval,
    "data": data.large_sets,
}

if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"unknown benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        SCRATCH.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            save_result(name, BENCHMARKS[name](folder))
        write_page(list(BENCHMARKS))
