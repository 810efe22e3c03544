"""Small worlds, optimal strategies beside every tree there is, the greedy one beside the optimal, Proposition 1."""

import doctest
import importlib
import itertools

import numpy as np
import pytest

import infopursuit as ip
import theory
from enumerator import mutual_information
from infopursuit.pursuit.stopping import STOP
from theory import (
    enumerate_world,
    expected_length,
    frontier,
    gains,
    gains_by_step,
    information,
    optimal_strategy,
    pursuit_tree,
    shortest_sufficient,
    sufficiency,
    sum_of_gains,
    table_world,
    within,
    xor_world,
)
from theory.all_trees import all_trees, may_stop, tiny_world
from worlds import Given, random_rules, random_world

CLOSE = {"rel": 1e-9, "abs": 1e-11}

# Four equally likely inputs. Only bit 1 tells anything at the start, so the pursuit asks it; bits 0 and 2 tell all.
GREEDY_IS_WORSE = ([[0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]], [0, 1, 0, 1])


def listed(values, labels, weights=None):
    """A world of yes/no variables in which each input has one label."""
    table = np.eye(max(labels) + 1)[labels] * np.array(weights or [1] * len(labels))[:, None]
    return table_world(ip.queries.concepts([f"bit {i}" for i in range(len(values[0]))]), values, table)


def chase(world, stopping, **options):
    return pursuit_tree(ip.generative_pursuit(world.model, world.queries, stopping=stopping, **options), world)


@pytest.fixture(scope="module")
def tiny():
    """Tiny worlds with all their trees: (the package's world, the truth, every tree)."""
    made = [tiny_world(seed) for seed in range(20)]
    return [(enumerate_world(w.model, w.queries), w.truth, list(all_trees(w.truth))) for w in made]


# ---- the world ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_world_is_its_table(seed):
    made = random_world(np.random.default_rng(seed))
    world = enumerate_world(made.model, made.queries)
    true = made.truth.joint.sum(axis=1).T  # (assignments, C)
    occurs = true.sum(axis=1) > 0
    assert world.values.tolist() == np.array(made.truth.assignments)[occurs].tolist()
    np.testing.assert_allclose(world.joint, true[occurs], rtol=1e-9)
    assert world.probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(gains(world), [made.truth.gain(q, []) for q in range(len(made.queries))], atol=1e-12)
    rows = np.flatnonzero(occurs)
    for row, query in itertools.product((0, len(world) // 2, len(world) - 1), range(len(made.queries))):
        assert world.answer(row, query) == made.truth.answers[query][rows[row]]
        alike = [made.truth.answers[query][n] == made.truth.answers[query][rows[row]] for n in rows]
        assert (world.answers[:, query] == world.answers[row, query]).tolist() == alike


def test_a_table_of_anything_is_a_world():
    rng = np.random.default_rng(0)
    made = random_world(rng, "mixed")
    values = np.array(made.truth.assignments)
    joint = rng.dirichlet(np.ones(3 * len(values))).reshape(-1, 3)
    joint[:, 1] = 0  # a class that never occurs
    world = table_world(made.queries, values, 7 * joint)
    np.testing.assert_allclose(world.joint, joint / joint.sum(), atol=1e-15)


def test_inputs_that_cannot_occur_are_left_out_and_named():
    world = listed(*GREEDY_IS_WORSE)
    assert len(world) == 4
    strategy = optimal_strategy(world, ip.Confidence(0))
    with pytest.raises(ValueError, match=r"\[0, 0, 0\] has probability zero"):
        strategy.walk([0, 0, 0])


# ---- the optimum --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "epsilon", "stopping"),
    [
        ("confidence", 0.0, ip.Confidence(0)),
        ("confidence", 0.1, ip.Confidence(0.1)),
        ("confidence", 0.25, ip.Confidence(0.25)),
        ("within", 0.0, within(0)),
        ("within", 0.05, within(0.05)),
        ("information_gain", 0.02, ip.InformationGain(0.02)),
    ],
)
def test_the_optimum_is_the_best_of_all_trees(tiny, rule, epsilon, stopping):
    for world, truth, trees in tiny:
        verdict = {}
        for leaf in {leaf for tree in trees for leaf in tree.leaves}:
            verdict[leaf] = may_stop(truth, leaf, rule, epsilon)
        best = min(tree.length for tree in trees if all(verdict[leaf] for leaf in tree.leaves))
        strategy = optimal_strategy(world, stopping)
        assert expected_length(strategy) == pytest.approx(best, **CLOSE)


def test_rules_are_joined(tiny):
    for world, truth, trees in tiny[:8]:
        kept = [
            t
            for t in trees
            if all(
                may_stop(truth, x, "confidence", 0.2) or may_stop(truth, x, "information_gain", 0.01) for x in t.leaves
            )
        ]
        joined = optimal_strategy(world, ip.Confidence(0.2) | ip.InformationGain(0.01))
        assert expected_length(joined) == pytest.approx(min(t.length for t in kept), **CLOSE)


def test_the_frontier_is_that_of_all_trees(tiny):
    sizes = []
    for world, _, trees in tiny:
        pairs = sorted((round(t.length, 9), t.divergence) for t in trees)
        true = []
        for length, divergence in pairs:
            if not true or divergence < true[-1][1] - 1e-11:
                true.append((length, divergence))
        found = frontier(world)
        np.testing.assert_allclose(np.stack([found.lengths, found.divergences], axis=1), true, atol=2e-9)
        sizes.append(len(found))
        for i in {0, len(found) // 2, len(found) - 1}:  # the strategies have the numbers that they are listed with
            strategy = found.strategy(i)
            assert expected_length(strategy) == pytest.approx(found.lengths[i], **CLOSE)
            assert sufficiency(strategy) == pytest.approx(found.divergences[i], **CLOSE)
    assert max(sizes) > 10


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1, 0.4])
def test_the_constrained_problem_is_solved(tiny, epsilon):
    compared = 0
    for world, _, trees in tiny:
        floor = min(tree.divergence for tree in trees)
        feasible = [tree.length for tree in trees if tree.divergence <= floor + epsilon + 1e-11]
        strategy = shortest_sufficient(world, floor + epsilon)
        assert expected_length(strategy) == pytest.approx(min(feasible), **CLOSE)
        assert sufficiency(strategy) <= floor + epsilon + 1e-9
        # asking for it after every history is a stronger demand, where the queries can meet it
        everywhere = optimal_strategy(world, within(floor + epsilon))
        leaves = [node.inputs for _, node in everywhere.nodes() if node.query < 0]
        if all(information(world, inputs) <= floor + epsilon + 1e-12 for inputs in leaves):
            assert expected_length(everywhere) >= min(feasible) - 1e-9
            compared += 1
    assert compared >= 10


