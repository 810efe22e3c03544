"""How often each patch is asked for each digit: the first for all, the others for some digits more than for others."""

import sys

import infopursuit as ip
from infopursuit import datasets, plots

data = datasets.digits()
patches = ip.queries.patches((8, 8), size=3, threshold=7)
clf = ip.InformationPursuitClassifier(patches, strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.02))
clf.fit(data.x_train, data.y_train)

found = ip.query_frequencies(clf.explain(data.x_test[:150]), data.y_test[:150])
axes = plots.asked_by_class(found, max_queries=12)
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "asked_by_class.png", dpi=85)
