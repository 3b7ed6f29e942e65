"""Learn better features from labelled identities, for new ones. Needs torch: pip install "kinfolk[train]"."""

import kinfolk as kf

fs = kf.datasets.celeb_like(n_identities=60, seed=0)
train, test = fs.part("train"), fs.part("test")  # different identities

without_labels = kf.GraphEnhancer().fit(test).transform(test)
trained = kf.GraphEnhancer().fit(train, train.labels)
with_labels = trained.transform(test)

for name, rows in {"as given": test, "without labels": without_labels, "with labels": with_labels}.items():
    print(f"{name:<15} mAP {kf.metrics.mean_average_precision(rows, test.labels):.3f}")
