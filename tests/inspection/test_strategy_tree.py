"""The tree of a pursuit against all histories of small worlds, written down one by one."""

import json

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.evaluation.inspection import strategy_tree
from theory import pursuit_tree
from worlds import KINDS, random_rules, world_of

ALL = {"min_share": 0.0, "max_branches": 10_000}
SEEDS = range(5)


def by_history(tree):
    """history -> node of all that can happen; branches with nothing behind them are left out."""
    found = {node.history: node for node in tree.nodes()}
    assert len(found) == sum(1 for _ in tree.nodes()), "a history stands in the tree twice"
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_node_is_the_truth_about_its_history(kind, seed):
    world, rng = world_of((seed, 1), kind=kind)
    rules = random_rules(rng)
    pursuit = world.pursuit(rules, patience=int(rng.integers(0, 2)))
    tree = strategy_tree(pursuit, 4, **ALL)
    assert tree.root.probability == 1
    for history, node in by_history(tree).items():
        assert node.probability == pytest.approx(world.truth.probability(history), abs=1e-9)
        np.testing.assert_allclose(node.posterior, world.truth.posterior(history), atol=1e-9)
        np.testing.assert_allclose(node.posterior, pursuit.believe(history), atol=1e-12)
        if node.branches:
            assert sum(branch.probability for branch in node.branches) == pytest.approx(node.probability, abs=1e-9)
            assert all(branch.node is not None for branch in node.branches)
        if node.query >= 0:
            assert node.gain == pytest.approx(world.truth.gain(node.query, history), abs=1e-8)
    assert sum(leaf.probability for leaf in tree.leaves()) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_strategy_found_by_running_every_input(kind):
    """Down to the last question: the tree of `theory`, which runs the pursuit on all inputs of the world."""
    world, _ = world_of(3, kind=kind, zeros=False)
    pursuit = world.pursuit([("confidence", 0.1, None)])
    tree = by_history(strategy_tree(pursuit, len(world.queries), **ALL))
    expected = pursuit_tree(pursuit).tree
    assert {h: "STOP" if node.query < 0 else node.query for h, node in tree.items()} == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_take_the_way_that_their_trace_takes(kind, seed):
    """Impossible and unknown answers included."""
    world, rng = world_of((seed, 2), kind=kind)
    pursuit = world.pursuit([("confidence", 0.05, None), ("max_queries", 4)])
    values = world.inputs(rng, 60, unknown=0.15)
    labels = rng.integers(len(world.prior), size=60)
    trace = pursuit.run_values(values)
    found = by_history(strategy_tree(pursuit, 3, X=values_as_inputs(world, values), y=labels, **ALL))
    histories = [trace.history(i) for i in range(len(trace))]
    for history, node in found.items():
        mine = [i for i, h in enumerate(histories) if h[: len(history)] == history]
        assert node.n_inputs == len(mine), history
        best = trace.classes[int(np.argmax(node.posterior))]
        assert node.n_right == int((labels[mine] == best).sum())
        if node.stop_reason:
            assert {str(trace.stop_reason[i]) for i in mine} <= {node.stop_reason}
        elif mine:
            assert {int(trace.queries[i, len(history)]) for i in mine} == {node.query}
    assert {h[:k] for h in histories for k in range(min(len(h), 3) + 1)} <= set(found)


def values_as_inputs(world, values):
    """What `observe` makes these values of."""
    X = np.where(values < 0, np.nan, values.astype(float))
    shape = getattr(world.queries, "shape", None)
    return X if shape is None else X.reshape(len(X), *shape)


def test_no_stop_is_the_beginning_of_another_history():
    world, _ = world_of(11, kind="mixed")
    tree = strategy_tree(world.pursuit([("confidence", 0.2, None)]), 6, **ALL)
    histories = [leaf.history for leaf in tree.leaves()]
    for a in histories:
        assert not [b for b in histories if a != b and b[: len(a)] == a]


