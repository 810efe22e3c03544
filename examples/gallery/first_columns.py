"""The first queries about a table and their frequencies: of 30 columns one or two decide most inputs."""

import sys

from sklearn.datasets import load_breast_cancer

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
clf = ip.InformationPursuitClassifier(strategy=ip.models.latent_classes(8)).fit(data.data[::2], data.target[::2])
axes = plots.first_queries(clf.explain(data.data[1::2]))
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "first_columns.png", dpi=110)
