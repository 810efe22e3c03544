"""A tumour that is misclassified: the posterior of each class after every answer."""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = ip.InformationPursuitClassifier().fit(X_train, y_train)

axes = plots.posterior(clf.explain(X_test[4:5])[0], truth=y_test[4])
plots.save(axes, sys.argv[1] if len(sys.argv) > 1 else "belief.png", dpi=100)
