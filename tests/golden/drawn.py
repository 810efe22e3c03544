"""Pursuits with networks whose weights are drawn, not trained: training rounds differently on other processors."""

import numpy as np
import torch

import infopursuit as ip
from infopursuit.models.networks.amortized import Trunk, TwoHeads
from infopursuit.models.networks.masked import AnswerNetwork, Encoding, Layers, MaskedClassifier
from infopursuit.strategies.amortized.belief import NetworkBelief, VariableInputs
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.strategies.hybrid.belief import PredictorBelief

N_CLASSES = 3
N_MEMBERS = 3
N_UNITS = 16


def numbers_table(seed, n=60, n_columns=5):
    """A table of numbers, some of them missing, and labels of three classes."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, n_columns)).round(3)
    X[generator.random(X.shape) < 0.05] = np.nan
    y = generator.integers(N_CLASSES, size=n)
    return X, y


def masked_networks(generator, encoding, n_members, n_outputs):
    """Layers with weights that are large enough for answers to matter."""

    def drawn(*shape, scale):
        return (scale * generator.standard_normal(shape)).astype(np.float32)

    return Layers(
        drawn(n_members, encoding.n_inputs, N_UNITS, scale=0.8),
        drawn(n_members, 1, N_UNITS, scale=0.1),
        drawn(n_members, N_UNITS, N_UNITS, scale=0.5),
        drawn(n_members, 1, N_UNITS, scale=0.1),
        drawn(n_members, N_UNITS, n_outputs, scale=0.6),
        drawn(n_members, 1, n_outputs, scale=0.1),
    )


def hybrid_pursuit(seed, **parts):
    """The hybrid strategy on a table of numbers, and inputs for it."""
    X, y = numbers_table(seed)
    queries = ip.queries.columns().fit(X, y)
    generator = np.random.default_rng((seed, 1))
    answers = np.where(np.isnan(X), np.nan, X)
    numeric = np.ones(len(queries), dtype=bool)
    encoding = Encoding.fit(answers, numeric, queries.n_answers, np.ones(len(X)))
    offsets = np.concatenate([[0], np.cumsum(queries.n_answers + 1)])
    predictor = MaskedClassifier(encoding, masked_networks(generator, encoding, N_MEMBERS, N_CLASSES))
    answer_model = AnswerNetwork(encoding, masked_networks(generator, encoding, 1, int(offsets[-1])), offsets)
    belief = PredictorBelief(predictor, answer_model, queries, n_screened=3)
    acquisition = parts.pop("acquisition", ip.strategies.LookAhead())
    return ip.Pursuit(queries, belief, acquisition, **parts), X[:12]


def network_belief(queries, seed, unit, n_classes=N_CLASSES):
    """A network on histories with two heads."""
    inputs = VariableInputs(queries)
    network = TwoHeads(Trunk((), (N_UNITS,)), inputs, n_classes)
    generator = np.random.default_rng((seed, 2))
    weights = {
        name: torch.tensor(0.7 * generator.standard_normal(tuple(values.shape)), dtype=torch.float32)
        for name, values in network.state_dict().items()
    }
    network.load_state_dict(weights)
    return NetworkBelief(network, inputs, n_classes, unit=unit, temperature=1.5)


def network_pursuit(queries, seed, unit, **parts):
    """The amortised strategy."""
    belief = network_belief(queries, seed, unit)
    return ip.Pursuit(queries, belief, acquisition_for(belief), **parts)
