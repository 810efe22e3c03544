"""Which columns of a table are asked first, and how often: of 270 questions a dozen do nearly all the work."""

import sys

from sklearn.datasets import load_breast_cancer

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
clf = ip.InformationPursuitClassifier(strategy=ip.models.latent_classes(8)).fit(data.data[::2], data.target[::2])
axes = plots.first_queries(clf.explain(data.data[1::2]))
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "first_columns.png", dpi=110)
