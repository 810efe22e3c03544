"""The hybrid strategy: masked networks believe, and look ahead over predicted answers."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import infopursuit as ip
from infopursuit.models.networks.masked import Training
from infopursuit.pursuit.histories import Histories
from infopursuit.strategies import LookAhead
from infopursuit.strategies.hybrid.belief import PredictorBelief, SinglePredictor
from infopursuit.strategies.look_ahead import _BoundLookAhead
from infopursuit.testing import check_acquisition, check_belief, check_strategy
from unlimited import utilities

QUICK = ip.Hybrid(n_members=2, training=Training(max_steps=200))
FLOAT32 = 2e-5
"""Gains are computed in float32."""


def table(n=240, seed=0):
    """A number and a colour that tell the class, a number that does not, and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=n).round(2),
            "size": (3.0 * y + rng.normal(size=n)).round(2),
            "colour": np.where(rng.random(n) < 0.8, np.array(["red", "green", "blue"])[y], "grey"),
            "weight": (rng.normal(size=n) + (y == 2)).round(1),
        }
    )
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    return X, np.array(["ant", "bee", "cat"])[y]


def fit(X, y, **options):
    options = {"stopping": ip.Confidence(0.05), **options}
    return ip.InformationPursuitClassifier(strategy=QUICK, **options).fit(X, y)


@pytest.fixture(scope="module")
def clf():
    return fit(*table())


@pytest.fixture(scope="module")
def belief(clf):
    return clf.pursuit_.belief


def after(belief, queries, history):
    """The state and the histories after (query, cell) pairs, one row of them for each history."""
    b, h = belief.init(), Histories.empty(queries)
    for step in zip(*history, strict=True):
        query = np.array([q for q, _ in step])
        cells = np.full((len(query), queries.width), -1)
        cells[:, 0] = [cell for _, cell in step]
        rows = np.arange(len(query)) if h.n_steps else np.zeros(len(query), dtype=np.int64)
        h = h.extend(rows, query, cells)
        b = belief.update(b, rows, h)
    return b, h


# ---- what every strategy must keep to -------------------------------------------------------------------------------


def test_it_learns(clf):
    X, y = table(300, seed=1)
    assert clf.score(X, y) > 0.85
    assert clf.model_ is None
    assert clf.tuning_.strategy == "hybrid"


def test_the_contracts(clf, belief):
    X, _ = table(12, seed=2)
    check_belief(belief, clf.queries_)
    check_acquisition(LookAhead(), belief, clf.queries_, tolerance=FLOAT32)
    check_strategy(clf.pursuit_, X, tolerance=FLOAT32)


def test_what_was_not_asked_changes_nothing(clf):
    X, _ = table(40, seed=3)
    before = clf.explain(X)
    other = X.copy()
    values = {"noise": 99.0, "size": -50.0, "colour": "blue", "weight": np.nan}
    for i in range(len(X)):
        asked = {clf.queries_.names[q] for q in before.queries[i, : before.length[i]]}
        for name in set(values) - asked:
            other.loc[i, name] = values[name]
    assert not other.equals(X)
    again = clf.explain(other)
    np.testing.assert_array_equal(again.queries, before.queries)
    np.testing.assert_allclose(again.posterior, before.posterior, rtol=0, atol=1e-12)


def test_alone_in_a_batch_and_in_another_order_it_asks_the_same(clf):
    X, _ = table(40, seed=4)
    whole, order = clf.explain(X), np.random.default_rng(0).permutation(40)
    mixed = ip.testing.replace_cache(clf.pursuit_).run(X.iloc[order])
    for place, i in enumerate(order.tolist()):
        alone = ip.testing.replace_cache(clf.pursuit_).run(X.iloc[[i]])
        for trace, row in ((mixed, place), (alone, 0)):
            n = whole.length[i]
            assert trace.length[row] == n
            assert trace.queries[row, :n].tolist() == whole.queries[i, :n].tolist()
            assert trace.stop_reason[row] == whole.stop_reason[i]
            np.testing.assert_allclose(trace.posterior[row], whole.posterior[i], rtol=0, atol=1e-9)


