"""CART beside a pursuit: its questions, its cuts, its tree in words, and how far the two agree."""

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import infopursuit as ip
from infopursuit.evaluation.baselines import answer_matrix, fit_tree
from infopursuit.inspection.cart import cart_of_length, cart_tree, compare_with_cart, validated_cart


@pytest.fixture(scope="module")
def table():
    """Eight yes/no questions, three classes, some noise."""
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.05, 0.95, size=(3, 8))
    y = rng.integers(3, size=600)
    X = (rng.random((600, 8)) < probs[y]).astype(int)
    queries = ip.queries.concepts([f"question {a}" for a in range(8)])
    return queries, X, np.array(["ant", "bee", "cat"])[y]


def mean_questions(cart, values):
    return cart.questions[cart.ends(values)].mean()


@pytest.mark.parametrize("length", [0.0, 1.0, 2.0, 3.1, 4.0])
def test_it_asks_as_many_questions_as_wanted(table, length):
    queries, X, y = table
    cart = cart_of_length(queries, X[:400], y[:400], X[400:], length)
    assert mean_questions(cart, X[400:]) == pytest.approx(length, abs=0.35)
    paths = cart.paths(X[400:])
    np.testing.assert_array_equal((cart.asked(paths) >= 0).sum(axis=1), cart.questions[cart.ends(X[400:])])


def test_it_is_the_tree_that_scikit_learn_grows_with_as_many_leaves(table):
    queries, X, y = table
    cart = cart_of_length(queries, X[:400], y[:400], X[400:], 2.5)
    same = DecisionTreeClassifier(random_state=0, max_leaf_nodes=cart.n_leaves).fit(
        answer_matrix(queries, X[:400]), y[:400]
    )
    np.testing.assert_array_equal(cart.predict(cart.ends(X[400:])), same.predict(answer_matrix(queries, X[400:])))
    assert same.get_n_leaves() == cart.n_leaves


def test_it_can_ask_no_more_than_all(table):
    queries, X, y = table
    cart = cart_of_length(queries, X[:400], y[:400], X[400:], 100.0)
    assert cart.rule == "grown out, it cannot ask more"
    assert not cart.split[cart.ends(X)].any()


def test_the_validated_tree_is_the_baseline(table):
    queries, X, y = table
    cart, tree = validated_cart(queries, X[:400], y[:400]), fit_tree(queries, X[:400], y[:400])
    np.testing.assert_array_equal(cart.predict(cart.ends(X[400:])), tree.predict(X[400:]))


def test_the_tree_in_words_sends_inputs_where_cart_does(table):
    queries, X, y = table
    cart = cart_of_length(queries, X[:400], y[:400], X[400:], 2.5)
    tree = cart_tree(cart, ["ant", "bee", "cat"], 20, values=X[400:], labels=y[400:], min_share=0.0)
    told = 0
    for node in tree.nodes():
        mine = np.ones(200, dtype=bool)
        for query, said in node.path:
            mine &= X[400:, query] == (said == "yes")
        assert node.n_inputs == mine.sum()
        guess = tree.classes[int(np.argmax(node.posterior))]
        assert node.n_right == (y[400:][mine] == guess).sum()
        if node.stopped:
            told += node.n_right
        else:
            assert sum(branch.probability for branch in node.branches) == pytest.approx(node.probability)
            assert node.gain >= 0
    assert told == (cart.predict(cart.ends(X[400:])) == y[400:]).sum()
    assert len(tree.leaves()) == cart.n_leaves
    assert "stop: " in tree.to_text()


