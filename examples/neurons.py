"""The units of a trained network as questions: which of them must one look at to know the digit?"""

import numpy as np
from sklearn.neural_network import MLPClassifier

import infopursuit as ip
from infopursuit.app.datasets import digits

data = digits()
x_train, x_test = (x.reshape(len(x), -1) / 16 for x in (data.x_train, data.x_test))

network = MLPClassifier((32,), alpha=1.0, random_state=0, max_iter=300).fit(x_train, data.y_train)
print(f"the network, with all of its 32 hidden units: {100 * network.score(x_test, data.y_test):.1f} % right")


def hidden(x):
    """(B, 64) -> (B, 32) what the hidden units pass on: one call answers all questions."""
    return np.maximum(x @ network.coefs_[0] + network.intercepts_[0], 0)


def name(unit):
    """A unit by the three digits that make it most active."""
    means = [hidden(x_train[data.y_train == digit])[:, unit].mean() for digit in range(10)]
    return f"unit {unit} (likes {', '.join(str(digit) for digit in sorted(np.argsort(means)[-3:]))}) is active"


names = [name(unit) for unit in range(32)]
usual = np.median(hidden(x_train), axis=0)  # active is more than usual
questions = ip.queries.functions(hidden, names=names, threshold=dict(zip(names, usual, strict=True)))

clf = ip.InformationPursuitClassifier(
    questions, strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.02) | ip.InformationGain(0.001)
)
clf.fit(x_train, data.y_train)
trace = clf.explain(x_test)
right = (trace.predictions == data.y_test).mean()
print(f"asking about units, one at a time: {100 * right:.1f} % right after {trace.length.mean():.1f} of 32\n")

print(f"An image of a {data.y_test[0]}:\n{trace[0]}")
