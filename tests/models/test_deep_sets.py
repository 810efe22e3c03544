"""The network on sets of answers: what it sees, that its training agrees with single passes, and that it learns."""

from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip

pytest.importorskip("torch")
import torch

from infopursuit.models.networks.amortized import QuerierTraining, Trunk, TwoHeads
from infopursuit.models.networks.deep_sets import AnswerSets, DeepSets
from infopursuit.models.sample import Sample
from infopursuit.strategies.amortized.amortized import default_trunk
from infopursuit.strategies.amortized.belief import AnswerSetInputs, NetworkBelief

QUERIES = ip.queries.patches((5, 5), size=3, levels=16)
INPUTS = AnswerSetInputs(QUERIES)
TRUNK = Trunk((), (12, 8), (6, 4))
VALUES = np.random.default_rng(0).integers(0, 16, size=(20, 25))


@pytest.fixture
def network():
    found = DeepSets(TRUNK, INPUTS, 3).initialised(0).eval()
    with torch.no_grad():
        for each in found.parameters():  # biases, too
            each.add_(0.1 * torch.randn(each.shape, generator=torch.Generator().manual_seed(1)))
    return found


def known_after(values, queries):
    """What is known of some inputs after they answered the same queries."""
    known = np.repeat(INPUTS.nothing(), len(values), axis=0)
    for query in queries:
        INPUTS.update(known, np.full(len(values), query), values[:, QUERIES.query_variables[query]], None)
    return known


def test_what_was_not_asked_changes_nothing(network):
    known = known_after(VALUES, [0, 4])
    seen = set(QUERIES.query_variables[[0, 4]].ravel().tolist())
    other = known.copy()
    hidden = [i for i in range(25) if i not in seen]
    assert hidden
    assert (known[:, hidden] == -1).all()
    other[:, hidden] = 3
    with torch.no_grad():
        for one, two in zip(network(torch.as_tensor(known)), network(torch.as_tensor(other)), strict=True):
            assert torch.equal(one, two)


def test_an_empty_history_adds_exactly_nothing(network):
    with torch.no_grad():
        logits, outputs = network(torch.as_tensor(INPUTS.nothing()))
        expected = network.heads(network.bias[None])
    assert torch.equal(logits, expected[0])
    assert torch.equal(outputs, expected[1])


def test_a_query_that_was_skipped_is_not_known():
    known = INPUTS.nothing()
    INPUTS.update(known, np.array([2]), np.full((1, 9), -1), None)
    assert np.array_equal(known, INPUTS.nothing())


def test_answers_are_a_set(network):
    with torch.no_grad():
        one, two = (network(torch.as_tensor(known_after(VALUES, order)))[0] for order in ([0, 4, 7], [7, 0, 4]))
    assert torch.allclose(one, two, atol=1e-5)


def test_histories_of_training_are_those_of_single_passes(network):
    how = QuerierTraining(max_queries=4)
    own = AnswerSets(network, INPUTS, INPUTS.everything(VALUES), np.zeros(20, dtype=int), how, "nats")
    generator = torch.Generator().manual_seed(0)
    values, begun = own.features(np.arange(20), generator), replace(own.nothing(20), explored=0.5)
    queries, log_p = own.ask(values, begun, generator)
    assert all(len(set(row)) == 4 for row in queries.tolist())
    row, step = (each.flatten() for each in torch.meshgrid(torch.arange(20), torch.arange(5), indexing="ij"))
    logits, _ = own.heads(values, row, own.prefixes(values, begun, queries, row, step))
    together = torch.log_softmax(logits.detach(), dim=1).reshape(20, 5, -1)
    for i in range(20):
        for k in range(5):
            known = known_after(VALUES[i : i + 1], queries[i, :k].tolist())
            with torch.no_grad():
                expected = torch.log_softmax(network(torch.as_tensor(known))[0], dim=1)[0]
            assert torch.allclose(log_p[i, k], expected, atol=1e-5)
            assert torch.allclose(together[i, k], expected, atol=1e-5)


def test_round_trip(network, tmp_path):
    belief = NetworkBelief(network, INPUTS, 3, "nats", temperature=1.3)
    pursuit = ip.Pursuit(QUERIES, belief, ip.strategies.NetworkGain(), ip.MaxQueries(3))
    ip.save(pursuit, tmp_path / "model")
    images = VALUES.reshape(20, 5, 5) / 15
    one, two = pursuit.run(images), ip.load(tmp_path / "model").run(images)
    assert np.array_equal(one.queries, two.queries)
    np.testing.assert_allclose(one.posteriors, two.posteriors, atol=1e-9)
    assert (one.gains[:, 0] >= 0).all()


def test_refused_where_it_cannot_be_used(network):
    with pytest.raises(ValueError, match="answer"):
        Trunk((4,), (8,), (6, 4))
    assert not default_trunk(INPUTS).answer
    assert default_trunk(INPUTS, sets=True).answer
    with pytest.raises(ValueError, match="answer"):
        TwoHeads(TRUNK, INPUTS, 3)
    belief = NetworkBelief(network, INPUTS, 3, "nats")
    sample = Sample.of(QUERIES.variables, VALUES, np.arange(20) % 3)
    with pytest.raises(ValueError, match="unit='score'"):
        ip.Amortized("score", start=belief).build(sample, QUERIES, 0)
    teacher = ip.Pursuit(QUERIES, belief, ip.strategies.FixedOrder())
    with pytest.raises(ValueError, match="start"):
        ip.distill(teacher, VALUES.reshape(-1, 5, 5) * 16, start=belief, max_queries=2)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_patch_that_tells_the_class_is_asked_first(channels):
    rng = np.random.default_rng(0)
    X = rng.random((2100, 4, 4, channels)).astype(np.float32)
    y = X[:, 3, 1, -1] > 0.5
    queries = ip.queries.patches((4, 4), size=2, stride=2, levels=16, channels=channels)
    how = ip.QuerierTraining(epochs=30, batch_size=64, max_queries=2, learning_rate=5e-3)
    strategy = ip.Amortized("nats", Trunk((), (32, 16), (16, 8)), training=how)
    clf = ip.InformationPursuitClassifier(queries, strategy, stopping=ip.MaxQueries(1)).fit(X[:2000], y[:2000])
    trace = clf.explain(X[2000:])
    right = [q for q, (row, column) in enumerate(queries.corners) if (row, column) == (2, 0)]
    assert (trace.queries[:, 0] == right[0]).all()
    assert (trace.predictions == y[2000:]).mean() > 0.9
    assert 0.4 < trace.gains[0, 0] <= np.log(2)