def test_answers_that_go_together_are_named():
    """A category is one against the rest, a patch is cut in the order of its patterns."""
    pd = pytest.importorskip("pandas")
    shape = np.array(["round", "flat", "long", "long"] * 30)
    queries = ip.queries.columns(pd.DataFrame({"shape": shape}))
    cart = cart_of_length(queries, queries.observe(pd.DataFrame({"shape": shape})), shape == "flat", [[0], [1], [2]], 1)
    root = cart_tree(cart, [False, True], 2).root
    assert [(branch.said, branch.n_answers) for branch in root.branches] == [("not flat", 2), ("flat", 1)]
    images = np.random.default_rng(0).integers(0, 2, size=(200, 1, 3))
    patches = ip.queries.patches((1, 3), size=(1, 3))
    late = patches.observe(images) @ [4, 2, 1] > 4
    root = cart_tree(cart_of_length(patches, patches.observe(images), late, [[0, 0, 0]], 1), [False, True]).root
    assert [(branch.said, branch.n_answers) for branch in root.branches] == [("up to █··", 5), ("after █··", 3)]


def test_classes_that_cart_has_not_seen_have_no_share(table):
    queries, X, y = table
    seen = y != "bee"
    cart = cart_of_length(queries, X[seen], y[seen], X, 2.0)
    for node in cart_tree(cart, ["ant", "bee", "cat"]).nodes():
        assert node.posterior[1] == 0
        assert sum(node.posterior) == pytest.approx(1)


@pytest.fixture(scope="module")
def comparison(table):
    queries, X, y = table
    clf = ip.InformationPursuitClassifier(queries, strategy="table", stopping=ip.Confidence(0.1)).fit(X[:400], y[:400])
    return clf, compare_with_cart(clf, X[:400], y[:400], X[400:], y[400:])


def test_the_figures_are_those_of_the_trace_and_of_the_trees(table, comparison):
    queries, X, y = table
    clf, found = comparison
    trace = clf.explain(X[400:])
    ours, shorter, best = found.rows
    assert ours.accuracy == (trace.predictions == y[400:]).mean()
    assert ours.length == pytest.approx(trace.length.mean())
    assert found.n_paths[0] == len({trace.history(i) for i in range(200)})
    assert shorter.length == pytest.approx(ours.length, abs=0.35)
    assert best.accuracy == (fit_tree(queries, X[:400], y[:400]).predict(X[400:]) == y[400:]).mean()
    for row, difference in zip((shorter, best), found.differences, strict=True):
        assert row.low < row.accuracy < row.high
        assert difference.mean == pytest.approx(ours.accuracy - row.accuracy)


def test_agreement_is_counted_input_by_input(table, comparison):
    queries, X, y = table
    clf, found = comparison
    trace = clf.explain(X[400:])
    cart = cart_of_length(queries, X[:400], y[:400], X[400:], float(trace.length.mean()))
    theirs = cart.asked(cart.paths(X[400:]))
    shared = total = 0
    for i in range(200):
        mine = [q for q in trace.queries[i].tolist() if q >= 0]
        total += len(mine)
        shared += len(set(mine) & set(theirs[i].tolist()))
    assert found.shared == pytest.approx(shared / total)
    first = found.agreement[0]
    assert first.n_inputs == 200
    assert first.same_query == (trace.queries[:, 0] == theirs[:, 0]).sum()
    assert all(each.same_topic >= each.same_query for each in found.agreement)


def test_text_and_json(comparison):
    _, found = comparison
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    for words in ("the pursuit", "CART of that length", "as question 1", "of CART (cut to as many questions"):
        assert words in text
    wide = found.to_text(width=160).splitlines()
    assert max(map(len, wide)) <= 160
    assert any(line.count("share") == 2 for line in wide)
    data = json.loads(found.to_json())
    assert [row["name"] for row in data["rows"]] == [row.name for row in found.rows]
    assert data["cart_tree"]["tree"]["history"] is None


def test_mistakes_are_named(table, comparison):
    _, X, y = table
    with pytest.raises(TypeError, match="strategy is str"):
        compare_with_cart("animals", X, y, X, y)
    with pytest.raises(ValueError, match=r"y_test has shape \(3,\)"):
        compare_with_cart(comparison[0], X, y, X, y[:3])
