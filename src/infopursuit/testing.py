"""Contract checks for parts of your own: beliefs, acquisition functions, models, query sets, and whole strategies.

Each check runs many assertions and raises an AssertionError that says what does not hold. The package's own parts pass
the same checks. They compare numbers to a tolerance, never bits, and need no test framework:

>>> import infopursuit as ip
>>> queries = ip.queries.concepts(["has wings", "is red"])
>>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
>>> check_model(model)
>>> check_belief(ip.strategies.Exact(model, queries), queries)
>>> check_strategy(ip.generative_pursuit(model, queries), [[1, 0], [0, 1]])
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from infopursuit.models.finite import FiniteModel
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.protocols import Budget, Estimate
from infopursuit.queries.choices import MAX_ANSWERS
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Number, Observed

__all__ = ["check_acquisition", "check_belief", "check_model", "check_queries", "check_strategy"]

TOLERANCE = 1e-9


def check_belief(
    belief: Any,
    queries: QuerySet,
    *,
    n_histories: int = 8,
    n_steps: int = 3,
    seed: int = 0,
    tolerance: float = TOLERANCE,
) -> None:
    """Check a `Belief`, and what its capabilities declare.

    Posteriors are normalised; ``update`` is pure, agrees for a batch and for each history alone, and does not depend on
    the order of rows; an unanswered query changes nothing; answer distributions are distributions.

    n_histories, n_steps, seed: how many random histories are tried, of how many answers. tolerance: how far numbers may
    differ.
    """
    rng = np.random.default_rng(seed)
    n_classes = int(belief.n_classes)
    b = belief.init()
    _check_posterior(belief.log_posterior(b), 1, n_classes, tolerance)
    histories, rows = Histories.empty(queries), np.zeros(n_histories, dtype=np.int64)
    _check_predictions(belief, b, queries, 1, tolerance)
    for _ in range(min(n_steps, len(queries))):
        query = _unasked(histories.queries[rows], len(queries), rng)
        answers = _random_answers(belief, b, rows, query, queries, rng)
        new = histories.extend(rows, query, answers)
        before = belief.log_posterior(b).value.copy()
        after = belief.update(b, rows, new)
        found = belief.log_posterior(after)
        _check_posterior(found, len(new), n_classes, tolerance)
        _close(belief.log_posterior(b).value, before, tolerance, "update changed the state that it was given")
        for h in range(len(new)):
            one = belief.update(b, rows[h : h + 1], new.take(slice(h, h + 1)))
            alone = belief.log_posterior(one).value[0]
            _close(np.exp(alone), np.exp(found.value[h]), tolerance, f"history {h}: alone and in a batch differ")
        order = rng.permutation(len(new))
        mixed = belief.log_posterior(belief.update(b, rows[order], new.take(order))).value
        _close(np.exp(mixed), np.exp(found.value[order]), tolerance, "the order of histories changes the posterior")
        possible = np.flatnonzero(~np.isnan(found.value).any(axis=1))
        assert len(possible), "every random history is impossible under this belief"
        skipped = histories.extend(rows, query, np.full_like(answers, UNKNOWN))
        silent = belief.log_posterior(belief.update(b, rows, skipped)).value
        _close(np.exp(silent), np.exp(before[rows]), tolerance, "a query without an answer changes the posterior")
        b, histories = belief.update(b, rows[possible], new.take(possible)), new.take(possible)
        rows = np.arange(len(possible))
        _check_predictions(belief, b, queries, len(possible), tolerance)


def check_acquisition(
    acquisition: Any,
    belief: Any,
    queries: QuerySet,
    *,
    costs: FloatArray | None = None,
    noise: Any = None,
    n_histories: int = 6,
    seed: int = 0,
    tolerance: float = TOLERANCE,
) -> None:
    """Check the `Acquisition` protocol with one belief.

    Utilities are (H, Q), NaN where a query is not allowed, the same when called again, alone or in a batch; gains in
    nats are not negative, and not above the entropy of the class where they are mutual information.
    """
    rng = np.random.default_rng(seed)
    assert acquisition.unit in ("nats", "score"), f"unit is {acquisition.unit!r}; expected 'nats' or 'score'"
    function = acquisition.bind(belief, queries, costs, noise)
    b, histories = belief.init(), Histories.empty(queries)
    rows = np.zeros(n_histories, dtype=np.int64)
    query = rng.integers(len(queries), size=n_histories)
    new = histories.extend(rows, query, _random_answers(belief, b, rows, query, queries, rng))
    after = belief.update(b, rows, new)
    possible = np.flatnonzero(~np.isnan(belief.log_posterior(after).value).any(axis=1))
    after, new = belief.update(b, rows[possible], new.take(possible)), new.take(possible)
    for state, h in ((b, histories), (after, new)):
        allowed = rng.random((len(h), len(queries))) < 0.7
        allowed[:, 0] = True
        if h.n_steps:
            allowed[np.arange(len(h)), h.queries[:, -1]] = False
            allowed[0] = False  # a row without any query needs no work
        found = function.utilities(state, h, allowed, Budget.unlimited(len(h)))
        assert found.value.shape == allowed.shape, f"utilities have shape {found.value.shape}; expected {allowed.shape}"
        assert found.error.shape == allowed.shape, f"errors have shape {found.error.shape}; expected {allowed.shape}"
        assert np.isnan(found.value[~allowed]).all(), "a query that is not allowed has a utility"
        for row in np.flatnonzero(allowed.any(axis=1)).tolist():
            assert np.isfinite(found.value[row][allowed[row]]).any(), "no allowed query has a utility"
        again = function.utilities(state, h, allowed, Budget.unlimited(len(h)))
        _close(again.value, found.value, tolerance, "called twice, the utilities differ")
        gains = np.nan_to_num(found.value, nan=0.0)
        if acquisition.unit == "nats":
            assert (gains >= -tolerance).all(), "an information gain is negative"
        if acquisition.unit == "nats" and belief.capabilities.gains:
            # a predictor whose posteriors do not average to the one before has no such bound
            p = np.exp(belief.log_posterior(state).value)
            bound = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
            slack = 4 * np.nan_to_num(found.error).max(axis=1) + max(tolerance, 1e-6)
            assert (gains.max(axis=1) <= bound + slack).all(), "an information gain exceeds the entropy of the class"
        for row in range(len(h)):
            here = slice(row, row + 1)
            parents = np.zeros(1, dtype=np.int64)
            alone = belief.update(b, parents, h.take(here)) if h.n_steps else b
            one = function.utilities(alone, h.take(here), allowed[here], Budget.unlimited(1))
            _close(one.value[0], found.value[row], tolerance, f"history {row}: alone and in a batch differ")


def check_model(model: FiniteModel, *, tolerance: float | None = None) -> None:
    """Check a finite model: shapes, distributions, parts of one table, and another class prior."""
    allowed = tolerance or (1e-9 if model.dtype == np.float64 else 1e-6)
    n_slots, sizes = model.variables.n_slots, np.diff(model.offsets)
    table = np.asarray(model.block(slice(0, n_slots)), dtype=np.float64)
    classes = np.repeat(np.arange(model.n_classes), sizes)
    assert isinstance(model.kind, str), f"kind is {model.kind!r}; expected a name"
    assert model.log_prior.shape == (model.n_states,), f"log_prior has shape {model.log_prior.shape}"
    assert table.shape == (n_slots, model.n_states), f"the table has shape {table.shape}"
    assert model.offsets[0] == 0, "offsets must begin with 0"
    assert (sizes >= 1).all(), "every class needs a state"
    assert np.array_equal(model.state_class, classes), "state_class does not agree with offsets"
    assert (table >= 0).all(), "a probability is negative"
    assert (table <= 1 + allowed).all(), "a probability is above 1"
    sums = np.add.reduceat(table, model.variables.offsets[:-1], axis=0)
    _close(sums, np.ones_like(sums), 10 * allowed, "the probabilities of a variable's values do not sum to 1")
    states, slots = np.array([model.n_states - 1, 0]), np.array([n_slots - 1, 0, 1])
    _close(model.state_probs(states), table[:, states], allowed, "state_probs does not agree with block")
    _close(model.rows(slots), table[slots], allowed, "rows does not agree with block")
    prior = np.exp(model.log_prior)
    _close(prior.sum(), 1.0, 1e-9, "the prior does not sum to 1")
    _close(np.bincount(classes, weights=prior), model.class_prior, 1e-9, "class_prior is another")
    before, wanted = model.log_prior.copy(), np.random.default_rng(0).dirichlet(np.ones(model.n_classes))
    other = model.with_class_prior(wanted)
    again = other.with_class_prior(model.class_prior)
    _close(other.class_prior, wanted, 1e-9, "with_class_prior has another prior")
    _close(again.log_prior, model.log_prior, 1e-9, "with_class_prior cannot be undone")
    _close(model.log_prior, before, 0.0, "with_class_prior changed the model")


def check_queries(queries: QuerySet, X: Any, *, functions: Any = None) -> None:
    """Check a query set on some inputs: ranges, single and batch, answers and choices, and its specification."""
    from infopursuit.queries import KINDS, from_spec

    values, answers = queries.observe(X), queries.answers(X)
    n = len(values)
    assert values.dtype == answers.dtype == np.int64, "values and answers must be integers"
    assert values.shape == (n, len(queries.variables)), f"observe gives shape {values.shape}"
    assert answers.shape == (n, len(queries), queries.width), f"answers gives shape {answers.shape}"
    queries.variables.check(values)
    assert (answers < queries.n_cells).all(), "an answer is out of range"
    unknown = (queries.query_variables < 0) | (values[:, queries.query_variables] == UNKNOWN)
    assert np.array_equal(answers == UNKNOWN, unknown), "an answer is -1 where its variable is known, or the reverse"
    read = queries.read(X)
    assert np.array_equal(read.values, values), "read gives other values than observe"
    assert (read.numbers is None) == (queries.representatives is None), "numbers without a numeric query, or none with"
    for i in range(n):
        assert np.array_equal(queries.observe(X[i : i + 1]), values[i : i + 1]), f"input {i} alone has other values"
    for q in range(len(queries) if read.numbers is not None else 0):
        numbers, scale = queries.numbers_of(read.numbers, np.full(n, q)), queries.scale(q)
        assert numbers is not None, f"query {q} has no numbers"
        cells = np.searchsorted(() if scale is None else scale.thresholds, numbers, side="left")
        cells = np.where(np.isnan(numbers) | (scale is None), UNKNOWN, cells)
        expected = answers[:, q, 0] if scale is not None else np.full(n, UNKNOWN)
        assert np.array_equal(cells, expected), f"the numbers of query {q} lie in other cells than its answers"
    for q in range(len(queries)):
        assert np.array_equal(queries.answers_of(values, np.full(n, q)), answers[:, q]), f"query {q} alone differs"
    assert len(set(queries.names)) == len(queries), "two queries have the same name"
    for q in range(len(queries)):
        _check_query(queries, q)
        for cells in answers[:, q]:
            answer = queries.to_answer(q, cells)
            assert (answer is None) == (cells == UNKNOWN).all(), f"{cells} was read as {answer}"
            assert isinstance(queries.say_answer(q, answer), str), "an answer has no words"
    assert queries.answers(X[:0]).shape == (0, len(queries), queries.width), "an empty batch must have no answers"
    if queries.kind in KINDS:
        again = from_spec(queries.kind, json.loads(json.dumps(queries.to_spec())), functions=functions)
        assert type(again) is type(queries), f"its specification makes a {type(again).__name__}"
        assert again.names == queries.names, "its specification makes other queries"
        assert np.array_equal(again.answers(X), answers), "its specification makes other answers"
        assert again.to_spec() == queries.to_spec(), "its specification changes"


def _check_query(queries: QuerySet, q: int) -> None:
    """The words of a query, and its answers: by name, by index, as numbers; and what is no answer."""
    query, scale = queries[q], queries.scale(q)
    by_index = scale is None and q not in queries.number_labels
    assert (query.index, query.name) == (q, queries.names[q]), f"query {q} says that it is {query}"
    assert query.sentence.endswith("?"), f"the sentence {query.sentence!r} is no question"
    assert len(query.choices) == queries.n_answers[q] >= 2, f"query {q} has {queries.n_answers[q]} answers"
    some = query.choices[: MAX_ANSWERS if queries.n_answers[q] <= MAX_ANSWERS else 256]
    assert len(set(some)) == len(some), f"choices of query {q}"
    for index, choice in enumerate(some):
        answer = queries.to_answer(q, choice)
        assert answer == queries.to_answer(q, answer), f"answer {choice!r}"
        assert not by_index or answer == queries.to_answer(q, index), f"answer {choice!r} by its index {index}"
    assert queries.to_answer(q, None) is None, "None is no answer"
    for cell, number in enumerate(() if scale is None else scale.representatives):
        assert scale is not None
        answer = queries.to_answer(q, Number(number, (cell,)))
        assert answer == Number(number, (cell,)), f"the number {number} of cell {cell} was read as {answer}"
        assert scale.write(number) in queries.say(q, answer), "the number is not said"
    numbers: tuple[Any, ...] = (len(query.choices), -2, 0.5) if by_index else (np.inf,)
    for nonsense in ("nonsense", [0] * (queries.width + 1), {}, *numbers):
        said = ""
        try:
            queries.to_answer(q, nonsense)
        except ValueError as error:
            said = str(error)
        assert said, f"{nonsense!r} was taken for an answer to {query.name!r}"
        assert repr(nonsense) in said, f"the error does not name {nonsense!r}: {said}"


def check_strategy(pursuit: Pursuit[Any], X: Any, *, seed: int = 0, tolerance: float = TOLERANCE) -> None:
    """Check what must always hold of a whole strategy, on some inputs X.

    Faithful: what was not asked changes nothing. A function of the history: the same alone, in any batch and in any
    order, in a session, and when replayed. Prefix-free: no history of an input is the beginning of another's.
    """
    rng = np.random.default_rng(seed)
    observed = pursuit.queries.read(X)
    values, numbers = observed.values, observed.numbers
    whole = pursuit.run_values(observed)
    _close(whole.posteriors.sum(axis=2), np.ones(whole.posteriors.shape[:2]), 1e-6, "a posterior does not sum to 1")
    order = rng.permutation(len(values))
    mixed = replace_cache(pursuit).run_values(observed.take(order))
    for place, i in enumerate(order.tolist()):
        _same(whole, i, mixed, place, tolerance, "the order of inputs matters")
    for i in range(len(values)):
        alone = replace_cache(pursuit).run_values(observed.take([i]))
        _same(whole, i, alone, 0, tolerance, "alone it is another")
        seen = np.zeros(values.shape[1], dtype=bool)
        asked = pursuit.queries.query_variables[whole.queries[i, : whole.length[i]]]
        seen[asked[asked >= 0]] = True
        other = values[i].copy()
        sizes = np.array(pursuit.queries.variables.sizes)
        other[~seen] = rng.integers(sizes)[~seen]
        changed = None if numbers is None else np.where(seen, numbers[i], rng.normal(size=len(seen)))[None]
        again = pursuit.run_values(Observed(other[None], changed))
        _same(whole, i, again, 0, tolerance, "what was not asked matters")
        if whole.stop_reason[i] != "impossible":
            _close(pursuit.believe(whole.history(i)), whole.posterior[i], tolerance, "replayed, the posterior differs")
    keys = {tuple(whole.history(i)) for i in range(len(values))}
    begun = {key[:k] for key in keys for k in range(len(key))}
    assert not keys & begun, "one history is the beginning of another"
    _check_session(pursuit, whole, tolerance)


def replace_cache(pursuit: Pursuit[Any]) -> Pursuit[Any]:
    """The same pursuit without what it has computed so far."""
    return replace(pursuit, bindings=type(pursuit.bindings)())


# ---- what the checks share ------------------------------------------------------------------------------------------


def _check_posterior(found: Any, n: int, n_classes: int, tolerance: float) -> None:
    assert isinstance(found, Estimate), f"log_posterior gives a {type(found).__name__}; expected an Estimate"
    assert found.value.shape == (n, n_classes), (
        f"log_posterior has shape {found.value.shape}; expected {(n, n_classes)}"
    )
    assert found.error.shape == (n, n_classes), f"its errors have shape {found.error.shape}; expected {(n, n_classes)}"
    assert (found.error[~np.isnan(found.value)] >= 0).all(), "a standard error is negative"
    rows = ~np.isnan(found.value).any(axis=1)
    sums = np.exp(found.value[rows]).sum(axis=1)
    _close(sums, np.ones_like(sums), max(tolerance, 1e-9), "the posterior does not sum to 1")


def _check_predictions(belief: Any, b: Any, queries: QuerySet, n: int, tolerance: float) -> None:
    if belief.capabilities.evidence:
        evidence = np.asarray(belief.log_evidence(b))
        assert evidence.shape == (n,), f"log_evidence has shape {evidence.shape}; expected {(n,)}"
        assert (evidence <= 1e-6).all(), "p(answers) is above 1"
    if belief.capabilities.answers:
        for q in range(min(len(queries), 4)):
            p = np.asarray(belief.answer_distribution(b, q))
            expected = (n, int(queries.n_answers[q]))
            assert p.shape == expected, f"answer_distribution has shape {p.shape}; expected {expected}"
            assert (p >= -tolerance).all(), "an answer has a negative probability"
            _close(p.sum(axis=1), np.ones(n), max(tolerance, 1e-6), "the probabilities of the answers do not sum to 1")


def _check_session(pursuit: Pursuit[Any], whole: Any, tolerance: float) -> None:
    if whole.stop_reason[0] == "impossible":
        return
    session = pursuit.session()
    while session.question is not None:
        step = len(session.history)
        assert session.question.index == whole.queries[0, step], "a session asks another query than a batch"
        session.answer(whole.history(0)[step][1])
    _close(session.posterior, whole.posterior[0], tolerance, "a session has another posterior than a batch")


def _unasked(asked: IntArray, n_queries: int, rng: np.random.Generator) -> IntArray:
    """(H,) a random query that each history has not asked yet."""
    return np.array([rng.choice(np.setdiff1d(np.arange(n_queries), row)) for row in asked], dtype=np.int64)


def _random_answers(
    belief: Any, b: Any, rows: IntArray, query: IntArray, queries: QuerySet, rng: np.random.Generator
) -> IntArray:
    """(H, W) answers that are possible where the belief predicts them, else any."""
    answers = np.full((len(query), queries.width), UNKNOWN, dtype=np.int64)
    for i, q in enumerate(query.tolist()):
        real = queries.query_variables[q] >= 0
        sizes = queries.n_cells[q][real]
        if belief.capabilities.answers:
            p = np.maximum(np.asarray(belief.answer_distribution(b, q))[rows[i]], 0)
            answers[i, real] = np.unravel_index(rng.choice(len(p), p=p / p.sum()), sizes)
        else:
            answers[i, real] = rng.integers(sizes)
    return answers


def _same(one: Any, i: int, two: Any, j: int, tolerance: float, message: str) -> None:
    """Input i of a trace and input j of another: the same queries, answers and reasons, and nearly the same numbers."""
    n = one.length[i]
    assert n == two.length[j], f"{message}: input {i} has {n} and {two.length[j]} queries"
    for name in ("queries", "answers"):
        assert np.array_equal(getattr(one, name)[i, :n], getattr(two, name)[j, :n]), f"{message}: {name} of input {i}"
    assert one.stop_reason[i] == two.stop_reason[j], f"{message}: the stop reason of input {i}"
    for name, width in (("gains", n), ("posteriors", n + 1)):
        _close(
            getattr(one, name)[i, :width], getattr(two, name)[j, :width], tolerance, f"{message}: {name} of input {i}"
        )


def _close(found: Any, expected: Any, tolerance: float, message: str) -> None:
    one, two = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert one.shape == two.shape, f"{message} (shapes {one.shape} and {two.shape})"
    with np.errstate(invalid="ignore"):
        far = ~((np.abs(one - two) <= tolerance) | (one == two) | (np.isnan(one) & np.isnan(two)))
    assert not far.any(), f"{message} (by up to {np.abs(one - two)[far].max():.3g})"
