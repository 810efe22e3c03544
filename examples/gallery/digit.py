"""A handwritten 2: the patches asked for, the pixels they revealed, and the posterior after each."""

import sys

import infopursuit as ip
from infopursuit import datasets, plots

data = datasets.digits()
patches = ip.queries.patches((8, 8), size=3, threshold=7)
clf = ip.InformationPursuitClassifier(patches, strategy="empirical", stopping=ip.Confidence(0.01))
clf.fit(data.x_train[:600], data.y_train[:600])

explanation = clf.explain(data.x_test[1:2])[0]
print(explanation)
figure = plots.image_trace(data.x_test[1], explanation, truth=data.y_test[1])
plots.save(figure, sys.argv[1] if len(sys.argv) > 1 else "digit.png", dpi=100)
