"""Find the edges of a neighbour graph that join different things, and, with labels, count how many were wrong."""

import kinfolk as kf

fs = kf.datasets.person_like(n_identities=60, seed=0)
g = kf.knn_graph(fs, k=20)
print(f"edges between different persons: {kf.metrics.edge_noise_rate(g, fs.labels):.1%}")

one, many = kf.sim_s(g), kf.sim_m(g)  # (n, k): one test and many tests for every edge
for name, scores in {"one test": one, "many tests": many}.items():
    print(f"AUC of {name:<10} {kf.metrics.pair_auc(g, scores, fs.labels):.3f}")

print(kf.prune(g, y=fs.labels))  # the threshold needs no labels; y only counts what was removed
