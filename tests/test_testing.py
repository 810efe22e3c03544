"""The shipped checks: what is right passes, and every planted fault fails with a message that names it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.models.finite import FiniteModel
from infopursuit.pursuit.protocols import Acquisition, Belief, Capabilities, Estimate
from infopursuit.testing import check_acquisition, check_belief, check_model, check_queries, check_strategy
from worlds import Given, random_world

WORLD = random_world(np.random.default_rng(3), "mixed", zeros=False, n_classes=3, n_latents=2)
QUERIES, MODEL = WORLD.queries, WORLD.model
INPUTS = WORLD.inputs(np.random.default_rng(0), 6)


def exact():
    return ip.strategies.Exact(MODEL, QUERIES)


# ---- beliefs --------------------------------------------------------------------------------------------------------


class Wrapped(Belief):
    """`Exact`, to be broken in one place."""

    capabilities = Capabilities(answers=True)

    def __init__(self):
        self.inner = exact()
        self.n_classes = self.inner.n_classes

    def init(self):
        return self.inner.init()

    def update(self, b, parents, new):
        return self.inner.update(b, parents, new)

    def log_posterior(self, b):
        return self.inner.log_posterior(b)

    def answer_distribution(self, b, query):
        return self.inner.answer_distribution(b, query)


class NotPure(Wrapped):
    """``update`` writes into the state that it was given."""

    def update(self, b, parents, new):
        after = self.inner.update(b, parents, new)
        b.log_joint[:] += np.linspace(0, 1e-3, b.log_joint.shape[1])
        return after


class OfTheBatch(Wrapped):
    """The posterior is drawn towards that of the other histories."""

    def log_posterior(self, b):
        p = np.exp(self.inner.log_posterior(b).value)
        return Estimate.exact(np.log(0.99 * p + 0.01 * p.mean(axis=0)))


class OfThePlace(Wrapped):
    """The first history of a batch is taken for more certain, but not one alone."""

    def log_posterior(self, b):
        p = np.exp(self.inner.log_posterior(b).value)
        if len(p) > 1:
            p[0] = p[0] ** 1.01 / (p[0] ** 1.01).sum()
        return Estimate.exact(np.log(p))


class NotNormalised(Wrapped):
    def log_posterior(self, b):
        return Estimate.exact(self.inner.log_posterior(b).value + 0.01)


class NegativeError(Wrapped):
    def log_posterior(self, b):
        found = self.inner.log_posterior(b)
        return replace(found, error=found.error - 0.1)


class NoEstimate(Wrapped):
    def log_posterior(self, b):
        return self.inner.log_posterior(b).value


class OtherShape(Wrapped):
    def log_posterior(self, b):
        return Estimate.exact(self.inner.log_posterior(b).value[:, :-1])


class LearnsFromSilence(Wrapped):
    """A query that was not answered counts as its first answer."""

    def update(self, b, parents, new):
        answers = np.where(new.answers < 0, 0, new.answers)
        padding = QUERIES.query_variables[new.queries] < 0
        return self.inner.update(b, parents, replace(new, answers=np.where(padding, -1, answers)))


class NoDistribution(Wrapped):
    def answer_distribution(self, b, query):
        return 1.1 * self.inner.answer_distribution(b, query)


class MoreThanCertain(Wrapped):
    capabilities = Capabilities(evidence=True)

    def log_evidence(self, b):
        return self.inner.log_evidence(b) + 50.0


class EvidenceOfOne(Wrapped):
    capabilities = Capabilities(evidence=True)

    def log_evidence(self, b):
        return self.inner.log_evidence(b)[:1, None]


def test_beliefs_that_are_right_pass():
    check_belief(exact(), QUERIES)
    check_belief(Wrapped(), QUERIES, n_histories=3, n_steps=2, seed=5)


@pytest.mark.parametrize(
    ("belief", "message"),
    [
        (NotPure, "update changed the state"),
        (OfTheBatch, "alone and in a batch differ"),
        (OfThePlace, "alone and in a batch differ|order of histories"),
        (NotNormalised, "posterior does not sum to 1"),
        (NegativeError, "standard error is negative"),
        (NoEstimate, "expected an Estimate"),
        (OtherShape, "log_posterior has shape"),
        (LearnsFromSilence, "without an answer changes the posterior"),
        (NoDistribution, "answers do not sum to 1"),
        (MoreThanCertain, r"p\(answers\) is above 1"),
        (EvidenceOfOne, "log_evidence has shape"),
    ],
)
def test_a_belief_with_a_fault_is_found_out(belief, message):
    with pytest.raises(AssertionError, match=message):
        check_belief(belief(), QUERIES)


# ---- acquisition functions ------------------------------------------------------------------------------------------


@dataclass
class Broken(Acquisition):
    """A score for each query, to be broken in one place."""

    fault: str = ""
    unit: str = "score"
    calls: int = 0

    def utilities(self, b, h, allowed, budget):
        self.calls += 1
        score = np.broadcast_to(np.arange(1.0, allowed.shape[1] + 1), allowed.shape).copy()
        if self.fault == "batch":
            score += len(h)
        if self.fault == "calls":
            score += self.calls
        if self.fault == "shape":
            return Estimate.exact(score[:, :-1])
        if self.fault == "none":
            score[:] = np.nan
        if self.fault == "negative":
            score -= 3.0
        found = Estimate.exact(score if self.fault == "forbidden" else np.where(allowed, score, np.nan))
        return replace(found, error=found.error[:, :-1]) if self.fault == "errors" else found


@pytest.mark.parametrize(
    "acquisition",
    [ip.strategies.MutualInformation(), ip.strategies.LookAhead(), ip.strategies.RandomOrder(3), Broken()],
    ids=lambda each: type(each).__name__,
)
def test_acquisition_functions_that_are_right_pass(acquisition):
    check_acquisition(acquisition, exact(), QUERIES)


@pytest.mark.parametrize(
    ("acquisition", "message"),
    [
        (Broken("forbidden"), "not allowed has a utility"),
        (Broken("batch"), "alone and in a batch differ"),
        (Broken("calls"), "called twice"),
        (Broken("shape"), "utilities have shape"),
        (Broken("errors"), "errors have shape"),
        (Broken("none"), "no allowed query has a utility"),
        (Broken(unit="bits"), "unit is 'bits'"),
        (Broken("negative", unit="nats"), "information gain is negative"),
        (Broken(unit="nats"), "exceeds the entropy"),
    ],
    ids=lambda each: f"{each.fault or each.unit}" if isinstance(each, Broken) else "",
)
def test_an_acquisition_function_with_a_fault_is_found_out(acquisition, message):
    with pytest.raises(AssertionError, match=message):
        check_acquisition(acquisition, exact(), QUERIES)


# ---- models ---------------------------------------------------------------------------------------------------------


class Rough(FiniteModel):
    """A table of probabilities that nobody has checked."""

    kind, fault = "rough", ""

    def rows(self, slots):
        return super().rows(slots)[:, ::-1] if self.fault == "rows" and len(slots) == 3 else super().rows(slots)

    def state_probs(self, states):
        return super().state_probs(states) + (0.1 if self.fault == "states" else 0.0)

    def with_class_prior(self, class_prior):
        if self.fault == "in place":
            self.log_prior[:] = super().with_class_prior(class_prior).log_prior
        return self if self.fault == "prior" else super().with_class_prior(class_prior)


def rough(fault="", change=lambda table: table, prior=0.0):
    table = MODEL.block(slice(0, MODEL.variables.n_slots)).copy()
    model = Rough(MODEL.variables, MODEL.log_prior + prior, MODEL.offsets, change(table))
    model.fault = fault
    return model


def _with(index, value):
    def change(table):
        table[index] = value
        return table

    return change


def test_models_that_are_right_pass():
    check_model(MODEL)
    check_model(rough())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: rough(change=lambda table: 0.9 * table), "values do not sum to 1"),
        (lambda: rough(change=_with((0, 0), -0.1)), "probability is negative"),
        (lambda: rough(change=_with((0, 0), 1.5)), "probability is above 1"),
        (lambda: rough(change=lambda table: table[:, :-1]), "table has shape"),
        (lambda: rough(prior=0.1), "prior does not sum to 1|class_prior"),
        (lambda: rough("rows"), "rows does not agree"),
        (lambda: rough("states"), "state_probs does not agree"),
        (lambda: rough("prior"), "with_class_prior has another prior"),
        (lambda: rough("in place"), "with_class_prior c"),
    ],
)
def test_a_model_with_a_fault_is_found_out(model, message):
    with pytest.raises(AssertionError, match=message):
        check_model(model())


# ---- query sets -----------------------------------------------------------------------------------------------------


class Marks(ip.queries.QuerySet):
    """Three marks, to be broken in one place."""

    kind = "marks"

    def __init__(self, fault="", names=("a", "b", "c"), sentences=None):
        super().__init__(list(names), [2] * 3, [[0], [1], [2]], sentences=sentences)
        self.fault = fault

    def observe(self, X):
        values = np.asarray(X).astype(np.int64)
        if self.fault == "alone" and len(values) == 1:
            values = values.copy()
            values[0, 0] = -1
        if self.fault == "median" and len(values):
            values = (np.asarray(X) > np.median(X, axis=0)).astype(np.int64)
        return values.astype(np.int32) if self.fault == "small" else values

    def answers(self, X):
        found = super().answers(X)
        return 1 - found if self.fault == "answers" else found

    def to_answer(self, query, answer):
        return (0,) if self.fault == "anything" and answer == "nonsense" else super().to_answer(query, answer)

    def to_spec(self):
        raise TypeError("only for a test")


ROWS = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])


def test_query_sets_that_are_right_pass():
    check_queries(Marks(), ROWS)
    check_queries(QUERIES, INPUTS)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (Marks("alone"), "input 0 alone has other values"),
        (Marks("median"), "alone has other values"),
        (Marks("small"), "must be integers"),
        (Marks("answers"), "query 0 alone differs"),
        (Marks("anything"), "'nonsense' was taken for an answer"),
        (Marks(sentences=["Has it an a.", "b?", "c?"]), "is no question"),
    ],
    ids=lambda each: each.fault or "sentence" if isinstance(each, Marks) else "",
)
def test_a_query_set_with_a_fault_is_found_out(queries, message):
    with pytest.raises(AssertionError, match=message):
        check_queries(queries, ROWS)


# ---- whole strategies -----------------------------------------------------------------------------------------------


def pursuit(acquisition=None, belief=None):
    return ip.Pursuit(
        QUERIES,
        belief or exact(),
        acquisition or ip.strategies.MutualInformation(),
        ip.Confidence(0.1) | ip.MaxQueries(3),
    )


class Peeks(Given):
    """A query set whose answers depend on a variable that was not asked."""

    def answers_of(self, values, queries=None):
        found = super().answers_of(values, queries)
        other = (values[:, -1:] > 0)[:, None] if found.ndim == 3 else values[:, -1:] > 0
        return np.where(other & (found >= 0), 0, found)


class Remembers(Acquisition):
    """An acquisition function that does not forget whom it has seen: not a function of the history."""

    unit = "score"

    def __init__(self):
        self.calls = 0

    def utilities(self, b, h, allowed, budget):
        self.calls += 1
        order = (np.arange(allowed.shape[1]) + self.calls) % allowed.shape[1]
        return Estimate.exact(np.where(allowed, order, np.nan))


class Crowd(Acquisition):
    """An acquisition function that goes by how many histories there are."""

    unit = "score"

    def utilities(self, b, h, allowed, budget):
        order = np.arange(allowed.shape[1]) * (1 if len(h) > 1 else -1)
        return Estimate.exact(np.where(allowed, order, np.nan))


def test_strategies_that_are_right_pass():
    check_strategy(pursuit(), INPUTS)
    check_strategy(pursuit(ip.strategies.LookAhead()), INPUTS[:3])


@pytest.mark.parametrize("acquisition", [Remembers, Crowd])
def test_a_strategy_that_is_no_function_of_the_history_is_found_out(acquisition):
    with pytest.raises(AssertionError, match=r"order of inputs matters|alone it is another"):
        check_strategy(pursuit(acquisition()), INPUTS)


def test_a_strategy_that_peeks_is_found_out():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5, 0.5], [0.1, 0.5, 0.5]])
    queries = Peeks(["a", "b", "c"], [2] * 3, [[0], [1], [2]])
    one = ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(1))
    with pytest.raises(AssertionError, match="what was not asked matters"):
        check_strategy(one, np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]]))


def test_a_posterior_that_depends_on_the_batch_is_found_out_in_a_strategy():
    with pytest.raises(AssertionError, match=r"posteriors of input|alone it is another|replayed"):
        check_strategy(pursuit(ip.strategies.RandomOrder(), OfTheBatch()), INPUTS)
