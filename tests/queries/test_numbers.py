"""Numbers and dates that are asked whole: cells and the numbers behind them, from the table to the explanation."""

import datetime as dt
import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.app.conversation import history_of, resume_session, save_session, understand
from infopursuit.models import Sample
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Capabilities, Estimate
from infopursuit.queries import columns, from_spec, groups
from infopursuit.support.types import Number, Observed, SoftAnswer, cells_of
from infopursuit.testing import check_queries, check_strategy


def patients(n=240, seed=0):
    """A table whose label follows from glucose and age, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    glucose, age = rng.integers(60, 200, n), rng.uniform(20, 80, n).round(1)
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame = pd.DataFrame({
        "glucose": glucose.astype(float), "age": age, "children": rng.integers(0, 5, n), "noise": rng.normal(size=n),
        "smoker": rng.integers(0, 2, n), "seen": seen,
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    return frame, np.where(glucose + 0.5 * np.nan_to_num(age, nan=50) > 150, "ill", "well")


X, Y = patients()
QS = columns(X, units={"glucose": "mg/dl"})
GLUCOSE, AGE, CHILDREN, SEEN = (QS.names.index(name) for name in ("glucose", "age", "children", "seen"))


@pytest.fixture(scope="module")
def clf():
    return ip.InformationPursuitClassifier(QS, "table", stopping=ip.Confidence(0.02)).fit(X, Y)


# ---- what is asked --------------------------------------------------------------------------------------------------


def test_a_column_is_one_query():
    assert QS.names == tuple(X.columns)
    assert QS[GLUCOSE].sentence == "What is glucose?"
    assert QS[SEEN].sentence == "When is seen?"
    assert QS.n_answers[GLUCOSE] == 10
    choices = QS[GLUCOSE].choices
    assert choices[0].startswith("up to ")
    assert choices[-1].startswith("above ")
    assert choices[1] == f"{choices[0].split()[-1]} to {choices[2].split()[0]}"
    assert QS[CHILDREN].choices == ("0", "1", "2", "3", "4")
    assert QS[CHILDREN].sentence == "What is children?"
    assert QS.names.index("smoker") not in QS.number_labels
    assert QS[QS.names.index("smoker")].choices == ("no", "yes")


def test_the_scale_is_that_of_the_training_numbers():
    scale = QS.scale(GLUCOSE)
    assert (scale.low, scale.high) == (X.glucose.min(), X.glucose.max())
    assert (scale.unit, scale.whole, scale.date) == ("mg/dl", True, False)
    assert not QS.scale(AGE).whole
    assert QS.scale(SEEN).date
    assert QS.scale(CHILDREN) is None
    cells = QS.observe(X)[:, GLUCOSE]
    for cell, number in enumerate(scale.representatives):
        assert number == np.quantile(X.glucose[cells == cell], 0.5, method="inverted_cdf")
    table = QS.representatives
    assert table.shape == (len(QS), QS.query_cells.shape[2])
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(table[:, 0])), [GLUCOSE, AGE, QS.names.index("noise"), SEEN])
    np.testing.assert_array_equal(table[GLUCOSE, :10], scale.representatives)


def test_representatives_are_weighted():
    frame = pd.DataFrame({"x": np.array([0.5, 1.5, 2.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5])})
    weights = np.array([1, 1, 5, 1, 1, 1, 1, 1, 1, 1.0])
    repeated = frame.loc[np.repeat(np.arange(10), weights.astype(int))]
    one, other = columns(frame, bins=3, sample_weight=weights), columns(repeated, bins=3)
    assert one.to_spec() == other.to_spec()


def test_a_threshold_belongs_to_the_cell_below():
    threshold = QS.scale(GLUCOSE).thresholds[3]
    frame = X.iloc[:3].assign(glucose=[threshold, np.nextafter(threshold, np.inf), np.nan])
    read = QS.read(frame)
    assert read.values[:, GLUCOSE].tolist() == [3, 4, -1]
    assert cells_of(QS.to_answer(GLUCOSE, threshold)) == (3,)
    np.testing.assert_array_equal(read.numbers[:, GLUCOSE], frame.glucose)
    assert np.isnan(read.numbers[:, CHILDREN]).all()


def test_numbers_are_read_once_with_the_values():
    read = QS.read(X)
    np.testing.assert_array_equal(read.values, QS.observe(X))
    assert len(read) == len(X)
    part = read.take([2, 0])
    np.testing.assert_array_equal(part.numbers, read.numbers[[2, 0]])
    assert columns(X, numbers="thresholds").read(X).numbers is None
    with pytest.raises(ValueError, match="numbers has shape"):
        Observed(read.values, read.numbers[:2])


def test_few_whole_numbers_are_categories():
    for answer in (2, 2.0, "2", "2.0", np.int64(2), np.float32(2)):
        assert QS.to_answer(CHILDREN, answer) == (2,)
    for answer in (7, -1, 0.5, "many", True):
        with pytest.raises(ValueError, match="children"):
            QS.to_answer(CHILDREN, answer)
    assert QS.to_answer(CHILDREN, float("nan")) is None
    some = X.iloc[:3].assign(children=[4, 7, 1])
    assert QS.observe(some)[:, CHILDREN].tolist() == [4, -1, 1]
    assert QS.observe(some.assign(children=["4", "7.0", "1.0"]))[:, CHILDREN].tolist() == [4, -1, 1]
    legs = columns(pd.DataFrame({"legs": [0, 2, 8, 100, 2]}))
    assert legs[0].choices == ("0", "2", "8", "100")
    assert legs.to_answer(0, 100) == (3,)
    assert columns(pd.DataFrame({"x": [0.5, 1, 2]})).scale(0) is not None
    assert columns(pd.DataFrame({"x": range(9)})).scale(0) is not None


@pytest.mark.parametrize("said", [148, 148.0, np.int64(148), "148", " 148 ", "148 mg/dl", "148MG/DL", "148mg/dl"])
def test_what_means_a_number(said):
    answer = QS.to_answer(GLUCOSE, said)
    assert isinstance(answer, Number)
    assert answer.value == 148
    assert answer.cells == (int(QS.observe(X.iloc[:1].assign(glucose=148.0))[0, GLUCOSE]),)
    assert QS.say(GLUCOSE, answer) == "glucose: 148 mg/dl"
    assert QS.to_answer(GLUCOSE, answer) == answer


def test_what_else_answers_a_numeric_query():
    choices = QS[GLUCOSE].choices
    assert QS.to_answer(GLUCOSE, choices[2]) == QS.to_answer(GLUCOSE, choices[2].upper()) == (2,)
    assert QS.to_answer(GLUCOSE, [2]) == QS.to_answer(GLUCOSE, np.array([2])) == (2,)
    assert QS.to_answer(GLUCOSE, None) is QS.to_answer(GLUCOSE, np.nan) is QS.to_answer(GLUCOSE, [-1]) is None
    low, high = QS.to_answer(GLUCOSE, -5), QS.to_answer(GLUCOSE, 1e9)
    assert (low.cells, high.cells) == ((0,), (9,))
    assert low.value == -5


@pytest.mark.parametrize("said", [np.inf, -np.inf, "inf", "high", "", True, {}, "148 mmol", 10**400])
def test_what_is_no_number_is_refused(said):
    with pytest.raises(ValueError, match="a number in mg/dl"):
        QS.to_answer(GLUCOSE, said)


@pytest.mark.parametrize(
    "said", [dt.date(2021, 3, 4), dt.datetime(2021, 3, 4), "2021-03-04", np.datetime64("2021-03-04")]
)
def test_dates(said):
    answer = QS.to_answer(SEEN, said)
    assert QS.say(SEEN, answer) == "seen: 2021-03-04"
    assert answer.cells[0] == QS.observe(X.iloc[:1].assign(seen=pd.Timestamp("2021-03-04")))[0, SEEN]
    for wrong in (17, "soon"):
        with pytest.raises(ValueError, match="a date"):
            QS.to_answer(SEEN, wrong)


def test_units_are_those_of_columns():
    with pytest.raises(ValueError, match=r"units names 'glucos'.*'glucose'"):
        columns(X, units={"glucos": "mg/dl"})
    with pytest.raises(ValueError, match="numbers='whole'"):
        columns(X, numbers="whole")


def test_the_contract_of_query_sets():
    check_queries(QS, X.iloc[:12])
    check_queries(groups(QS, {"visit": ["glucose", "smoker"]}), X.iloc[:12])


def test_groups_pass_numbers_on():
    qs = groups(QS, {"visit": ["glucose", "smoker"]})
    age, visit = qs.names.index("age"), qs.names.index("visit")
    np.testing.assert_array_equal(qs.read(X).numbers, QS.read(X).numbers)
    assert qs.to_answer(age, 31) == QS.to_answer(AGE, 31)
    assert qs.scale(visit) is None
    assert qs.to_answer(qs.names.index("children"), 3) == (3,)
    cell = QS.to_answer(GLUCOSE, 148).cells[0]
    assert qs.to_answer(visit, {"glucose": 148, "smoker": "yes"}) == (cell, 1)
    numbers = qs.numbers_of(QS.read(X).numbers, np.full(len(X), visit))
    assert np.isnan(numbers).all()


# ---- saved ----------------------------------------------------------------------------------------------------------


def test_saved_and_read_again():
    spec = json.loads(json.dumps(QS.to_spec()))
    again = from_spec("columns", spec)
    assert again.to_spec() == QS.to_spec()
    assert again.scale(GLUCOSE) == QS.scale(GLUCOSE)
    assert again.to_answer(CHILDREN, 2) == (2,)
    np.testing.assert_array_equal(again.read(X).numbers, QS.read(X).numbers)


def test_a_spec_without_representatives_means_thresholds():
    old = columns(X, numbers="thresholds")
    spec = json.loads(json.dumps(old.to_spec()))
    kinds = {field["name"]: field for field in spec["fields"]}
    assert set(kinds["glucose"]) == {"kind", "name", "thresholds"}  # as it was written before
    assert set(kinds["seen"]) == {"kind", "name", "thresholds", "time_of_day"}
    assert from_spec("columns", spec).names == old.names
    assert from_spec("columns", spec).representatives is None


@pytest.mark.parametrize(
    "changes",
    [{"representatives": [1.0]}, {"representatives": "x"}, {"low": None}, {"low": 1e9}, {"unit": 3}, {"whole": "yes"}],
)
def test_a_damaged_spec_is_refused(changes):
    spec = QS.to_spec()
    spec["fields"][0] |= changes
    with pytest.raises((ValueError, TypeError)):
        from_spec("columns", spec)


# ---- histories ------------------------------------------------------------------------------------------------------


def extended(numbers):
    empty = Histories.empty(QS)
    n = len(numbers)
    return empty.extend(np.zeros(n, int), np.full(n, GLUCOSE), np.full((n, 1), 3), numbers=np.array(numbers))


def test_the_key_has_the_number():
    first, same, other, none, zero, minus = extended([148.0, 148.0, 149.0, np.nan, 0.0, -0.0]).keys()
    assert first == same != other
    assert zero == minus != first
    assert none == Histories.empty(QS).extend(np.zeros(1, int), np.array([GLUCOSE]), np.array([[3]])).key(0)
    assert len({first, other, none, zero}) == 4


def test_numbers_stay_with_their_histories():
    one = extended([148.0, np.nan])
    assert one.steps(0) == ((GLUCOSE, Number(148, (3,))),)
    assert one.steps(1) == ((GLUCOSE, (3,)),)
    assert one.take([1]).steps(0) == one.steps(1)
    two = one.extend(np.array([0, 1, 0]), np.full(3, AGE), np.array([[2], [2], [-1]]))
    assert two.steps(2) == ((GLUCOSE, Number(148, (3,))), (AGE, None))
    found = two.observed_numbers()
    middle = QS.scale(AGE).representatives[2]
    np.testing.assert_array_equal(found[:, GLUCOSE], [148, QS.scale(GLUCOSE).representatives[3], 148])
    np.testing.assert_array_equal(found[:, AGE], [middle, middle, np.nan])
    assert np.isnan(np.delete(found, [GLUCOSE, AGE], axis=1)).all()
    assert extended([np.nan]).numbers is None


def test_samples_carry_numbers():
    values, labels = np.array([[0], [0], [0], [1]]), [0, 0, 0, 1]
    numbers = np.array([[-1.5], [-2.5], [-1.5], [3.0]])
    sample = Sample.of(ip.support.types.Variables((2,)), values, labels, numbers=numbers)
    assert sample.numbers.ravel().tolist() == [-2.5, -1.5, 3.0]
    assert sample.weights.tolist() == [1, 2, 1]
    assert len(set(sample.keys.tolist())) == 3
    assert sample.take([2, 0]).numbers.ravel().tolist() == [3.0, -2.5]
    assert len(Sample.of(ip.support.types.Variables((2,)), values, labels)) == 2
    with pytest.raises(ValueError, match="numbers has shape"):
        Sample.of(ip.support.types.Variables((2,)), values, labels, numbers=numbers[:2])


# ---- pursuits -------------------------------------------------------------------------------------------------------


def test_a_trace_has_the_numbers(clf):
    trace = clf.explain(X)
    read = QS.read(X)
    asked = trace.queries >= 0
    rows = np.broadcast_to(np.arange(len(X))[:, None], asked.shape)
    expected = np.where(asked, read.numbers[rows, QS.query_variables[trace.queries, 0]], np.nan)
    np.testing.assert_array_equal(trace.numbers, expected)
    i = int(np.flatnonzero((trace.queries == GLUCOSE).any(axis=1))[0])
    said = next(step for step in trace[i].steps if step.query == GLUCOSE)
    assert said.said == f"{X.glucose[i]:g} mg/dl"
    assert said.number == X.glucose[i]
    assert said.answer == (int(read.values[i, GLUCOSE]),)
    assert f"glucose: {X.glucose[i]:g} mg/dl" in str(trace[i])
    again = Explanation.from_json(trace[i].to_json())
    assert again == trace[i]


def test_histories_are_shared_by_cell_for_finite_models(clf):
    """Numbers in the same cells: as many histories as cells, and equal posteriors; without numbers it is the same."""
    pursuit = clf.pursuit_
    assert not pursuit.uses_numbers
    read = QS.read(X)
    rows = np.arange(len(X))
    branches, _ = pursuit.together(
        np.zeros(len(X), int), np.full(len(X), GLUCOSE), read.values[:, [GLUCOSE]], read.numbers[:, GLUCOSE]
    )
    assert len(branches.parents) == 10
    assert branches.numbers is None
    with_numbers, without = pursuit.run_values(read), pursuit.run_values(read.values)
    np.testing.assert_array_equal(with_numbers.posteriors, without.posteriors)
    np.testing.assert_array_equal(with_numbers.queries, without.queries)
    assert np.isnan(without.numbers).all()
    assert [cells_of(said) for _, said in with_numbers.history(0)] == [said for _, said in without.history(0)]
    session = pursuit.session([(GLUCOSE, 148)])
    assert session.state.histories.numbers is None
    assert session.history == ((GLUCOSE, QS.to_answer(GLUCOSE, 148)),)
    assert len(rows) == len(with_numbers)


def test_the_contract_of_strategies(clf):
    check_strategy(clf.pursuit_, X.iloc[:8])


def test_a_column_that_was_not_asked_changes_nothing(clf):
    trace = clf.explain(X.iloc[:40])
    for i in range(0, 40, 7):
        asked = {QS.names[q] for q in trace.queries[i] if q >= 0}
        other = X.iloc[[i]].copy()
        for name in set(X.columns) - asked:
            other[name] = X[name].iloc[(i + 11) % 40]
        again = clf.explain(other)
        np.testing.assert_array_equal(again.posterior[0], trace.posterior[i])
        assert again.history(0) == trace.history(i)


def test_sessions_say_numbers(clf, tmp_path):
    session = clf.pursuit_.session([("glucose", 148), ("age", "31.5"), ("noise", None), ("seen", "2021-03-04")])
    assert history_of(session)[:3] == [
        {"query": "glucose", "answer": 148.0}, {"query": "age", "answer": 31.5}, {"query": "noise", "answer": None},
    ]  # fmt: skip
    steps = session.explanation.steps
    assert [step.number for step in steps] == [148, 31.5, None, QS.to_answer(SEEN, "2021-03-04").value]
    assert steps[3].said == "2021-03-04"
    save_session(session, tmp_path / "session.json")
    again = resume_session(clf.pursuit_, tmp_path / "session.json")
    assert again.history == session.history
    again.undo()
    assert again.history == session.history[:3]
    np.testing.assert_array_equal(clf.pursuit_.believe(session.history), session.posterior)
    np.testing.assert_array_equal(clf.pursuit_.at(session.history).posterior[0], session.posterior)


def test_typed_numbers(clf):
    assert understand("148 mg/dl", QS, GLUCOSE) == understand("148", QS, GLUCOSE) == QS.to_answer(GLUCOSE, 148)
    assert understand("3", QS, GLUCOSE).value == 3  # a number, not the third answer
    assert understand("3", QS, CHILDREN) == (3,)
    assert understand("2021-03-04", QS, SEEN) == QS.to_answer(SEEN, "2021-03-04")
    assert understand(QS[GLUCOSE].choices[1], QS, GLUCOSE) == (1,)
    soft = understand("probably 148", QS, GLUCOSE)
    assert isinstance(soft, SoftAnswer)
    assert soft.cells == QS.to_answer(GLUCOSE, 148).cells
    with pytest.raises(ValueError, match="a number in mg/dl"):
        understand("high", QS, GLUCOSE)


@dataclass(frozen=True)
class Logistic(Belief):
    """A belief that uses numbers: p(ill) from the sum of the numbers known so far."""

    queries: object
    capabilities = Capabilities(numbers=True)
    n_classes = 2

    def init(self):
        return Histories.empty(self.queries)

    def update(self, b, parents, new):
        return new

    def log_posterior(self, b):
        z = np.nan_to_num(b.observed_numbers()[:, :2]).sum(axis=1) / 500
        return Estimate.exact(np.log(np.stack([1 / (1 + np.exp(-z)), 1 / (1 + np.exp(z))], axis=1)))


@dataclass(frozen=True)
class InOrder(Acquisition):
    """Asks in the order of the queries."""

    unit = "score"

    def utilities(self, b, h, allowed, budget):
        return Estimate.exact(np.where(allowed, -np.arange(allowed.shape[1], dtype=float), np.nan))


def test_a_belief_that_uses_numbers_gets_them():
    pursuit = ip.Pursuit(QS, Logistic(QS), InOrder(), ip.MaxQueries(3), classes=["ill", "well"])
    rows = X.iloc[:20].assign(glucose=[101.0, 102.0] * 10, age=33.0)
    trace = pursuit.run(rows)
    assert len(np.unique(trace.posterior[:, 0])) == 2  # in the same cell, but not the same
    check_strategy(pursuit, X.iloc[:8])
    session = pursuit.session([("glucose", 101), ("age", 33)])
    np.testing.assert_allclose(session.posterior, trace.posteriors[0, 2])
    assert session.state.histories.numbers.tolist() == [[101, 33]]
    by_cell = pursuit.session([("glucose", [QS.to_answer(GLUCOSE, 101).cells[0]])])
    middle = QS.scale(GLUCOSE).representatives[QS.to_answer(GLUCOSE, 101).cells[0]]
    np.testing.assert_allclose(by_cell.posterior, pursuit.session([("glucose", middle)]).posterior)


def test_the_number_behind_another_answer_is_not_known():
    noisy = ip.pursuit.noise.NoisyAnnotator(QS, ip.AnswerNoise(0.5), seed=3)
    pursuit = ip.Pursuit(QS, Logistic(QS), InOrder(), ip.MaxQueries(2))
    trace, true = pursuit.run(X, annotator=noisy), QS.read(X)
    changed = trace.answers[:, 0, 0] != true.values[:, GLUCOSE]
    assert 0 < changed.sum() < len(X)
    np.testing.assert_array_equal(np.isnan(trace.numbers[:, 0]), changed)


# ---- what is not asked again ----------------------------------------------------------------------------------------


def test_an_unknown_threshold_closes_its_column():
    qs = columns(X[["glucose", "smoker"]], numbers="thresholds", bins=4)
    pursuit = (
        ip.InformationPursuitClassifier(qs, "table", stopping=ip.Confidence(0.0))
        .fit(X[["glucose", "smoker"]], Y)
        .pursuit_
    )
    session = (
        pursuit.session([("glucose > 150", None)]) if "glucose > 150" in qs.names else pursuit.session([(0, None)])
    )
    assert np.isnan(session.gains[:-1]).all()
    assert session.question.name == "smoker"
    trace = pursuit.run(pd.DataFrame({"glucose": [np.nan], "smoker": [1]}))
    assert (trace.queries[0] < len(qs) - 1).sum() <= 1


def test_what_follows_is_not_asked():
    qs = columns(X[["glucose", "smoker"]], numbers="thresholds", bins=4)
    pursuit = (
        ip.InformationPursuitClassifier(qs, "table", stopping=ip.Confidence(0.0))
        .fit(X[["glucose", "smoker"]], Y)
        .pursuit_
    )
    gains = pursuit.session([(1, "yes")]).gains
    assert np.isnan(gains[:2]).all()  # above the second threshold is above the first
    assert not np.isnan(gains[2:]).any()
    noisy = replace(pursuit, noise=ip.AnswerNoise(0.9))
    assert not np.isnan(noisy.session([(1, "yes")]).gains[[0, 2, 3]]).any()
    assert np.isnan(noisy.session([(1, None)]).gains[:3]).all()
