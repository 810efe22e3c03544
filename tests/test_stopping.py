"""Stopping rules: when each holds, patience, the order of reasons, and their JSON."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.stopping import AnyOf, Check, Watch, look, rule_from_spec


def check(posterior, gain=0.0, n_asked=0):
    return Check(np.atleast_2d(np.array(posterior, dtype=float)), np.atleast_1d(float(gain)), np.atleast_1d(n_asked))


def play(rule, seen, patience=0):
    """Look at (posterior of the likelier class, gain, skipped): each time which rule fired or -1, and settled."""
    watch, out = Watch.start(rule), []
    for n, (top, gain, skipped) in enumerate(seen):
        watch, fired, settled = look(rule, watch, check([top, 1 - top], gain, n), patience, np.array([skipped]))
        out.append((int(fired[0]), int(settled[0])))
    return out


def test_confidence_holds_at_its_threshold():
    rule = ip.Confidence(0.1)
    assert rule.holds(check([[0.9, 0.1], [0.89, 0.11], [0.05, 0.95]])).tolist() == [True, False, True]
    assert ip.Confidence(0.0).holds(check([1 - 2e-16, 2e-16])).all()
    assert not ip.Confidence(0.0).holds(check([1 - 1e-9, 1e-9])).any()


def test_information_gain_holds_at_its_threshold():
    assert ip.InformationGain(0.1).holds(check([0.5, 0.5], 0.1)).all()
    assert not ip.InformationGain(0.1).holds(check([0.5, 0.5], 0.1001)).any()
    assert ip.InformationGain(0.0).holds(check([0.5, 0.5], 0.0)).all()


def test_max_queries_holds_from_n_on():
    assert [bool(ip.MaxQueries(2).holds(check([0.5, 0.5], 0, n))[0]) for n in range(4)] == [False, False, True, True]


def test_patience_wants_the_rule_to_hold_several_times_in_a_row():
    looks = [(0.9, 1, False), (0.5, 1, False), (0.9, 1, False), (0.9, 1, False), (0.9, 1, False)]
    rule = ip.Confidence(0.2)
    assert play(rule, looks, 0)[0] == (0, 0)
    assert [fired for fired, _ in play(rule, looks, 1)] == [-1, -1, -1, 0, 0]
    assert play(rule, looks, 1)[3] == (0, 2)
    assert play(rule, looks, 2)[4] == (0, 2)
    assert [fired for fired, _ in play(rule, looks, 3)] == [-1] * 5


def test_a_skip_neither_grows_nor_ends_a_run():
    looks = [(0.9, 1, False), (0.9, 1, True), (0.9, 1, True), (0.9, 1, False)]
    assert play(ip.Confidence(0.2), looks, 1) == [(-1, 0), (-1, 1), (-1, 2), (0, 0)]
    # a gain that falls below epsilon because the best query was skipped is no check either
    looks = [(0.5, 0.5, False), (0.5, 0.0, True), (0.5, 0.0, False)]
    assert play(ip.InformationGain(0.1), looks, 0) == [(-1, 0), (-1, 1), (0, 2)]
    # and one that rises does not end the run
    looks = [(0.5, 0.0, False), (0.5, 0.5, True), (0.5, 0.0, False)]
    assert play(ip.InformationGain(0.1), looks, 1) == [(-1, 0), (-1, 1), (0, 0)]


def test_rules_are_counted_separately():
    """One holds, then the other: neither has held twice in a row."""
    looks = [(0.9, 0.5, False), (0.6, 0.0, False), (0.9, 0.5, False), (0.9, 0.5, False)]
    rule = ip.InformationGain(0.1) | ip.Confidence(0.2)
    assert play(rule, looks, 1) == [(-1, 0), (-1, 1), (-1, 2), (1, 2)]


def test_the_first_in_written_order_is_the_reason():
    looks = [(0.9, 0.0, False)]
    assert play(ip.InformationGain(0.1) | ip.Confidence(0.2), looks)[0][0] == 0
    assert play(ip.Confidence(0.2) | ip.InformationGain(0.1), looks)[0][0] == 0
    assert play(ip.Confidence(0.05) | ip.InformationGain(0.1), looks)[0][0] == 1
    assert play(ip.MaxQueries(0) | ip.Confidence(0.2), looks)[0] == (0, 0)


def test_budgets_ignore_patience_and_skips():
    looks = [(0.5, 1, False), (0.5, 1, True), (0.5, 1, True)]
    assert play(ip.Confidence(0.1) | ip.MaxQueries(2), looks, 5) == [(-1, 0), (-1, 1), (1, 2)]


def test_a_rule_may_have_a_patience_of_its_own():
    looks = [(0.9, 0.0, False)] * 4
    assert play(ip.Confidence(0.2, patience=2), looks, 0) == [(-1, 0), (-1, 1), (0, 0), (0, 0)]
    assert play(ip.Confidence(0.2, patience=0), looks, 3)[0] == (0, 0)
    assert play(ip.Confidence(0.2, patience=2) | ip.InformationGain(0.1, patience=1), looks, 3)[1] == (1, 0)


def test_histories_do_not_disturb_each_other():
    """Two histories looked at together are what each is alone."""
    rule = ip.Confidence(0.2) | ip.InformationGain(0.1)
    rng = np.random.default_rng(0)
    watch = Watch.start(rule).take(np.array([0, 0]))
    alone = [Watch.start(rule)] * 2
    for n in range(20):
        top, gain, skipped = rng.choice([0.6, 0.9], size=2), rng.choice([0.0, 0.5], size=2), rng.random(2) < 0.3
        both = Check(np.stack([top, 1 - top], axis=1), gain, np.full(2, n))
        watch, fired, settled = look(rule, watch, both, 1, skipped)
        for h in range(2):
            alone[h], one, when = look(rule, alone[h], check([top[h], 1 - top[h]], gain[h], n), 1, skipped[h : h + 1])
            assert (one[0], when[0]) == (fired[h], settled[h])
        np.testing.assert_array_equal(watch.run, np.concatenate([w.run for w in alone]))


def test_or_is_flat_and_keeps_the_order():
    a, b, c = ip.Confidence(0.1), ip.InformationGain(0.2), ip.MaxQueries(3)
    assert (a | b | c).rules == (a | (b | c)).rules == (a, b, c)


@pytest.mark.parametrize(
    "rule",
    [
        ip.Confidence(0.02),
        ip.InformationGain(0.5, patience=3),
        ip.MaxQueries(7),
        ip.Confidence(0.1) | ip.InformationGain(0.01, patience=0) | ip.MaxQueries(4),
    ],
    ids=lambda rule: rule.name,
)
def test_spec_round_trip(rule):
    again = rule_from_spec(rule.to_spec())
    assert again == rule
    assert isinstance(again, AnyOf) == isinstance(rule, AnyOf)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: ip.Confidence(1.0), "epsilon=1.0"),
        (lambda: ip.Confidence(-0.1), "epsilon=-0.1"),
        (lambda: ip.Confidence(float("nan")), "epsilon=nan"),
        (lambda: ip.InformationGain(-1e-3), "epsilon=-0.001"),
        (lambda: ip.InformationGain(float("nan")), "epsilon=nan"),
        (lambda: ip.MaxQueries(-1), "n=-1"),
        (lambda: ip.MaxQueries(2.5), "n=2.5"),
        (lambda: ip.Confidence(0.1, patience=-1), "patience=-1"),
        (lambda: ip.InformationGain(0.1, patience=1.5), "patience=1.5"),
        (lambda: rule_from_spec({"rule": "mood"}), "'mood'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize(
    "options", [{"patience": -1}, {"patience": 0.5}, {"posterior": "langevin"}, {"classes": ["a"]}], ids=str
)
def test_a_pursuit_refuses_what_makes_no_sense(options):
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])
    with pytest.raises(ValueError, match=next(iter(options))):
        ip.Pursuit.of(model, queries, **options)


def test_a_pursuit_refuses_what_is_no_rule_model_or_query_set():
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])
    with pytest.raises(TypeError, match="stopping"):
        ip.Pursuit.of(model, queries, stopping=0.01)
    with pytest.raises(TypeError, match="model"):
        ip.Pursuit(queries, queries)
    with pytest.raises(TypeError, match="queries"):
        ip.Pursuit.of(model, model)
    with pytest.raises(ValueError, match="2 variables"):
        ip.Pursuit.of(model, ip.queries.concepts(["a", "b"]))


def test_checked_before_the_first_question():
    model = ip.models.TableModel([0.995, 0.005], None, [[0.9], [0.1]])
    trace = ip.Pursuit.of(model, ip.queries.concepts(["a"])).run([[1], [0]])
    assert trace.length.tolist() == trace.settled_at.tolist() == [0, 0]
    assert trace.stop_reason.tolist() == ["confidence"] * 2
    assert trace.queries.shape == (2, 0)
    assert trace.posteriors.shape == (2, 1, 2)
