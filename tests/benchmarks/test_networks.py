"""Bayesian networks as exact worlds: inference against enumeration, optimal strategies, regret."""

import gzip
import itertools
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from benchmarks import networks
from benchmarks.exact_network import ExactBelief, World
from benchmarks.optimal import ExpectedAccuracy, fewest_questions, follow, optimal
from data_fixtures import real_data  # noqa: F401
from infopursuit.pursuit.histories import Histories
from isolated import run_alone

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pyAgrum's own

MADE_UP = """network made_up {
}
variable cause {
  type discrete [ 2 ] { no, yes };
}
variable fault {
  type discrete [ 3 ] { a, b, c };
}
variable sign {
  type discrete [ 3 ] { none, <5, 5+ };
}
variable proxy {
  type discrete [ 2 ] { no, yes };
}
variable test {
  type discrete [ 2 ] { no, yes };
}
probability ( cause ) {
  table 0.7, 0.3;
}
probability ( fault | cause ) {
  (no) 0.5, 0.3, 0.2;
  (yes) 0.1, 0.3, 0.6;
}
probability ( sign | fault ) {
  (a) 0.7, 0.2, 0.1;
  (b) 0.0, 0.5, 0.5;
  (c) 0.3, 0.4, 0.3;
}
probability ( proxy | sign ) {
  (none) 0.9, 0.1;
  (<5) 0.5, 0.5;
  (5+) 0.0, 1.0;
}
probability ( test | fault, proxy ) {
  (a, no) 0.9, 0.1;
  (a, yes) 0.2, 0.8;
  (b, no) 0.3, 0.7;
  (b, yes) 0.6, 0.4;
  (c, no) 0.5, 0.5;
  (c, yes) 0.8, 0.2;
}
"""


def joint_of(world):
    """(C, V_1, ..., V_A) by the definition: the product of all tables."""
    names = [world.target, *world.queries.names]
    letters = {name: i for i, name in enumerate(names)}
    operands = [each for f in world.factors.values() for each in (f.table, [letters[v] for v in f.variables])]
    return np.einsum(*operands, list(letters.values()))


def given(joint, evidence):
    """(C,) p(class, evidence) by summing over all that is not known."""
    some = joint[(slice(None), *(slice(None) if v < 0 else v for v in evidence))]
    return some.reshape(len(joint), -1).sum(axis=1)


def entropy(p):
    return -(p[p > 0] * np.log(p[p > 0])).sum()


def all_evidence(world):
    return np.array(list(itertools.product(*(range(-1, size) for size in world.queries.variables.sizes))))


@pytest.fixture(params=["made up", "asia"])
def world(request):
    pytest.importorskip("pyagrum", reason="pyAgrum is not installed: pip install infopursuit[benchmarks]")
    if request.param == "made up":
        return World.of_text(MADE_UP, "fault")
    path = request.getfixturevalue("real_data")("networks/asia.bif.gz")
    return World.of_text(gzip.decompress(path.read_bytes()).decode(), "bronc")


def test_posteriors_and_gains_are_those_of_enumeration(world):
    belief, joint, evidence = ExactBelief(world), joint_of(world), all_evidence(world)
    total = np.array([given(joint, row) for row in evidence])
    possible = total.sum(axis=1) > 0
    known = belief.given(evidence)
    posterior = total[possible] / total[possible].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(known.posterior[possible], posterior, atol=1e-9)
    assert np.isnan(known.posterior[~possible]).all()
    np.testing.assert_allclose(np.exp(belief.log_evidence(known)), total.sum(axis=1), atol=1e-12)
    gains = belief.gains(known)
    for h in np.flatnonzero(possible):
        for q in np.flatnonzero(evidence[h] < 0):
            answers = [given(joint, [*evidence[h, :q], v, *evidence[h, q + 1 :]]) for v in range(joint.shape[q + 1])]
            after = sum(p.sum() * entropy(p / p.sum()) for p in answers if p.sum() > 0) / total[h].sum()
            assert gains[h, q] == pytest.approx(entropy(total[h] / total[h].sum()) - after, abs=1e-9)