def wide_pursuit(shape=(4, 4), size=4, seed=0):
    rng = np.random.default_rng(seed)
    model = ip.models.TableModel([0.5, 0.5], None, rng.choice([0.03, 0.5, 0.95], size=(2, shape[0] * shape[1])))
    return ip.generative_pursuit(
        model, ip.queries.patches(shape, size=size), stopping=ip.MaxQueries(2), classes=["a", "b"]
    )


def test_the_most_probable_of_very_many_answers_are_found():
    """65,536 patterns; those shown are the most probable of all, by the product over pixels."""
    pursuit = wide_pursuit()
    tree = strategy_tree(pursuit, 1, min_share=0.001, max_branches=6)
    probs = pursuit.model.probs[1::2].T  # (2, 16)
    bits = (np.arange(2**16)[:, None] >> np.arange(15, -1, -1)) & 1
    p = 0.5 * sum(np.where(bits, row, 1 - row).prod(axis=1) for row in probs)
    best = np.sort(p)[::-1]
    *shown, others = tree.root.branches
    np.testing.assert_allclose([branch.probability for branch in shown], best[:5], rtol=1e-9)
    assert others.node is None
    assert others.n_answers == 2**16 - 5
    assert others.said == "65,531 other answers"
    assert others.probability == pytest.approx(1 - best[:5].sum())


def test_pixels_that_were_seen_leave_fewer_answers():
    """Two patches of 2 x 2 share two pixels, so that four patterns are left for the second, not sixteen."""
    tree = strategy_tree(wide_pursuit((2, 3), 2, seed=4), 2, **ALL)
    assert len(tree.root.branches) == 16
    for branch in tree.root.branches:
        assert len(branch.node.branches) == 4


def test_answer_noise_counts():
    """A wrong answer is as probable as the noise says: 0.9 of 0.8, and 0.1 of 0.2."""
    model = ip.models.TableModel([0.5, 0.5], None, [[0.8], [0.8]])
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts(["a"]), stopping=ip.MaxQueries(1), noise=ip.AnswerNoise(0.9)
    )
    no, yes = strategy_tree(pursuit, 1, **ALL).root.branches
    assert (no.probability, yes.probability) == pytest.approx((0.26, 0.74))


def test_rare_ways_are_put_together():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.995, 0.5], [0.999, 0.4]])
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts(["wings", "red"]), stopping=ip.MaxQueries(2), classes=["crow", "cat"]
    )
    tree = strategy_tree(pursuit, 2, min_share=0.01)
    red = {branch.said: branch for branch in tree.root.branches}
    assert set(red) == {"no", "yes"}
    rare = red["no"].node.branches[-1]
    assert (rare.said, rare.node, rare.n_answers) == ("no", None, 1)
    assert rare.probability == pytest.approx(0.5 * (0.5 * 0.005 + 0.6 * 0.001))
    with_inputs = strategy_tree(pursuit, 2, X=[[0, 0], [1, 1]], min_share=0.01)
    assert with_inputs.root.branches[0].node.branches[0].node.n_inputs == 1


def test_an_answer_that_is_not_known_has_its_own_way():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.4]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["wings", "red"]), stopping=ip.MaxQueries(2))
    tree = strategy_tree(pursuit, 2, X=[[np.nan, 1], [1, 0], [0, 0]])
    assert [(b.said, b.n_inputs, round(b.probability, 6)) for b in tree.root.branches] == [
        ("not known", 1, 0.0),
        ("no", 1, 0.5),
        ("yes", 1, 0.5),
    ]


