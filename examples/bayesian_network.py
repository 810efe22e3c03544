"""A belief of your own: exact inference in a Bayesian network (pyAgrum), and one-step look-ahead.

The network is *child* (Spiegelhalter and Cowell, 1992): a newborn's disease and what can be observed of it. Inference
gives p(disease | answers) and p(next answer | answers), which is all that `LookAhead` needs. Run it with a BIF file:
``python examples/bayesian_network.py child.bif.gz``.
"""

import gzip
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyagrum

import infopursuit as ip
from infopursuit.pursuit import Belief, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.testing import check_acquisition, check_belief, check_strategy

TARGET = "Disease"


class Nodes(QuerySet):
    """One query for each node of the network but the target, answered with its state."""

    kind = "nodes"

    def __init__(self, network, target):
        names = sorted(set(network.names()) - {target})
        choices = [network.variable(name).labels() for name in names]
        super().__init__(names, [len(c) for c in choices], [[i] for i in range(len(names))], choices=choices)

    def observe(self, X):
        return self.variables.check(X, "X")

    def to_spec(self):
        raise TypeError("the network is read from its own file")


class Network(Belief):
    """Exact inference. The state is the evidence of each history, a tuple of {node: state}."""

    capabilities = Capabilities(answers=True)

    def __init__(self, network, queries, target):
        self.queries, self.target, self.inference = queries, target, pyagrum.LazyPropagation(network)
        self.n_classes = network.variable(target).domainSize()

    def init(self):
        return ({},)

    def update(self, b, parents, new):
        values, names = new.observed(), self.queries.names
        return tuple({names[a]: int(v) for a, v in enumerate(row) if v >= 0} for row in values)

    def log_posterior(self, b):
        with np.errstate(divide="ignore"):
            return Estimate.exact(np.log([self._marginal(evidence, self.target) for evidence in b]))

    def answer_distribution(self, b, query):
        return np.array([self._marginal(evidence, self.queries.names[query]) for evidence in b])

    def _marginal(self, evidence, node):
        self.inference.setEvidence(evidence)
        return self.inference.posterior(node).toarray()


def with_plain_labels(text):
    """BIF whose states are all identifiers, as pyAgrum wants: "<5" becomes "below_5", "5-12" becomes "is_5_to_12"."""
    for label in set(re.findall(r"[^\s,]+", " ".join(re.findall(r"type discrete .*{(.*)}", text)))):
        plain = label.replace("<", "below_").replace(">=", "from_").replace("-", "_to_").replace("+", "_or_more")
        plain = re.sub(r"^(?=\d)", "is_", re.sub(r"\W", "_", plain))
        text = re.sub(rf"(?<=[ (]){re.escape(label)}(?=[ ,)])", plain, text)
    return text


def main(path):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.bif"
        file.write_text(with_plain_labels(gzip.decompress(Path(path).read_bytes()).decode()))
        network = pyagrum.loadBN(str(file))
    queries = Nodes(network, TARGET)
    belief, look_ahead = Network(network, queries, TARGET), ip.strategies.LookAhead()
    diseases = network.variable(TARGET).labels()
    pursuit = ip.Pursuit(queries, belief, look_ahead, ip.Confidence(0.1) | ip.MaxQueries(5), classes=diseases)
    check_belief(belief, queries, n_histories=3, n_steps=2)
    check_acquisition(look_ahead, belief, queries, n_histories=2)
    pyagrum.initRandom(1)
    frame, _ = pyagrum.generateSample(network, 3, with_labels=False)
    values = frame[list(queries.names)].astype(int).to_numpy()
    check_strategy(pursuit, values)
    print(pursuit.run(values)[0])


if __name__ == "__main__":
    main(sys.argv[1])
