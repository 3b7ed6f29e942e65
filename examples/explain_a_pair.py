"""Why do two rows belong together, or not? The neighbours that both share are the tests; here they are, one by one."""

import kinfolk as kf

fs = kf.datasets.celeb_like(n_identities=60, seed=0)
g = kf.knn_graph(fs, k=40)

first, last = int(g.indices[0, 0]), int(g.indices[0, -1])
print(kf.explain(g, 0, first))
print(kf.explain(g, 0, last))