def test_strategies_are_read_in_three_ways():
    world = enumerate_world(*(lambda w: (w.model, w.queries))(random_world(np.random.default_rng(3), "mixed")))
    strategy = optimal_strategy(world, ip.Confidence(0.2))
    for row in range(len(world)):
        history = strategy.walk(world.values[row])
        assert len(history) == strategy.lengths[row]
        assert strategy.tree[history] == STOP
        assert [strategy.tree[history[:k]] for k in range(len(history))] == [query for query, _ in history]
        alike = [n for n in range(len(world)) if all(world.answer(n, query) == said for query, said in history)]
        np.testing.assert_allclose(strategy.explained[row], world.posterior(np.array(alike)))


# ---- the pursuit beside it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
def test_the_tree_of_a_pursuit_is_its_traces(seed):
    rng = np.random.default_rng(seed)
    made = random_world(rng)
    pursuit = made.pursuit(random_rules(rng), patience=int(rng.integers(3)))
    strategy = pursuit_tree(pursuit)
    world = strategy.world
    trace = pursuit.run_values(world.values)
    assert strategy.lengths.tolist() == trace.length.tolist()
    assert [strategy.walk(values) for values in world.values] == [trace.history(i) for i in range(len(world))]
    np.testing.assert_allclose(strategy.explained, trace.posterior, atol=1e-9)
    for history, node in strategy.nodes():  # eq. 6, with gains summed over inputs and not over latent states
        if node.query >= 0:
            there = gains(world, node.inputs)
            asked = {query for query, _ in history}
            left = [g for query, g in enumerate(there) if query not in asked]
            assert there[node.query] >= max(left) - 2e-9
    explanations = [history for history, doing in strategy.tree.items() if doing == STOP]
    for one, other in itertools.permutations(explanations, 2):
        assert one != other[: len(one)]  # prefix-free


@pytest.mark.parametrize("seed", range(20))
def test_a_pursuit_is_never_shorter_than_the_optimum(seed):
    rng = np.random.default_rng(100 + seed)
    made = random_world(rng, ["yes_no", "patches", "categorical", "mixed"][seed % 4], n_classes=2 + seed % 2)
    world = enumerate_world(made.model, made.queries)
    stopping = [ip.Confidence(0), ip.Confidence(0.15), ip.InformationGain(0.02)][seed % 3]
    best = expected_length(optimal_strategy(world, stopping))
    lengths = [expected_length(chase(world, stopping, patience=patience)) for patience in (0, 1, 3)]
    assert best <= lengths[0] + 1e-9
    assert lengths == sorted(lengths)


