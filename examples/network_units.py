"""The hidden units of a trained network as questions with soft answers: on with probability sigmoid(activation).

python examples/network_units.py [picture.png]
"""

import sys

import numpy as np
from scipy.special import expit
from sklearn.neural_network import MLPClassifier

import infopursuit as ip
from infopursuit import plots
from infopursuit.app.datasets import digits

N_UNITS = 16

data = digits()
x_train, x_test = (x.reshape(len(x), -1) / 16 for x in (data.x_train, data.x_test))
network = MLPClassifier(
    (N_UNITS,), activation="logistic", alpha=0.1, learning_rate_init=0.01, random_state=0, max_iter=400
)
network.fit(x_train, data.y_train)
print(f"the network, with all of its {N_UNITS} hidden units: {100 * network.score(x_test, data.y_test):.1f} % right")


def units(x):
    """(B, 64) -> (B, 16) the probability that each hidden unit is on."""
    return expit(x @ network.coefs_[0] + network.intercepts_[0])


def pursue(soft):
    """What is asked about the test images: with soft answers, or with the probabilities rounded to yes and no."""
    names = [f"unit {unit + 1} is on" for unit in range(N_UNITS)]
    train, test = (units(x) if soft else units(x).round() for x in (x_train, x_test))
    clf = ip.InformationPursuitClassifier(
        ip.queries.concepts(names, soft=soft), strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.05)
    )
    return clf.fit(train, data.y_train).explain(test)


def draw(image, explanation, truth):
    """A column for each question: what the unit looks for, how much it is on, and what is believed then."""
    from matplotlib.figure import Figure

    steps, limit = explanation.steps, np.abs(network.coefs_[0]).max()
    figure = Figure(figsize=(1.5 * (len(steps) + 1), 4.6), dpi=130, layout="constrained")
    grid = figure.subplots(3, len(steps) + 1, height_ratios=(1, 0.16, 1.1), squeeze=False)
    grid[0, 0].imshow(image, cmap="gray_r")
    grid[0, 0].set_title("the image", fontsize=9)
    grid[1, 0].axis("off")
    for column, step in enumerate(steps, start=1):
        unit = step.query
        weights, on = network.coefs_[0][:, unit].reshape(8, 8), units(image.reshape(1, -1) / 16)[0, unit]
        grid[0, column].imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
        grid[0, column].set_title(f"{column}. unit {unit + 1}", fontsize=9)
        grid[1, column].barh([0], [on], color="#E69F00")
        grid[1, column].set_xlabel(f"on: {100 * on:.0f} %", fontsize=9)
        grid[1, column].set_xlim(0, 1)
    for column, posterior in enumerate(explanation.posteriors):
        leader = int(posterior.argmax())
        colours = ["#007A59" if digit == leader else "#BDC3CB" for digit in range(10)]
        grid[2, column].barh(range(10), posterior, color=colours if column else "#BDC3CB")
        words = f"{leader}: {100 * posterior[leader]:.0f} %" if column else "prior"
        grid[2, column].set(xlim=(0, 1), ylim=(9.5, -0.5), xlabel=words)
        grid[2, column].set_yticks(range(10), range(10) if column == 0 else [""] * 10, fontsize=8)
    for axis in figure.axes:
        axis.set_xticks([])
        axis.tick_params(length=0)
        axis.spines[:].set_color("#C6CBD1")
        if axis not in grid[2]:
            axis.set_yticks([])
    found = f"{explanation.prediction} with {100 * explanation.confidence:.0f} % after {len(explanation)} questions"
    figure.suptitle(f"A handwritten {truth}: {found}", x=0.01, ha="left", fontweight="bold")
    figure.supxlabel("a unit is on where the image is dark under its red and light under its blue weights", fontsize=8)
    return figure


for words, soft in (("rounded to yes and no", False), ("soft answers", True)):
    trace = pursue(soft)
    right = 100 * (trace.predictions == data.y_test).mean()
    print(f"{words}: {right:.1f} % right after {trace.length.mean():.1f} of {N_UNITS} units")

chosen = int(np.flatnonzero((trace.length == 6) & (trace.predictions == data.y_test))[0])  # one that fits a page
print(f"\nAn image of a {data.y_test[chosen]}:\n{trace[chosen]}")
if len(sys.argv) > 1:
    plots.save(draw(data.x_test[chosen], trace[chosen], data.y_test[chosen]), sys.argv[1])
