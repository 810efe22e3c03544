"""The first queries about tumours as a tree, and how many of 143 tumours reach each node."""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
queries = ip.queries.columns(numbers="thresholds")
clf = ip.InformationPursuitClassifier(queries, ip.models.latent_classes(8), stopping=ip.Confidence(0.01))
clf.fit(X_train, y_train)

tree = ip.strategy_tree(clf, depth=3, X=X_test, y=y_test)
plots.save(plots.strategy_tree(tree), sys.argv[1] if len(sys.argv) > 1 else "strategy.png", dpi=88)