def test_the_greedy_choice_can_be_worse_than_the_optimum():
    world = listed(*GREEDY_IS_WORSE)
    np.testing.assert_allclose(gains(world), [0, np.log(2) - 0.75 * (np.log(3) - 2 / 3 * np.log(2)), 0], atol=1e-12)
    greedy, best = chase(world, ip.Confidence(0)), optimal_strategy(world, ip.Confidence(0))
    assert (greedy.root.query, best.root.query) == (1, 0)
    assert (expected_length(greedy), expected_length(best)) == pytest.approx((2.25, 2.0))
    assert sufficiency(greedy) == pytest.approx(0, abs=1e-12)
    assert sufficiency(best) == pytest.approx(0, abs=1e-12)


def test_the_greedy_choice_can_be_the_optimum():
    # the label is bit 0; the other bits are noise
    values = list(itertools.product((0, 1), repeat=3))
    world = listed(values, [v[0] for v in values])
    assert chase(world, ip.Confidence(0)).tree == optimal_strategy(world, ip.Confidence(0)).tree
    assert expected_length(chase(world, ip.Confidence(0))) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_no_pursuit_lies_below_the_frontier(seed):
    made = tiny_world(200 + seed)
    world = enumerate_world(made.model, made.queries)
    found = frontier(world)
    for stopping in (ip.Confidence(0.1), ip.InformationGain(0.05), ip.MaxQueries(1), ip.MaxQueries(2)):
        strategy = chase(world, stopping)
        shortest = found.shortest(sufficiency(strategy))
        assert expected_length(shortest) <= expected_length(strategy) + 1e-9


@pytest.mark.parametrize("n_bits", [2, 3, 4])
def test_xor_needs_patience(n_bits):
    world = xor_world(n_bits)
    assert information(world) == pytest.approx(np.log(2))
    hasty = chase(world, ip.InformationGain(0), patience=n_bits - 2)
    assert expected_length(hasty) == pytest.approx(n_bits - 2)
    assert sufficiency(hasty) == pytest.approx(np.log(2))
    patient = chase(world, ip.InformationGain(0), patience=n_bits - 1)
    assert expected_length(patient) == pytest.approx(n_bits)
    assert sufficiency(patient) == pytest.approx(0, abs=1e-12)
    assert gains_by_step(patient) == pytest.approx([0] * (n_bits - 1) + [np.log(2)], abs=1e-12)
    assert expected_length(optimal_strategy(world, within(0))) == pytest.approx(n_bits)


# ---- Proposition 1 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
def test_proposition_1_for_pursuits(seed):
    rng = np.random.default_rng(300 + seed)
    made = random_world(rng)
    world = enumerate_world(made.model, made.queries)
    rules = random_rules(rng)
    strategy = pursuit_tree(made.pursuit(rules, patience=int(rng.integers(2))), world)
    assert sum_of_gains(strategy) == pytest.approx(information(world) - sufficiency(strategy), **CLOSE)
    # and the terms are what the engine promised before it asked, on average over the inputs
    trace = made.pursuit(rules, patience=0).run_values(world.values)
    promised = world.probabilities @ trace.gains
    assert gains_by_step(pursuit_tree(made.pursuit(rules), world)) == pytest.approx(promised, **CLOSE)


def test_proposition_1_for_optimal_strategies_and_all_trees(tiny):
    reverse_differs = 0
    for world, truth, trees in tiny:
        table = truth.joint.sum(axis=1).T
        assert information(world) == pytest.approx(mutual_information(table), **CLOSE)
        strategies = [
            optimal_strategy(world, ip.Confidence(0.1)),
            shortest_sufficient(world, trees[0].divergence / 2 + 0.2),
        ]
        for strategy in strategies:
            assert sum_of_gains(strategy) == pytest.approx(information(world) - sufficiency(strategy), **CLOSE)
            # a control: with the divergence the other way round it is no identity
            p, q = world.posteriors, strategy.explained
            with np.errstate(divide="ignore"):
                reverse = world.probabilities @ (q * np.where(q > 0, np.log(np.where(q > 0, q, 1) / p), 0)).sum(axis=1)
            reverse_differs += abs(information(world) - reverse - sum_of_gains(strategy)) > 1e-3
        # stopping at once leaves everything
        assert trees[0].divergence == pytest.approx(information(world), **CLOSE)
    assert reverse_differs > 10


def test_what_nobody_asks_about_stays_unknown():
    """X is all variables: where the label hangs on one that no query sees, no strategy is sufficient."""
    made = tiny_world(4)  # the kind with a hidden variable
    world = enumerate_world(made.model, made.queries)
    everything = chase(world, ip.MaxQueries(2))
    assert sufficiency(everything) > 1e-3
    assert sum_of_gains(everything) == pytest.approx(information(world) - sufficiency(everything), **CLOSE)
    with pytest.raises(ValueError, match=r"epsilon=0 is out of reach.*E\[KL\] is still 0\.\d+ nats.*add queries"):
        shortest_sufficient(world, 0)


