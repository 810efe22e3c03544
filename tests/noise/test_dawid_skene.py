"""Reliability learnt from repeated answers: the truth recovered, EM's promise, a brute-force maximum, and controls."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from infopursuit.annotators import FIELDS, PREVALENCE, dawid_skene

GOOD = np.array([[0.95, 0.05], [0.1, 0.9]])
FAIR = np.array([[0.8, 0.2], [0.3, 0.7]])
YEA = np.array([[0.5, 0.5], [0.02, 0.98]])  # says yes too often


def simulate(tables, *, n_items, prevalences, answered=1.0, seed=0):
    """Every annotator about every item and query, with a share of the answers; returns records and the true answers."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for q, prevalence in enumerate(prevalences):
        for item in range(n_items):
            true = rng.choice(len(prevalence), p=prevalence)
            truth[item, f"q{q}"] = int(true)
            for name, table in tables.items():
                if rng.random() < answered:
                    rows.append((item, f"q{q}", name, int(rng.choice(len(prevalence), p=table[true]))))
    return pd.DataFrame(rows, columns=["item", "query", "annotator", "answer"]), truth


def prior_table(k, right=0.8):
    return np.where(np.eye(k, dtype=bool), right, (1 - right) / (k - 1))


# ---- the truth ------------------------------------------------------------------------------------------------------


def test_known_tables_are_recovered():
    """1,200 items: the standard error of an entry is about 0.01 to 0.02; asked for is 0.05."""
    tables = {"Ann": GOOD, "Bob": FAIR, "Cem": YEA, "Dee": GOOD[::-1, ::-1]}
    records, truth = simulate(tables, n_items=400, prevalences=[(0.3, 0.7), (0.6, 0.4), (0.5, 0.5)])
    found = dawid_skene(records, 2)
    for name, table in tables.items():
        np.testing.assert_allclose(found.confusion_matrices[name], table, atol=0.05, err_msg=name)
    np.testing.assert_allclose(found.prevalence["q0"], (0.3, 0.7), atol=0.06)
    np.testing.assert_allclose(found.prevalence["q1"], (0.6, 0.4), atol=0.06)
    guessed = dict(zip(found.tasks, found.truth.argmax(axis=1).tolist(), strict=True))
    votes = records.groupby(["item", "query"])["answer"].mean()
    by_vote = np.mean([(votes[task] > 0.5) == true for task, true in truth.items()])
    by_model = np.mean([guessed[task] == true for task, true in truth.items()])
    assert by_model > by_vote + 0.005  # or weighing the annotators would be for nothing


def test_three_choices_and_gaps():
    rng = np.random.default_rng(1)
    tables = {f"a{i}": 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), size=3) for i in range(5)}
    records, _ = simulate(tables, n_items=900, prevalences=[(0.5, 0.3, 0.2)], answered=0.7, seed=2)
    found = dawid_skene(records, 3)
    for name, table in tables.items():
        np.testing.assert_allclose(found.confusion_matrices[name], table, atol=0.1, err_msg=name)


