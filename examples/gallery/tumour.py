"""A tumour: each row is an answer and the posterior after it."""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = ip.InformationPursuitClassifier(strategy=ip.models.latent_classes(8)).fit(X_train, y_train)

trace = clf.explain(X_test)
i = int((trace.length * (trace.length <= 8)).argmax())  # the longest of at most eight questions
print(trace[i])
axes = plots.heatmap(trace[i], truth=y_test[i])
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "tumour.png", dpi=110)