# ---- what is refused ----------------------------------------------------------------------------------------------


def test_worlds_that_are_too_large_are_refused(monkeypatch):
    many = ip.models.TableModel([0.5, 0.5], None, np.full((2, 2000), 0.5))
    names = [str(i) for i in range(2000)]
    with pytest.raises(
        ValueError, match=r"2000 variables with about 1e602 joint values, more than 65536.*fewer variables"
    ):
        enumerate_world(many, ip.queries.concepts(names))
    seventeen = ip.models.TableModel([0.5, 0.5], None, np.full((2, 17), 0.5))
    with pytest.raises(ValueError, match="17 variables with 131072 joint values"):
        enumerate_world(seventeen, ip.queries.concepts(names[:17]))
    wide = ip.queries.patches((4, 4), size=(1, 2))
    queries = Given([str(i) for i in range(300)], [2] * 16, np.arange(300)[:, None] % 16)
    with pytest.raises(
        ValueError, match=r"300 queries for 65536 joint values of the variables, 19660800 answers.*fewer queries"
    ):
        enumerate_world(ip.models.TableModel([0.5, 0.5], None, np.full((2, 16), 0.5)), queries)
    sixteen = ip.models.TableModel([0.5, 0.5], None, np.linspace(0.1, 0.9, 32).reshape(2, 16))
    world = enumerate_world(sixteen, wide)
    assert len(world) == 2**16
    monkeypatch.setattr("theory.sets.MAX_WORK", 2**20)
    with pytest.raises(ValueError, match=r"too large for an exact search: 65536 inputs, 12 queries.*fewer variables"):
        optimal_strategy(world, lambda world, inputs: len(inputs) == 1)
    small = enumerate_world(*(lambda w: (w.model, w.queries))(tiny_world(0)))
    monkeypatch.setattr("theory.optimal.MAX_POINTS", 10)
    with pytest.raises(ValueError, match=r"too many strategies \(.* inputs, 3 queries\): more than 10 pairs.*within"):
        frontier(small)


def test_continuous_latents_are_refused():
    vae = ip.models.VAE((2, 2), [0.5, 0.5], ip.models.MLPArchitecture((4,)), 2)
    queries = ip.queries.concepts(["wings", "beak"])
    message = r"model is a VAE, and theory sums over finitely many latent states; give a finite model such as"
    with pytest.raises(TypeError, match=message):
        enumerate_world(vae, queries)
    pursuit = ip.generative_pursuit(vae, queries, ip.strategies.SMC(n_draws=4))
    with pytest.raises(TypeError, match=message):
        pursuit_tree(pursuit)
    with pytest.raises(ValueError, match="world belongs to another model"):
        pursuit_tree(pursuit, xor_world())


def test_what_makes_no_sense_is_refused():
    world = xor_world()
    with pytest.raises(ValueError, match=r"MaxQueries\(n=3\).*looks at more than what is known"):
        optimal_strategy(world, ip.Confidence(0.1) | ip.MaxQueries(3))
    with pytest.raises(ValueError, match=r"patience=2.*without patience"):
        optimal_strategy(world, ip.Confidence(0.1, patience=2))
    with pytest.raises(TypeError, match=r"stopping is 0\.1; expected a rule"):
        optimal_strategy(world, 0.1)
    for refuses in (within, lambda epsilon: shortest_sufficient(world, epsilon)):
        with pytest.raises(ValueError, match=r"epsilon=-0\.1 must not be negative"):
            refuses(-0.1)
    with pytest.raises(ValueError, match="n_bits=1"):
        xor_world(1)
    with pytest.raises(ValueError, match=r"sizes \(2, 2, 2\).*sizes \(2, 2\)"):
        enumerate_world(world.model, ip.queries.concepts(["a", "b", "c"]))
    with pytest.raises(ValueError, match="another model or query set"):
        pursuit_tree(ip.generative_pursuit(world.model, world.queries), xor_world())
    with pytest.raises(ValueError, match=r"joint has shape \(1, 2\)"):
        table_world(world.queries, [[0, 0], [0, 1]], [[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"values\[1\] has an unknown variable"):
        table_world(world.queries, [[0, 0], [0, -1]], np.eye(2))


@pytest.mark.parametrize("name", ["", "coding", "optimal", "strategy", "termination", "world"])
def test_the_examples_run(name):
    module = importlib.import_module(f"theory.{name}".rstrip("."))
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_public_names_are_sorted():
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)
