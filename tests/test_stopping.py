"""Stopping rules: when each holds, patience, the order of reasons, and their JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.pursuit.stopping import AllOf, AnyOf, Check, Watch, check_rules
from infopursuit.saving.registry import decode, encode


def check(posterior, gain=0.0, n_asked=0):
    return Check(np.atleast_2d(np.array(posterior, dtype=float)), np.atleast_1d(float(gain)), np.atleast_1d(n_asked))


def play(rule, seen, patience=0):
    """Checks of (posterior of the likelier class, gain, skipped): each time the reason, "" for none, and settled."""
    watch, out = Watch.start(rule), []
    for n, (top, gain, skipped) in enumerate(seen):
        watch, reason, settled = check_rules(rule, watch, check([top, 1 - top], gain, n), patience, np.array([skipped]))
        out.append((str(reason[0]), int(settled[0])))
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


CONFIDENCE, GAIN, BUDGET = "confidence", "information_gain", "max_queries"


def test_patience_wants_the_rule_to_hold_several_times_in_a_row():
    looks = [(0.9, 1, False), (0.5, 1, False), (0.9, 1, False), (0.9, 1, False), (0.9, 1, False)]
    rule = ip.Confidence(0.2)
    assert play(rule, looks, 0)[0] == (CONFIDENCE, 0)
    assert [fired for fired, _ in play(rule, looks, 1)] == ["", "", "", CONFIDENCE, CONFIDENCE]
    assert play(rule, looks, 1)[3] == (CONFIDENCE, 2)
    assert play(rule, looks, 2)[4] == (CONFIDENCE, 2)
    assert [fired for fired, _ in play(rule, looks, 3)] == [""] * 5


def test_a_skip_neither_grows_nor_ends_a_run():
    looks = [(0.9, 1, False), (0.9, 1, True), (0.9, 1, True), (0.9, 1, False)]
    assert play(ip.Confidence(0.2), looks, 1) == [("", 0), ("", 1), ("", 2), (CONFIDENCE, 0)]
    # a gain that falls below epsilon because the best query was skipped is no check either
    looks = [(0.5, 0.5, False), (0.5, 0.0, True), (0.5, 0.0, False)]
    assert play(ip.InformationGain(0.1), looks, 0) == [("", 0), ("", 1), (GAIN, 2)]
    # and one that rises does not end the run
    looks = [(0.5, 0.0, False), (0.5, 0.5, True), (0.5, 0.0, False)]
    assert play(ip.InformationGain(0.1), looks, 1) == [("", 0), ("", 1), (GAIN, 0)]


def test_rules_are_counted_separately():
    """One holds, then the other: neither has held twice in a row."""
    looks = [(0.9, 0.5, False), (0.6, 0.0, False), (0.9, 0.5, False), (0.9, 0.5, False)]
    rule = ip.InformationGain(0.1) | ip.Confidence(0.2)
    assert play(rule, looks, 1) == [("", 0), ("", 1), ("", 2), (CONFIDENCE, 2)]


def test_the_first_in_written_order_is_the_reason():
    looks = [(0.9, 0.0, False)]
    assert play(ip.InformationGain(0.1) | ip.Confidence(0.2), looks)[0][0] == GAIN
    assert play(ip.Confidence(0.2) | ip.InformationGain(0.1), looks)[0][0] == CONFIDENCE
    assert play(ip.Confidence(0.05) | ip.InformationGain(0.1), looks)[0][0] == GAIN
    assert play(ip.MaxQueries(0) | ip.Confidence(0.2), looks)[0] == (BUDGET, 0)


def test_budgets_ignore_patience_and_skips():
    looks = [(0.5, 1, False), (0.5, 1, True), (0.5, 1, True)]
    assert play(ip.Confidence(0.1) | ip.MaxQueries(2), looks, 5) == [("", 0), ("", 1), (BUDGET, 2)]


def test_a_rule_may_have_a_patience_of_its_own():
    looks = [(0.9, 0.0, False)] * 4
    assert play(ip.Confidence(0.2, patience=2), looks, 0) == [("", 0), ("", 1), (CONFIDENCE, 0), (CONFIDENCE, 0)]
    assert play(ip.Confidence(0.2, patience=0), looks, 3)[0] == (CONFIDENCE, 0)
    assert play(ip.Confidence(0.2, patience=2) | ip.InformationGain(0.1, patience=1), looks, 3)[1] == (GAIN, 0)


def test_and_wants_all_rules_at_the_same_check():
    rule = ip.Confidence(0.2) & ip.InformationGain(0.1)
    looks = [(0.9, 0.5, False), (0.6, 0.0, False), (0.9, 0.0, False)]
    assert play(rule, looks) == [("", 0), ("", 1), (f"{CONFIDENCE} and {GAIN}", 2)]
    # "after at least three queries": a budget as a minimum
    looks = [(0.9, 1.0, False)] * 5
    assert play(ip.Confidence(0.2) & ip.MaxQueries(3), looks)[2:4] == [("", 2), (f"{CONFIDENCE} and {BUDGET}", 3)]


def test_each_member_of_and_has_its_patience():
    """The confidence must hold three times in a row, the gain once; it settled when the last of them began to hold."""
    rule = ip.Confidence(0.2, patience=2) & ip.InformationGain(0.1, patience=0)
    looks = [(0.9, 0.0, False), (0.9, 0.0, False), (0.9, 0.5, False), (0.9, 0.0, False), (0.6, 0.0, False)]
    assert play(rule, looks) == [("", 0), ("", 1), ("", 2), (f"{CONFIDENCE} and {GAIN}", 3), ("", 4)]
    assert play(ip.Confidence(0.2) & ip.MaxQueries(0), looks, 1)[:2] == [("", 0), (f"{CONFIDENCE} and {BUDGET}", 1)]


def test_and_within_or_and_or_within_and():
    inner = ip.Confidence(0.2) & ip.InformationGain(0.1)
    either = inner | ip.MaxQueries(2)
    assert isinstance(either, AnyOf)
    assert isinstance(either.members[0], AllOf)
    assert [rule.name for rule in either.rules] == [CONFIDENCE, GAIN, BUDGET]
    assert play(either, [(0.9, 0.0, False)])[0] == (f"{CONFIDENCE} and {GAIN}", 0)
    assert play(either, [(0.9, 0.5, False)] * 3) == [("", 0), ("", 1), (BUDGET, 2)]
    both = ip.Confidence(0.2) & (ip.InformationGain(0.1) | ip.MaxQueries(1))
    looks = [(0.9, 0.5, False), (0.9, 0.5, False)]
    assert play(both, looks) == [("", 0), (f"{CONFIDENCE} and {BUDGET}", 1)]
    assert play(both, [(0.9, 0.0, False)])[0] == (f"{CONFIDENCE} and {GAIN}", 0)
    a, b, c = ip.Confidence(0.1), ip.InformationGain(0.2), ip.MaxQueries(3)
    assert (a & b & c) == (a & (b & c)) == AllOf((a, b, c))


def test_a_pursuit_with_and_asks_a_minimum_of_queries():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9] * 4, [0.1] * 4])
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts(list("abcd")), stopping=ip.Confidence(0.2) & ip.MaxQueries(3)
    )
    trace = pursuit.run([[1, 1, 1, 1], [1, 0, 1, 0]])
    assert trace.length.tolist() == [3, 3]
    assert trace.stop_reason.tolist() == [f"{CONFIDENCE} and {BUDGET}"] * 2
    assert trace.settled_at.tolist() == [3, 3]
    assert "the confidence is high enough and the maximum number of questions was asked" in str(trace[0])
    assert pursuit.session(trace.history(0)).stop_reason == trace.stop_reason[0]


def test_histories_do_not_disturb_each_other():
    """Two histories looked at together are what each is alone."""
    rule = ip.Confidence(0.2) | ip.InformationGain(0.1)
    rng = np.random.default_rng(0)
    watch = Watch.start(rule).take(np.array([0, 0]))
    alone = [Watch.start(rule)] * 2
    for n in range(20):
        top, gain, skipped = rng.choice([0.6, 0.9], size=2), rng.choice([0.0, 0.5], size=2), rng.random(2) < 0.3
        both = Check(np.stack([top, 1 - top], axis=1), gain, np.full(2, n))
        watch, fired, settled = check_rules(rule, watch, both, 1, skipped)
        for h in range(2):
            alone[h], one, when = check_rules(
                rule, alone[h], check([top[h], 1 - top[h]], gain[h], n), 1, skipped[h : h + 1]
            )
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
        ip.MaxCost(2.5),
        ip.Confidence(0.1) | ip.InformationGain(0.01, patience=0) | ip.MaxQueries(4),
        ip.Confidence(0.1) & ip.MaxQueries(4) | ip.MaxCost(3.0),
    ],
    ids=lambda rule: rule.name,
)
def test_spec_round_trip(rule):
    data, arrays = encode(rule, "stopping")
    assert not arrays
    assert decode(json.loads(json.dumps(data)), {}, None) == rule


def test_rules_in_words():
    assert (ip.Confidence(0.01) | ip.MaxQueries(5)).describe() == "it is 99 % confident, or it has asked 5 questions"
    nested = ip.Confidence(0.01) & ip.MaxQueries(1) | ip.MaxCost(3)
    assert nested.describe().startswith("(it is 99 % confident, and it has asked 1 question), or ")


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
        (lambda: decode({"kind": "mood"}, {}, None), "'mood'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize(
    "options", [{"patience": -1}, {"patience": 0.5}, {"belief": "langevin"}, {"classes": ["a"]}], ids=str
)
def test_a_pursuit_refuses_what_makes_no_sense(options):
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])
    with pytest.raises(ValueError, match=next(iter(options))):
        ip.generative_pursuit(model, queries, **options)


def test_a_pursuit_refuses_what_is_no_rule_model_or_query_set():
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])
    with pytest.raises(TypeError, match="stopping"):
        ip.generative_pursuit(model, queries, stopping=0.01)
    with pytest.raises(TypeError, match="model"):
        ip.generative_pursuit(queries, queries)
    with pytest.raises(TypeError, match="queries"):
        ip.generative_pursuit(model, model)
    with pytest.raises(ValueError, match="2 variables"):
        ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("queries", "queries"),
        ("belief", "exact"),
        ("acquisition", "mutual information"),
        ("stopping", 0.01),
        ("patience", -1),
        ("patience", True),
        ("classes", ["a", "b", "c"]),
        ("noise", 0.9),
        ("costs", {"a": 2}),
        ("constraints", {"a": "b"}),
        ("calibrator", 2.0),
        ("novelty", [0.1, 0.2]),
    ],
)
def test_the_constructor_names_the_argument_that_it_refuses(argument, value):
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"])
    pursuit = ip.generative_pursuit(model, queries)
    with pytest.raises((TypeError, ValueError), match=argument):
        replace(pursuit, **{argument: value})


def test_checked_before_the_first_question():
    model = ip.models.TableModel([0.995, 0.005], None, [[0.9], [0.1]])
    trace = ip.generative_pursuit(model, ip.queries.concepts(["a"])).run([[1], [0]])
    assert trace.length.tolist() == trace.settled_at.tolist() == [0, 0]
    assert trace.stop_reason.tolist() == ["confidence"] * 2
    assert trace.queries.shape == (2, 0)
    assert trace.posteriors.shape == (2, 1, 2)
