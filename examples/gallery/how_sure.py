"""Confidence against accuracy: points below the line are overconfident."""

import sys

import infopursuit as ip
from infopursuit import datasets, plots

data = datasets.digits()
patches = ip.queries.patches((8, 8), size=2, threshold=7)
clf = ip.InformationPursuitClassifier(patches, strategy=ip.models.latent_classes(8), stopping=ip.MaxQueries(5))
trace = clf.fit(data.x_train, data.y_train).explain(data.x_test)
axes = plots.calibration(
    trace.posterior.max(axis=1), trace.predictions == data.y_test, title="Digits, five patches each"
)
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "how_sure.png", dpi=110)
