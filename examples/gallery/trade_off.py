"""Accuracy against the number of queries: each point has another confidence threshold."""

import sys

import infopursuit as ip
from infopursuit import datasets, plots
from infopursuit.evaluation.measures import confidence_curve

EPSILONS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
data = datasets.digits()
small, large = (ip.queries.patches((8, 8), size=size, threshold=7) for size in (1, 3))
curves = {}
for name, patches in {"patches of 3 x 3": large, "single pixels": small}.items():
    clf = ip.InformationPursuitClassifier(patches, strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.005))
    trace = clf.fit(data.x_train, data.y_train).explain(data.x_test)
    curves[name] = confidence_curve(trace, data.y_test, EPSILONS)
axes = plots.trade_off(curves, title="Digits of 8 x 8")
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "trade_off.png", dpi=110)