def test_the_belief_agrees_with_that_of_pyagrum(world):
    from examples.bayesian_network import Network

    one, other = ExactBelief(world), Network(world.network, world.queries, world.target)
    allowed = np.ones((2, len(world.queries)), dtype=bool)
    allowed[:, 0] = False
    histories = Histories.empty(world.queries).extend(np.zeros(2, int), np.zeros(2, int), np.array([[0], [1]]))
    found = []
    for belief in (one, other):
        b = belief.update(belief.init(), np.zeros(2, int), histories)
        gains = ip.strategies.LookAhead().bind(belief, world.queries, None, None)(b, histories, allowed).value
        answers = [belief.answer_distribution(b, q) for q in range(1, len(world.queries))]
        found.append((belief.log_posterior(b).value, gains, np.concatenate(answers, axis=1)))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_samples_have_the_frequencies_of_the_network(world):
    n = 40_000
    values, y = world.sample(n, seed=3)
    joint = joint_of(world)
    counts = np.zeros_like(joint)
    np.add.at(counts, (y, *values.T), 1)
    assert not counts[joint < 1e-12].any()
    error = np.sqrt(joint * (1 - joint) / n)
    assert (np.abs(counts / n - joint) <= 5 * error + 2 / n).all()


def by_recursion(joint, value, evidence, n_left):
    """The value of the best strategy, as it is defined."""
    now = value(given(joint, evidence))
    if n_left == 0 or (evidence >= 0).all():
        return now
    best = -np.inf
    for q in np.flatnonzero(evidence < 0):
        each = 0.0
        for v in range(joint.shape[q + 1]):
            then = evidence.copy()
            then[q] = v
            each += by_recursion(joint, value, then, n_left - 1)
        best = max(best, each)
    return best


def test_no_strategy_is_better_than_the_optimal_one(world):
    belief, n = ExactBelief(world), 3
    best = optimal(belief, n)
    joint, nothing = joint_of(world), np.full(len(world.queries), -1)
    values = {
        "accuracy": lambda p: p.max(),
        "information": lambda p: -p.sum() * entropy(p / p.sum()) if p.sum() > 0 else 0.0,
    }
    for name, value in values.items():
        assert best[name][2] == pytest.approx(by_recursion(joint, value, nothing, 2), abs=1e-9)
        assert (np.diff(best[name]) >= -1e-12).all()
    greedy = ip.Pursuit(world.queries, belief, ip.strategies.LookAhead())
    two = replace(greedy, acquisition=ip.strategies.LookAhead(depth=2))
    accurate = replace(greedy, acquisition=ExpectedAccuracy(belief))
    for pursuit, last in ((greedy, None), (two, None), (two, greedy), (accurate, None)):
        for k in range(n + 1):
            leaves = follow(pursuit, last, k)
            assert leaves.joint.sum() == pytest.approx(1.0, abs=1e-9)
            for name in values:
                assert leaves.value(name) <= best[name][k] + 1e-9
    # one question: greedy is optimal; two questions: so is look-ahead of two that knows where it ends
    assert follow(greedy, None, 1).value("information") == pytest.approx(best["information"][1], abs=1e-5)
    assert follow(accurate, None, 1).value("accuracy") == pytest.approx(best["accuracy"][1], abs=1e-5)
    assert follow(two, greedy, 2).value("information") == pytest.approx(best["information"][2], abs=1e-5)
    asked = follow(replace(greedy, stopping=ip.Confidence(0.1))).length
    assert 0 < fewest_questions(belief, 0.1) <= asked + 1e-9


def test_regret_and_divergence_are_zero_for_the_truth_and_for_nothing_else(world):
    setting = networks.Setting(world.target, n_questions=4, shown=(1, 3))
    ward = networks.Ward("here", setting, 60)
    object.__setattr__(ward, "world", world)  # in the place of a file
    found = ward.exact(ip.strategies.LookAhead())["after"]
    at_random = ward.exact(ip.strategies.RandomOrder())["after"]
    learnt = ward.learnt(ip.models.naive_bayes(), 100)["after"]
    assert len(found) == 5
    assert "regret" not in found[4]
    assert max(column["regret"][0] for column in found[:4]) < 1e-5
    assert at_random[0]["regret"][0] > 0.01
    assert abs(found[3]["divergence"][0]) < 1e-9
    assert max(column["divergence"][0] for column in learnt) > 1e-4
    assert min(column["regret"][0] for column in (*learnt[:4], *at_random[:4])) >= 0
    told = {"strategies": {"exact": {"after": found}, "naive Bayes, 1,000 rows": {"after": learnt}}}
    told["all findings"] = ward.ceiling()
    assert max(ward.verify(3).values()) < 1e-9
    assert [row["3"] for row in networks.accuracy_table(told, setting)]
    assert networks.truth_table(told, setting)[0]["share of the best gains"] == "100.0 %"
    networks.draw({"here": told})


def test_a_missing_pyagrum_is_named(tmp_path):
    code = """
import contextlib, sys
from benchmarks import networks

with contextlib.redirect_stderr(sys.stdout):
    assert networks.main(["--out", sys.argv[1]]) == 2
"""
    assert "infopursuit[benchmarks]" in run_alone(code, tmp_path, without=["pyagrum"])