def test_text_is_eighty_columns_wide_and_tells_every_node():
    names = ["a question of very many words that no terminal has the room for, whatever its width is", "red", "old"]
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6, 0.7], [0.1, 0.4, 0.2]])
    classes = ["a class with a name that is much too long for a column", "cat"]
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(names), stopping=ip.Confidence(0.001), classes=classes)
    tree = strategy_tree(pursuit, 3, X=np.eye(3), y=[classes[0], "cat", "cat"])
    for width in (60, 80, 110):
        lines = tree.to_text(width=width).splitlines()
        assert max(map(len, lines)) <= width
    text = str(tree)
    assert text.count("─ ") == sum(1 for _ in tree.nodes()) - 1
    assert text.count("stop: ") == sum(node.stopped for node in tree.nodes())
    assert "3 inputs" in text
    assert "(exhausted)" in text


def test_json_has_all_of_it():
    tree = strategy_tree(wide_pursuit((2, 3), 2, seed=4), 2, X=np.zeros((3, 2, 3)), y=["a", "a", "b"])
    data = json.loads(tree.to_json())
    assert data["format"] == "infopursuit.strategy/3"
    assert data["n_inputs"] == 3
    nodes, waiting = 0, [data["tree"]]
    while waiting:
        node = waiting.pop()
        nodes += 1
        assert sum(node["posterior"]) == pytest.approx(1)
        waiting += [branch["then"] for branch in node["branches"] if branch["then"] is not None]
    assert nodes == sum(1 for _ in tree.nodes())
    assert data["tree"]["branches"][0]["answer"] == tree.root.branches[0].said


def test_rules_are_the_leaves_as_sentences():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.2, 0.5]])
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts(["wings", "red"]), stopping=ip.MaxQueries(1), classes=["crow", "cat"]
    )
    tree = strategy_tree(pursuit, X=[[1, 1], [1, 0], [0, 0]])
    assert tree.rules() == [
        "If wings: yes: crow (82 %); 55 % come here, 2 of 3 inputs.",
        "If wings: no: cat (89 %); 45 % come here, 1 of 3 inputs.",
    ]
    assert strategy_tree(pursuit, 0).rules() == ["In any case: crow (50 %), and it asks on; 100 % come here."]


def test_a_classifier_and_a_bank_have_trees_too():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 5))
    y = np.where(X[:, 0] + X[:, 1] > 1, "both", "not")
    clf = ip.InformationPursuitClassifier(ip.queries.concepts(list("abcde")), strategy="empirical").fit(X, y)
    exact = strategy_tree(clf, 2, **ALL)
    bank = ip.generative_pursuit(clf.model_, clf.queries_, belief="pruned", classes=clf.classes_)
    for a, b in zip(exact.nodes(), strategy_tree(bank, 2, **ALL).nodes(), strict=True):
        assert a.history == b.history
        assert a.probability == pytest.approx(b.probability, abs=1e-3)


def test_mistakes_are_named():
    pursuit = wide_pursuit((2, 2), 2)
    with pytest.raises(TypeError, match="strategy is str"):
        strategy_tree("animals")
    with pytest.raises(ValueError, match="depth=-1"):
        strategy_tree(pursuit, -1)
    with pytest.raises(ValueError, match=r"min_share=1\.5"):
        strategy_tree(pursuit, min_share=1.5)
    with pytest.raises(ValueError, match="max_branches=1"):
        strategy_tree(pursuit, max_branches=1)
    with pytest.raises(ValueError, match=r"y has shape .* in X"):
        strategy_tree(pursuit, y=["a"])
    with pytest.raises(ValueError, match=r"y has shape \(1,\)"):
        strategy_tree(pursuit, X=np.zeros((2, 2, 2)), y=["a"])


def test_a_tree_that_nobody_could_read_is_refused():
    model = ip.models.TableModel([0.5, 0.5], None, np.random.default_rng(0).uniform(0.3, 0.7, size=(2, 14)))
    pursuit = ip.generative_pursuit(model, ip.queries.concepts([f"q{i}" for i in range(14)]), stopping=ip.Confidence(0))
    with pytest.raises(ValueError, match="depth=14 with min_share=0"):
        strategy_tree(pursuit, 14, min_share=0)
