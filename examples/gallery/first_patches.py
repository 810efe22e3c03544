"""The first queries about images of digits: the first patch is always the same, the next depends on the answer."""

import sys

import infopursuit as ip
from infopursuit import datasets, plots

data = datasets.digits()
patches = ip.queries.patches((8, 8), size=3, threshold=7)
clf = ip.InformationPursuitClassifier(patches, strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.02))
clf.fit(data.x_train, data.y_train)
axes = plots.first_queries(clf.explain(data.x_test[:100]))
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "first_patches.png", dpi=100)