def test_with_true_answers_it_is_counting():
    records, truth = simulate({"Ann": FAIR, "Bob": YEA}, n_items=60, prevalences=[(0.4, 0.6)])
    found = dawid_skene(records, 2, truth=truth, prior_accuracy=0.9, prior_weight=10)
    for name in ("Ann", "Bob"):
        mine = records[records["annotator"] == name]
        counts = 10 * prior_table(2, 0.9)
        for item, query, said in zip(mine["item"], mine["query"], mine["answer"], strict=True):
            counts[truth[item, query], said] += 1
        np.testing.assert_allclose(found.confusion_matrices[name], counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(found.truth, np.eye(2)[[truth[task] for task in found.tasks]])


def test_some_true_answers_help():
    """Three annotators who guess, one who knows: only gold says who that is."""
    rng = np.random.default_rng(4)
    tables = {"knows": GOOD, **{f"g{i}": np.full((2, 2), 0.5) for i in range(3)}}
    records, truth = simulate(tables, n_items=200, prevalences=[(0.5, 0.5)], seed=5)
    gold = {task: truth[task] for task in list(truth) if rng.random() < 0.3}
    with_gold = dawid_skene(records, 2, truth=gold)
    np.testing.assert_allclose(with_gold.confusion_matrices["knows"], GOOD, atol=0.1)
    for i in range(3):
        np.testing.assert_allclose(with_gold.confusion_matrices[f"g{i}"], 0.5, atol=0.12)


# ---- controls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_one_answerer_alone_tells_nothing_about_itself(share):
    """One answer for each item: wrong answers and rare truths look the same, so the table stays the prior's."""
    n = 500
    said = (np.arange(n) < share * n).astype(int)
    found = dawid_skene({"item": np.arange(n), "query": ["q"] * n, "annotator": ["only"] * n, "answer": said}, 2)
    np.testing.assert_allclose(found.confusion_matrices["only"], prior_table(2), atol=0.02)


def test_few_answers_give_no_certainty():
    found = dawid_skene({"item": [0, 0], "query": [0, 0], "annotator": ["a", "b"], "answer": [1, 1]}, 2)
    for table in found.confusion_matrices.values():
        assert (table > 0.1).all()
        assert (table < 0.9).all()
    assert 0.8 < found.truth[0, 1] < 0.999


# ---- expectation maximisation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_no_iteration_lowers_the_objective(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    tables = {f"a{i}": rng.dirichlet(np.ones(k), size=k) for i in range(4)}
    records, _ = simulate(tables, n_items=25, prevalences=[np.full(k, 1 / k)] * 2, answered=0.8, seed=seed)
    found = dawid_skene(records, k)
    assert len(found.objective) > 3
    assert (np.diff(found.objective) >= -1e-9).all()


def naive_objective(records, k, tables, prevalence, extra):
    """The density of everything, by summing over every truth of every task; written without a look at the package."""
    total = 0.0
    tasks = {(item, query) for item, query, _, _ in records}
    for task in tasks:
        likelihood = 0.0
        for true in range(k):
            product = prevalence[task[1]][true]
            for item, query, annotator, said in records:
                if (item, query) == task:
                    product *= tables[annotator][true, said]
            likelihood += product
        total += np.log(likelihood)
    total += sum((extra * np.log(table)).sum() for table in tables.values())
    return total + sum(PREVALENCE * np.log(p).sum() for p in prevalence.values())


def test_the_objective_is_what_it_says_and_its_maximum_is_found():
    """Against a general optimiser from many places, on eight answers."""
    records = [(0, "q", "a", 1), (0, "q", "b", 1), (1, "q", "a", 0), (1, "q", "b", 1)]
    records += [(2, "q", "a", 0), (2, "q", "b", 0), (3, "q", "a", 1), (3, "q", "b", 1)]
    extra = 3.0 * prior_table(2, 0.7)
    columns = dict(zip(FIELDS, zip(*records, strict=True), strict=True))
    found = dawid_skene(columns, 2, prior_accuracy=0.7, prior_weight=3.0)
    own = naive_objective(records, 2, found.confusion_matrices, found.prevalence, extra)
    assert found.objective[-1] == pytest.approx(own, abs=1e-10)

    def tables_of(x):
        p = 1 / (1 + np.exp(-np.asarray(x)))
        tables = {name: np.array([[1 - p[i], p[i]], [1 - p[i + 1], p[i + 1]]]) for name, i in (("a", 1), ("b", 3))}
        return tables, {"q": np.array([1 - p[0], p[0]])}

    best = -np.inf
    for start in itertools.product((-1.5, 1.5), repeat=5):
        done = minimize(lambda x: -naive_objective(records, 2, *tables_of(x), extra), start, method="BFGS")
        best = max(best, -done.fun)
    assert found.objective[-1] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_right_answers_stay_right(seed):
    """Labels are not switched, not even where one of them is rare or annotators are hardly better than chance."""
    rng = np.random.default_rng(seed)
    tables = {f"a{i}": prior_table(2, rng.uniform(0.6, 0.9)) for i in range(4)}
    records, truth = simulate(tables, n_items=80, prevalences=[(0.9, 0.1), (0.15, 0.85)], seed=seed)
    found = dawid_skene(records, 2)
    assert min(found.accuracy().values()) > 0.5
    right = np.mean([p.argmax() == truth[task] for task, p in zip(found.tasks, found.truth, strict=True)])
    assert right > 0.7


def test_it_is_a_function_of_the_answers():
    records, _ = simulate({"a": GOOD, "b": FAIR, "c": YEA}, n_items=40, prevalences=[(0.4, 0.6)])
    one, two = dawid_skene(records, 2), dawid_skene(records, 2)
    assert one.objective == two.objective
    shuffled = dawid_skene(records.sample(frac=1, random_state=0), 2)
    for name, table in one.confusion_matrices.items():
        np.testing.assert_allclose(shuffled.confusion_matrices[name], table, atol=1e-6)
    relabelled = dawid_skene(records.assign(answer=1 - records["answer"]), 2)
    for name, table in one.confusion_matrices.items():
        np.testing.assert_allclose(relabelled.confusion_matrices[name][::-1, ::-1], table, atol=1e-6)


TWO = {"item": [0, 0], "query": ["q", "q"], "annotator": ["a", "b"], "answer": [0, 1]}


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_missing_answers_are_skipped():
    records, _ = simulate({"a": GOOD, "b": FAIR}, n_items=20, prevalences=[(0.4, 0.6)])
    gaps = pd.concat([records.astype({"answer": float}), records.assign(answer=np.nan)], ignore_index=True)
    one, two = dawid_skene(records, 2), dawid_skene(gaps, 2)
    np.testing.assert_array_equal(one.confusion_matrices["a"], two.confusion_matrices["a"])
    lists = {name: records[name].tolist() for name in records}
    lists = {name: [*column, column[0]] for name, column in lists.items()}
    lists["answer"][-1] = None
    np.testing.assert_array_equal(dawid_skene(lists, 2).confusion_matrices["a"], one.confusion_matrices["a"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_choices": 1}, "n_choices=1"),
        ({"prior_accuracy": 0.5}, r"prior_accuracy=0.5; expected a share above 1 / 2 \(guessing\)"),
        ({"prior_weight": 0}, "prior_weight=0"),
        ({"truth": {(0, "q"): "yes"}}, r"truth\[\(0, 'q'\)\] is 'yes'; expected the index of a choice, 0 to 1"),
        ({"records": {"item": [0]}}, "records has no column 'query'"),
        ({"records": {**TWO, "answer": [0, 2]}}, "answer is 2; expected the index of a choice"),
        ({"records": {**TWO, "answer": [-1, None]}}, "records hold no answer"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(change, message):
    arguments = {"records": TWO, "n_choices": 2} | change
    with pytest.raises(ValueError, match=message):
        dawid_skene(**arguments)
