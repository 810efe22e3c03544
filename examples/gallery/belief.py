"""A tumour that is misclassified: the posterior of each class after every answer."""

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
i = int(((trace.predictions != y_test) & (trace.length >= 4)).argmax())
axes = plots.posterior(trace[i], truth=y_test[i])
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "belief.png", dpi=100)
