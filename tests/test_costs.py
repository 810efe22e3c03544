"""Costs and constraints against a naive enumeration: gain per cost, prerequisites, forbidden queries, budgets."""

import json
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from enumerator import TIE
from infopursuit.pursuit.ranking import Ranking
from infopursuit.strategies import SMC, PrunedBelief
from priced import Priced, random_prices
from quadrature import Known, small_vae
from worlds import KINDS, World, random_history, random_rules, rule_of, world_of

EXACT = 1e-10


def pursue(world, priced, rules=(("max_queries", 99),), patience=0, **options):
    """The package's pursuit with the same costs and constraints."""
    written = [rule for rule in rules if rule[0] != "max_cost"]
    makers = [rule_of([rule]) if rule[0] != "max_cost" else ip.MaxCost(priced.budget) for rule in rules]
    assert len(makers) == len(rules) >= len(written)
    stopping = makers[0]
    for rule in makers[1:]:
        stopping = stopping | rule
    options = {**options, **priced.options(world.queries.names)}
    return ip.generative_pursuit(world.model, world.queries, stopping=stopping, patience=patience, **options)


@pytest.mark.parametrize("seed", range(60))
def test_whole_traces_are_those_of_the_enumerator(seed):
    """Queries, gains, reasons and when they settled, with rules of every kind, some answers not known."""
    world, rng = world_of(8000 + seed, kind=KINDS[seed % len(KINDS)])
    budget = seed % 2 == 0
    priced, patience = random_prices(world, rng, budget=budget), int(rng.integers(0, 3))
    rules = random_rules(rng)
    if budget:
        rules.insert(int(rng.integers(0, len(rules) + 1)), ("max_cost",))
    values = world.inputs(rng, 8, unknown=0.2 if seed % 3 == 0 else 0.0)
    trace = pursue(world, priced, rules, patience).run_values(values)
    for i, x in enumerate(values):
        queries, gains, reason, settled = priced.trace(x, rules, patience)
        k, context = len(queries), f"{x.tolist()} {rules} {patience}"
        assert trace.queries[i, :k].tolist() == queries, context
        assert (int(trace.length[i]), str(trace.stop_reason[i])) == (k, reason), context
        assert int(trace.settled_at[i]) == settled, context
        np.testing.assert_allclose(trace.gains[i, :k], gains, rtol=0, atol=EXACT)
        assert trace.cost[i] == pytest.approx(sum(priced.costs[q] for q in queries))
        if budget:
            assert trace.cost[i] <= priced.budget + 1e-9


