"""Run benchmarks and write docs/benchmarks.md: python -m benchmarks [knn data ...]."""

import sys

from benchmarks import data, knn
from benchmarks.page import save_results, write_page

BENCHMARKS = {"knn": knn.run, "data": data.run}

if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"unknown benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        save_results(name, BENCHMARKS[name]())
        write_page(list(BENCHMARKS))
