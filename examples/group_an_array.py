"""Group the rows of an array: no threshold to guess, no number of clusters to know."""

import kinfolk as kf

X = kf.datasets.celeb_like(n_identities=60, seed=0).features  # any array (n, d); rows need not be of length one

kin = kf.cluster.Kin().fit(X)
print(kin.summary())
print("clusters of the first rows:", kin.labels_[:10])