def test_the_random_prices_matter():
    """Else the comparison above says little: choices differ from those without any, and every reason occurs."""
    reasons, differ, gated, free = set(), 0, 0, 0
    for seed in range(0, 60, 2):
        world, rng = world_of(8000 + seed, kind=KINDS[seed % len(KINDS)])
        priced = random_prices(world, rng, budget=True)
        rules = [("information_gain", 0.01, None), ("max_cost",), ("confidence", 1e-3, None)][seed % 4 // 2 :]
        for x in world.inputs(rng, 6):
            queries, _, reason, _ = priced.trace(x, rules)
            reasons.add(reason)
            plain = world.truth.trace(x, [("confidence", 0.02, None)]).queries
            differ += queries != plain[: len(queries)]
            gated += any(q in priced.requires for q in queries)
            free += any(priced.costs[q] == 0 for q in queries)
    assert reasons >= {"max_cost", "information_gain", "confidence", "exhausted"}
    assert min(differ, gated, free) > 20, (differ, gated, free)


@pytest.mark.parametrize("seed", range(30))
def test_what_may_be_asked_after_any_history(seed):
    """A history that answers out of order is evidence like any other; all histories at once are each alone."""
    world, rng = world_of(8300 + seed)
    priced = random_prices(world, rng)
    bound = priced.options(world.queries.names)["constraints"].bind(world.queries)
    n = int(rng.integers(1, len(world.queries) + 1))
    histories = [random_history(world, rng, n) for _ in range(6)]
    width = world.queries.width
    queries = np.array([[q for q, _ in h] for h in histories])
    answers = np.array([[[*(a or ()), *[-1] * width][:width] for _, a in h] for h in histories])
    together = bound.allowed(queries, answers)
    pursuit = pursue(world, priced)
    for h, history in enumerate(histories):
        allowed = set(np.flatnonzero(together[h]).tolist()) - world.truth.closed(history)
        assert allowed == set(priced.allowed(history))
        np.testing.assert_array_equal(bound.allowed(queries[[h]], answers[[h]])[0], together[h])
        session = pursuit.session(history)
        assert set(np.flatnonzero(~np.isnan(session.gains)).tolist()) == allowed
        best = priced.best(history)[0]
        assert (None if session.question is None else session.question.index) == best
        at = pursuit.propose(pursuit.at(tuple(history)))
        assert (None if at.choice.query[0] == -1 else int(at.choice.query[0])) == best
        np.testing.assert_allclose(session.posterior, world.truth.posterior(history), rtol=0, atol=EXACT)


@pytest.mark.parametrize("options", [{"exact_gains": True}, {"exact_gains": False}, {"memory_limit": 1}])
@pytest.mark.parametrize("seed", range(10))
def test_batch_and_single_and_however_gains_are_computed(seed, options):
    world, rng = world_of(8500 + seed, kind=KINDS[seed % len(KINDS)])
    priced = random_prices(world, rng, budget=True)
    rules = [("confidence", 0.02, None), ("max_cost",)]
    values = world.inputs(rng, 5)
    pursuit = pursue(world, priced, rules, **options)
    batch = pursuit.run_values(values)
    for i, x in enumerate(values):
        queries, _, reason, _ = priced.trace(x, rules)
        assert batch.queries[i, : batch.length[i]].tolist() == queries
        assert str(batch.stop_reason[i]) == reason
        alone = pursue(world, priced, rules, **options).run_values(x[None])
        k = int(alone.length[0])
        assert alone.queries[0, :k].tolist() == queries
        np.testing.assert_allclose(alone.posteriors[0], batch.posteriors[i, : k + 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_the_runner_up_is_the_second_best_for_its_cost(seed):
    world, rng = world_of(8700 + seed, kind=KINDS[seed % len(KINDS)], zeros=False)
    priced = random_prices(world, rng)
    trace = pursue(world, priced, [("max_queries", 3)]).run_values(world.inputs(rng, 3))
    for i in range(3):
        history = trace.history(i)
        for k, (query, _) in enumerate(history):
            without = Priced(world.truth, priced.costs, priced.requires, priced.forbidden | {query})
            second, gain, _, _ = without.best(list(history[:k]))
            if second is None:
                assert trace.runners_up[i, k] == -1
                assert not trace.ties[i, k]
                continue
            found = int(trace.runners_up[i, k])
            assert world.truth.gain(found, history[:k]) == pytest.approx(gain, abs=1e-8)
            lead = score_of(priced, query, history[:k]) - score_of(priced, second, history[:k])
            if lead > 1e-6:
                assert not trace.ties[i, k]


def score_of(priced, query, history):
    gain, paid = priced.truth.gain(query, list(history)), [c for c in priced.costs if c]
    if priced.costs[query] == 0:
        return gain + (1000 if gain > TIE and paid else 0)
    return gain * min(paid) / priced.costs[query]


# ---- small worlds by hand -------------------------------------------------------------------------------------------


@pytest.fixture(name="world")
def _world():
    """Three yes/no questions: a strong one, a fair one, a weak one."""
    sure = lambda p: np.array([[[p, 1 - p]], [[1 - p, p]]])  # noqa: E731
    queries = ip.queries.concepts(["strong", "fair", "weak"])
    return World(np.full(2, 0.5), np.ones((2, 1)), [sure(0.95), sure(0.8), sure(0.6)], queries)


def first(world, costs=None):
    return ip.generative_pursuit(world.model, world.queries, costs=ip.Costs(costs)).session().question


def test_gain_per_cost_decides_and_the_unit_of_cost_does_not(world):
    gains = [world.truth.gain(q, []) for q in range(3)]
    assert first(world).name == "strong"
    even = gains[0] / gains[1]  # the cost at which the strong one is worth no more than the fair one
    for unit in (1e-6, 1.0, 1e6):
        assert first(world, costs={"strong": unit * even * 0.999, "fair": unit, "weak": unit}).name == "strong"
        assert first(world, costs={"strong": unit * even * 1.001, "fair": unit, "weak": unit}).name == "fair"
        assert first(world, costs={"strong": unit * even, "fair": unit, "weak": unit}).name == "strong"  # a tie
    assert first(world, costs={"weak": 0}).name == "weak"
    assert first(world, costs=[0, 0, 0]).name == "strong"
    assert first(world, costs=[3, 3, 3]).name == "strong"


def test_gains_stay_in_nats(world):
    pursuit = ip.generative_pursuit(world.model, world.queries, costs=ip.Costs({"strong": 100}))
    session = pursuit.session()
    assert session.question.name == "fair"
    np.testing.assert_allclose(session.gains, [world.truth.gain(q, []) for q in range(3)], rtol=0, atol=EXACT)
    trace = pursuit.run_values([[0, 0, 0]])
    assert trace.gains[0, 0] == pytest.approx(world.truth.gain(1, []), abs=EXACT)


def test_the_gain_rule_looks_at_what_is_dear_too(world):
    """The best for its cost tells next to nothing, and another would tell much: it goes on."""
    strong, weak = world.truth.gain(0, []), world.truth.gain(2, [])
    costs = ip.Costs({"weak": 1e-4, "fair": 1e4})
    epsilon = (strong + weak) / 2
    session = ip.generative_pursuit(
        world.model, world.queries, stopping=ip.InformationGain(epsilon), costs=costs
    ).session()
    assert session.question.name == "weak"
    assert session.answer("yes").question.name == "strong"
    assert session.answer("yes").stop_reason == "information_gain"
    shut = ip.Constraints(forbidden="strong")
    rule = ip.InformationGain((world.truth.gain(1, []) + strong) / 2)
    assert (
        ip.generative_pursuit(world.model, world.queries, stopping=rule, costs=costs, constraints=shut)
        .session()
        .question
        is None
    )


def test_a_budget_asks_on_with_what_it_can_pay_for(world):
    costs, stopping = ip.Costs({"strong": 5, "fair": 3, "weak": 2}), ip.Confidence(0.0) | ip.MaxCost(5)
    session = ip.generative_pursuit(world.model, world.queries, stopping=stopping, costs=costs).session()
    assert session.question.name == "strong"
    session.answer("yes")
    assert (session.question, session.stop_reason) == (None, "max_cost")
    assert session.explanation.cost == 5
    assert "after 1 question that costs 5." in str(session.explanation)
    assert "It stopped because no question left is within the budget (max_cost)." in str(session.explanation)
    other = ip.generative_pursuit(
        world.model, world.queries, stopping=ip.Confidence(0.0) | ip.MaxCost(4.5), costs=costs
    )
    trace = other.run_values([[0, 0, 0]])
    assert trace.queries[0].tolist() == [1]
    assert trace.stop_reason[0] == "max_cost"


def test_rounding_of_a_sum_does_not_end_a_budget(world):
    costs = ip.Costs([0.1, 0.1, 0.1])
    pursuit = ip.generative_pursuit(
        world.model, world.queries, stopping=ip.Confidence(0.0) | ip.MaxCost(0.3), costs=costs
    )
    trace = pursuit.run_values([[0, 1, 0]])
    assert trace.length[0] == 3
    assert trace.stop_reason[0] == "exhausted"
    assert 0.1 + 0.1 + 0.1 > 0.3


def test_a_budget_without_costs_counts_questions(world):
    trace = ip.generative_pursuit(world.model, world.queries, stopping=ip.Confidence(0.0) | ip.MaxCost(2)).run_values(
        [[0, 1, 0]]
    )
    assert (int(trace.length[0]), trace.cost[0], trace.stop_reason[0]) == (2, 2, "max_cost")
    assert trace[0].cost is None
    assert "cost" not in str(trace[0]).splitlines()[0]


def test_another_budget_does_not_remember_choices_of_this_one(world):
    costs = ip.Costs({"strong": 5})
    rich = ip.generative_pursuit(world.model, world.queries, stopping=ip.MaxCost(100), costs=ip.Costs({"strong": 1.5}))
    assert rich.session().question.name == "strong"
    assert replace(rich, stopping=ip.MaxCost(1)).session().question.name == "fair"
    assert replace(rich, stopping=ip.Confidence(0.0)).session().question.name == "strong"
    poor = ip.generative_pursuit(world.model, world.queries, stopping=ip.MaxCost(0.5), costs=costs)
    assert poor.session().stop_reason == "max_cost"


def test_what_is_known_by_another_answer_is_known(world):
    """A threshold implies those below it; what was not known, or known otherwise, opens nothing."""
    table = np.array([[20.0], [35.0], [45.0], [55.0], [65.0], [75.0]])
    queries = ip.queries.columns(np.hstack([table, table % 2]), names=["age", "odd"], bins=4, numbers="thresholds")
    low, high = [name for name in queries.names if name.startswith("age")][:2]
    bound = ip.Constraints({"odd": (low, "yes")}).bind(queries)
    asked = [queries.names.index(name) for name in (low, high)]
    odd = queries.names.index("odd")
    low_at, high_at = asked
    opens = {(low_at, 1): True, (high_at, 1): True, (high_at, 0): False, (low_at, 0): False, (low_at, -1): False}
    for (query, answer), open_ in opens.items():
        assert bool(bound.allowed(np.array([[query]]), np.array([[[answer]]]))[0, odd]) is open_
    contradiction = bound.allowed(np.array([asked]), np.array([[[0], [1]]]))
    assert not contradiction[0, odd]


def test_a_column_stands_for_its_queries_and_a_query_has_the_last_word():
    queries = ip.queries.columns(np.arange(20.0)[:, None] * [1, 2], names=["a", "b"], bins=4, numbers="thresholds")
    mine = [name for name in queries.names if name.startswith("a")]
    costs = ip.Costs({mine[1]: 7, "a": 2}).bind(queries)
    assert [costs[queries.names.index(name)] for name in mine] == [2, 7, *[2] * (len(mine) - 2)]
    bound = ip.Constraints(forbidden=["b"]).bind(queries)
    assert bound.forbidden.tolist() == [not name.startswith("a") for name in queries.names]


def test_nothing_that_may_be_asked_is_exhausted(world):
    constraints = ip.Constraints({"strong": ("weak", "yes")}, forbidden=["fair"])
    trace = ip.generative_pursuit(
        world.model, world.queries, stopping=ip.Confidence(0.0), constraints=constraints
    ).run_values([[0, 0, 0], [0, 0, 1]])
    assert trace.queries.tolist() == [[2, -1], [2, 0]]
    assert trace.stop_reason.tolist() == ["exhausted", "exhausted"]


# ---- refusals and files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"per_query": {"strnog": 1}}, "did you mean 'strong'"),
        ({"per_query": {"strong": -1}}, "cost"),
        ({"per_query": {"strong": float("nan")}}, "cost"),
        ({"per_query": {"strong": "much"}}, "cost"),
        ({"per_query": [1, 2]}, "2 entries, but there are 3"),
        ({"per_query": {7: 1}}, "query=7"),
        ({"prerequisites": {"weak": ("strongg", "yes")}}, "no query; did you mean 'strong'"),
        ({"prerequisites": {"weak": ("strong", "maybe")}}, "is no answer to 'strong'"),
        ({"prerequisites": {"weak": ("strong", ["yes", "no"])}}, "names all answers"),
        ({"prerequisites": {"weak": ("strong", [])}}, "names no answer"),
        ({"prerequisites": {"weak": ("strong", -1)}}, "says nothing"),
        ({"prerequisites": {"weak": ("weak", "yes")}}, "cycle: 'weak' needs 'weak'"),
        (
            {"prerequisites": {"weak": ("strong", "yes"), "strong": "fair", "fair": ("weak", "no")}},
            "'weak' needs 'strong' needs 'fair'|'strong' needs 'fair' needs 'weak'|'fair' needs 'weak' needs 'strong'",
        ),
        ({"prerequisites": {"weak": ("strong", "yes", 1)}}, "expected \\(other query, choice\\)"),
        ({"forbidden": ["nothing"]}, "not asked about"),
    ],
)
def test_what_cannot_be_is_refused(world, given, says):
    kind = ip.Costs if "per_query" in given else ip.Constraints
    with pytest.raises(ValueError, match=says):
        kind(**given).bind(world.queries)


def test_other_kinds_are_refused(world):
    for costs in (3.5, {None: 1}):
        with pytest.raises((TypeError, ValueError), match="costs"):
            ip.Costs(costs)
    with pytest.raises(TypeError, match="prerequisites"):
        ip.Constraints(["strong"])
    for name in ("costs", "constraints"):
        with pytest.raises(TypeError, match=name):
            ip.generative_pursuit(world.model, world.queries, **{name: {"strong": 1}})
    for cost in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cost"):
            ip.MaxCost(cost)


@pytest.mark.parametrize("seed", range(10))
def test_they_go_through_json_and_back(seed):
    def again(thing):
        return type(thing).from_spec(json.loads(json.dumps(thing.to_spec())))

    world, rng = world_of(8900 + seed)
    costs, constraints = random_prices(world, rng).options(world.queries.names).values()
    np.testing.assert_array_equal(again(costs).bind(world.queries), costs.bind(world.queries))
    assert replace(again(constraints)) == again(constraints)
    ours, theirs = constraints.bind(world.queries), again(constraints).bind(world.queries)
    np.testing.assert_array_equal(ours.needs, theirs.needs)
    assert ours.prerequisites == theirs.prerequisites
    for by_index in (ip.Costs({0: 2.0}), ip.Constraints({1: (0, 1)}, [1]), ip.Costs(), ip.Constraints()):
        assert again(by_index) == by_index


def test_prices_are_gains_where_nothing_has_a_cost():
    gains = np.random.default_rng(0).random((4, 5))
    for costs in (np.ones(5), np.full(5, 3.7), np.zeros(5)):
        np.testing.assert_array_equal(Ranking.of(costs).scores(gains), gains)


# ---- posteriors that are not exact ----------------------------------------------------------------------------------

KNOWN = Known(small_vae((2,) * 16, 2, seed=1, scale=6.0), ip.queries.patches((4, 4), size=2), 21)
COSTS = [1.0, 3.0, 0.0, 1.0, 8.0, 1.0, 0.5, 1.0, 2.0]


@pytest.mark.parametrize("kind", ["sampled", "pooled draws", "pruned", "subset"])
def test_other_posteriors_keep_to_them(kind):
    """Each query asked has the largest score of those told, and none is asked that may not be."""
    queries = KNOWN.queries
    constraints = ip.Constraints(
        {queries.names[4]: (queries.names[0], [[1, 1, 1, 1], [0, 0, 0, 0]])}, [queries.names[7]]
    )
    prices = {"costs": ip.Costs(COSTS), "constraints": constraints}
    stopping = ip.Confidence(0.001) | ip.MaxCost(6)
    some = {"exact_gains": False, "n_states": 200, "n_screened": 3}
    if kind in ("sampled", "pooled draws"):
        settings = SMC(n_draws=60 if kind == "sampled" else 5600, min_ess=0)
        pursuit = ip.generative_pursuit(KNOWN.model, queries, settings, stopping, **prices, **some)
        assert isinstance(pursuit.belief.shared, PrunedBelief) == (kind == "pooled draws")
    else:
        model = finite(400)
        belief = "pruned" if kind == "pruned" else "exact"
        pursuit = ip.generative_pursuit(model, queries, belief, stopping, **prices, **some)
    values = KNOWN.inputs(8, seed=3)
    trace = pursuit.run_values(values)
    assert (trace.cost <= 6).all()
    assert (trace.queries != 7).all()
    assert 2 in trace.queries[:, 0]
    prices = Ranking.of(COSTS)
    for i in range(len(values)):
        history = trace.history(i)
        for k, (query, _) in enumerate(history):
            if query == 4:
                assert (0, (1, 1, 1, 1)) in history[:k] or (0, (0, 0, 0, 0)) in history[:k]
            gains = pursuit.session(history[:k]).gains
            scores = prices.scores(gains)
            assert scores[query] == pytest.approx(np.nanmax(scores), abs=1e-6)
            assert np.isnan(gains[7])
    alone = pursuit.run_values(values[3:4])
    np.testing.assert_array_equal(alone.queries[0], trace.queries[3, : alone.queries.shape[1]])


def finite(n):
    """A model whose states are pictures."""
    rng = np.random.default_rng(0)
    probs = np.clip(rng.beta(0.4, 0.4, size=(2, n, 16)), 0.01, 0.99)
    return ip.models.TableModel([0.5, 0.5], np.full((2, n), 1 / n), probs)


def test_screening_goes_by_promise_for_the_cost():
    """One query may be looked at in full: the cheap one, though others promise more; and the one that promises most is
    looked at besides, for the rule that wants the largest gain."""
    model, queries = finite(300), KNOWN.queries
    plain = ip.generative_pursuit(model, queries, exact_gains=True).session().gains
    worst, best = int(np.argmin(plain)), int(np.argmax(plain))
    costs = np.full(9, 100.0)
    costs[worst] = 1.0
    for belief in ("exact", "pruned"):
        some = {"exact_gains": False, "n_states": 600, "n_screened": 1}
        session = ip.generative_pursuit(model, queries, belief, costs=ip.Costs(costs), **some).session()
        assert session.question.index == worst
        told = np.flatnonzero(~np.isnan(session.gains)).tolist()
        assert worst in told
        assert len(told) == 2
        assert plain[told].max() > 0.8 * plain[best]
