"""Two models and one tumour: their common queries, and where they diverge."""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import infopursuit as ip
from infopursuit import plots

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
models = {"latent classes": ip.models.latent_classes(8), "naive Bayes": ip.models.naive_bayes()}
traces = [ip.InformationPursuitClassifier(strategy=m).fit(X_train, y_train).explain(X_test) for m in models.values()]

i = int((traces[0].predictions != traces[1].predictions).argmax())
figure = plots.compare(traces[0][i], traces[1][i], names=list(models), truth=y_test[i])
plots.save(figure, sys.argv[1] if len(sys.argv) > 1 else "two_models.png", dpi=100)