def test_fitting_twice_gives_the_same_and_another_seed_gives_another():
    X, y = table(150)
    one, two, other = (fit(X, y, random_state=seed).explain(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.queries, two.queries)
    np.testing.assert_allclose(one.posterior, two.posterior, rtol=0, atol=1e-9)
    assert one.posterior.shape != other.posterior.shape or np.abs(one.posterior - other.posterior).max() > 1e-6


def test_the_order_of_training_rows_does_not_matter():
    X, y = table(150)
    order = np.random.default_rng(0).permutation(150)
    one, two = fit(X, y), fit(X.iloc[order], y[order])
    new, _ = table(30, seed=5)
    np.testing.assert_array_equal(one.explain(new).queries, two.explain(new).queries)
    np.testing.assert_allclose(one.predict_proba(new), two.predict_proba(new), rtol=0, atol=1e-9)


# ---- unusual inputs -------------------------------------------------------------------------------------------------


def test_numbers_beyond_the_training_range(clf):
    """They count like the ends of the range, however far they are."""
    session = clf.session([("size", 1e12)])
    assert np.isfinite(session.posterior).all()
    assert session.posterior.argmax() == 2
    np.testing.assert_allclose(session.posterior, clf.session([("size", 1e15)]).posterior, rtol=0, atol=1e-12)
    assert clf.session([("size", -1e12)]).posterior.argmax() == 0


def test_a_number_counts_as_a_number_not_as_its_cell(clf):
    scale = clf.queries_.scale(clf.queries_.names.index("size"))
    inside = np.linspace(scale.thresholds[0], scale.thresholds[1], 12)[1:-1].tolist()
    posteriors = np.array([clf.session([("size", x)]).posterior for x in inside])
    assert np.abs(posteriors - posteriors[0]).max() > 1e-4


def test_a_class_that_training_has_once():
    X, y = table(150)
    y = y.astype(object)
    y[7] = "dog"
    clf = fit(X, y)
    assert clf.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    posterior = clf.predict_proba(X)
    assert np.isfinite(posterior).all()
    assert (posterior[:, 3] > 0).all()  # nothing rules it out for good
    assert clf.score(X, y) > 0.85


def test_a_table_of_gaps_alone_gets_the_prior(clf):
    empty = pd.DataFrame({"noise": [np.nan], "size": [np.nan], "colour": [None], "weight": [np.nan]})
    trace = clf.explain(empty)
    np.testing.assert_allclose(trace.posterior[0], clf.session().posterior, rtol=0, atol=1e-12)
    assert trace.stop_reason.tolist() == ["exhausted"]


def test_a_column_that_is_mostly_missing_is_asked_later():
    """Two columns are equally informative; nine in ten cells of the first are empty."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({"rare": 2.0 * y + rng.normal(size=400), "usual": 2.0 * y + rng.normal(size=400)})
    X.loc[rng.random(400) < 0.9, "rare"] = np.nan
    clf = fit(X, y)
    assert clf.session().question.name == "usual"
    gains = clf.pursuit_.utilities(clf.pursuit_.start()).value[0]
    assert gains[0] < 0.5 * gains[1]


def test_what_a_finite_model_is_needed_for_is_refused(clf):
    X, y = table(100)
    with pytest.raises(ValueError, match=r"class_prior.*strategy='table'"):
        clf.predict_proba(X, class_prior=[0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match=r"noise=.*strategy='table'"):
        fit(X, y, noise=ip.AnswerNoise(0.9))
    with pytest.raises(ValueError, match=r"novelty.*strategy='table'"):
        clf.novelty_pvalues(X)
    with pytest.raises(ValueError, match=r"novelty.*strategy='table'"):
        clf.fit_novelty(X)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="n_members"):
        ip.Hybrid(n_members=1)
    with pytest.raises(TypeError, match="training"):
        ip.Hybrid(training=ip.models.Training())  # that of a VAE


@pytest.mark.usefixtures("quick_hybrid")
@pytest.mark.parametrize("strategy", ["auto", "hybrid"])
def test_with_a_prior_it_begins_with_that(strategy):
    X, y = table(100)
    clf = ip.InformationPursuitClassifier(strategy=strategy, assess=False).fit(X, y, class_prior=[0.2, 0.3, 0.5])
    np.testing.assert_allclose(clf.session().posterior, [0.2, 0.3, 0.5], rtol=0, atol=0.02)


def test_a_query_with_too_many_answers_is_refused():
    X = pd.DataFrame({"name": [f"n{i % 80}" for i in range(160)], "x": np.arange(160) // 2 % 7})
    with pytest.raises(ValueError, match=r"'name' has 8\d answers.*max_categories=64"):
        fit(X, np.arange(160) % 2, queries=ip.queries.columns(max_categories=200))


# ---- gains ----------------------------------------------------------------------------------------------------------


class Joint(SinglePredictor):
    """A predictor and a model of the answers that are consistent: both come from one table p(y, x1, x2, x3).

    share: how often each query has no answer, whatever it would be."""

    def __init__(self, p, share=(0.0, 0.0, 0.0)):
        self.p, self.share = p, np.array(share)
        self.cells = np.array(list(product(*map(range, p.shape[1:]))))
        self.flat = p.reshape(len(p), -1)
        self.n_classes = len(p)
        self.offsets = np.concatenate([[0], np.cumsum(np.array(p.shape[1:]) + (self.share > 0))])

    def joint(self, answers):
        """(H, C, cells) restricted to what is known."""
        known = np.isnan(answers[:, None]) | (answers[:, None] == self.cells)
        return self.flat * known.all(axis=2)[:, None]

    def predict(self, answers):
        p = self.joint(answers).sum(axis=2)
        return p / p.sum(axis=1, keepdims=True), np.zeros_like(p)


class JointAnswers(Joint):
    def predict(self, answers):
        p = self.joint(answers).sum(axis=1)
        p /= p.sum(axis=1, keepdims=True)
        found = []
        for q, share in enumerate(self.share):
            each = [(p * (self.cells[:, q] == v)).sum(axis=1) for v in range(self.p.shape[1 + q])]
            found += [np.stack(each, axis=1) * (1 - share)]
            found += [np.full((len(p), 1), share)] if share else []
        return np.concatenate(found, axis=1)


def toy(share=(0.0, 0.0, 0.0), seed=0):
    """A consistent belief about three columns with three, two and three answers."""
    p = np.random.default_rng(seed).gamma(0.7, size=(3, 3, 2, 3)) + 0.02
    p[:, :, :, :] *= np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]])[:, None, None]  # the last column tells most
    p /= p.sum()
    names = [["a", "b", "c"], ["a", "b"], ["a", "b", "c"]]
    frame = pd.DataFrame(list(product(*names)), columns=["one", "two", "three"])
    queries = ip.queries.columns(frame)
    assert queries.n_answers.tolist() == [3, 2, 3]
    return PredictorBelief(Joint(p), JointAnswers(p, share), queries), queries


HISTORIES = ([], [(0, 1)], [(1, 0)], [(2, 2), (0, 0)])


@pytest.mark.parametrize("history", HISTORIES)
def test_the_gains_of_a_consistent_belief_are_mutual_information(history):
    """Computed by the belief, by the look-ahead for any belief, and from the definition."""
    belief, queries = toy()
    b, h = after(belief, queries, [history])
    allowed = np.ones((1, 3), dtype=bool)
    allowed[0, [q for q, _ in history]] = False
    own = belief.look_ahead(b, allowed).value
    brute = utilities(_BoundLookAhead(LookAhead(), belief, queries, None), b, h, allowed).value
    np.testing.assert_allclose(own, brute, rtol=0, atol=1e-9)
    joint = belief.predictor.joint(b)[0]
    for q in np.flatnonzero(allowed[0]):
        pair = np.stack([joint[:, belief.predictor.cells[:, q] == v].sum(axis=1) for v in range(queries.n_answers[q])])
        pair /= pair.sum()
        expected = (pair * np.log(pair / pair.sum(axis=0) / pair.sum(axis=1, keepdims=True))).sum()
        assert own[0, q] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("history", HISTORIES)
def test_missing_answers_discount_the_gain(history):
    belief, queries = toy()
    gappy, _ = toy((0.0, 0.75, 0.2))
    b, _ = after(belief, queries, [history])
    allowed = np.ones((1, 3), dtype=bool)
    allowed[0, [q for q, _ in history]] = False
    whole, found = (each.look_ahead(b, allowed).value for each in (belief, gappy))
    np.testing.assert_allclose(found, whole * [1, 0.25, 0.8], rtol=0, atol=1e-9)
    np.testing.assert_allclose(gappy.answer_distribution(b, 1), belief.answer_distribution(b, 1), rtol=0, atol=1e-12)


def test_a_pursuit_of_a_consistent_belief_keeps_all_contracts():
    belief, queries = toy((0.1, 0.0, 0.3))
    check_belief(belief, queries, n_steps=2)
    check_acquisition(LookAhead(), belief, queries)
    pursuit = ip.Pursuit(queries, belief, LookAhead(), stopping=ip.Confidence(0.1))
    rows = product("abc", "ab", "abc")
    check_strategy(pursuit, pd.DataFrame(list(rows), columns=["one", "two", "three"]))


def test_gains_are_those_of_the_generic_look_ahead_but_for_the_inconsistency(clf, belief):
    """sum_a p(a) KL(after a || now) = the gain + KL(mean after || now), where every row has an answer."""
    queries = clf.queries_
    query = queries.names.index("colour")
    b, h = after(belief, queries, [[(1, 0)], [(1, 4)], [(3, 2)]])
    allowed = np.zeros((3, len(queries)), dtype=bool)
    allowed[:, query] = True
    own = belief.look_ahead(b, allowed).value[:, query]
    brute = utilities(_BoundLookAhead(LookAhead(), belief, queries, None), b, h, allowed).value[:, query]
    said = belief.answer_distribution(b, query)
    mean = np.zeros((3, belief.n_classes))
    for cell in range(int(queries.n_answers[query])):
        rows = np.arange(3)
        one = h.extend(rows, np.full(3, query), np.full((3, 1), cell))
        mean += said[:, [cell]] * np.exp(belief.log_posterior(belief.update(b, rows, one)).value)
    now = np.exp(belief.log_posterior(b).value)
    rest = (mean * np.log(mean / now)).sum(axis=1)
    np.testing.assert_allclose(own + rest, brute, rtol=0, atol=5e-3)  # answers below 1 in 1,000 are not looked at
    assert own.max() > 0.05


def test_gains_are_never_negative(clf):
    X, _ = table(100, seed=6)
    asked = clf.explain(X)
    assert (asked.gains[asked.queries >= 0] >= 0).all()
    state = clf.pursuit_.start()
    gains = clf.pursuit_.utilities(state).value
    assert (gains >= 0).all()
    assert clf.queries_.names[int(gains.argmax())] in ("size", "colour")


def many(n_columns=16, n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, n_columns)) + np.linspace(0, 1.5, n_columns) * y[:, None], y


def test_screening_keeps_the_best_queries():
    X, y = many()
    whole = fit(X, y).pursuit_.belief
    screened = PredictorBelief(whole.predictor, whole.answers, whole.queries, n_screened=4)
    every = PredictorBelief(whole.predictor, whole.answers, whole.queries, n_screened=100)
    b, h = after(whole, whole.queries, [[(q, cell)] for q in range(0, 16, 3) for cell in (0, 5)])
    allowed = np.ones((len(h), 16), dtype=bool)
    allowed[np.arange(len(h)), h.queries[:, 0]] = False
    few, all_of = screened.look_ahead(b, allowed).value, every.look_ahead(b, allowed).value
    exact = np.isclose(few, all_of, rtol=0, atol=FLOAT32)
    best = few == np.nanmax(few, axis=1, keepdims=True)
    assert (exact | ~best).all()  # what is chosen was computed with all members
    assert (exact.sum(axis=1) >= 4).all()
    assert not exact[allowed].all()
    found = np.nanmax(few, axis=1)
    assert (found > 0.7 * np.nanmax(all_of, axis=1)).all()


def test_what_was_screened_out_is_not_chosen():
    """Its gain by one member may be above that of all members for every other query."""
    belief, queries = toy()

    class Members(Joint):
        n_members = 2

        def predict_after(self, answers, rows, places, table, n):
            vectors = answers[rows]
            vectors[~np.isnan(table[places])] = table[places][~np.isnan(table[places])]
            p = self.predict(vectors)[0]
            return p if n == 1 else 0.5 * p + 0.5 / self.n_classes  # together they are much less sure

    members = PredictorBelief(Members(belief.predictor.p), belief.answers, queries, n_screened=1)
    pursuit = ip.Pursuit(queries, members, LookAhead(), stopping=ip.MaxQueries(1))
    alone = belief.look_ahead(belief.init(), np.ones((1, 3), dtype=bool)).value[0]
    best = int(alone.argmax())
    assert best > 0  # else the lowest index would win anyway
    assert pursuit.session().question.index == best


@pytest.mark.filterwarnings("error")
def test_few_rows_are_held_out_by_fewer_networks_or_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ip.InformationPursuitClassifier(strategy=ip.Hybrid(training=Training(max_steps=100)))
    assert clf.fit(X[::8], y[::8]).pursuit_.belief.predictor.n_members == 8
    with pytest.warns(UserWarning, match="permutation test"):
        assert clf.fit(X[::25], y[::25]).pursuit_.belief.predictor.n_members < 8
    with pytest.raises(ValueError, match="n_members"):
        clf.fit(X[::50], y[::50])
