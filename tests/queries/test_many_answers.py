"""Queries with more joint answers than can be looked at: legal, and refused where each answer would be looked at."""

import copy
import tracemalloc

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.pursuit.histories import Histories, everything_possible, narrow, nothing_to_learn
from infopursuit.queries.choices import MAX_COUNT, JointChoices
from infopursuit.testing import check_strategy

GREY = ip.queries.patches((4, 5), size=3, levels=16)  # 16 ** 9 answers
COLOUR = ip.queries.patches((32, 32), size=3, levels=16, channels=3)  # 16 ** 27


def model_of(queries, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(queries.n_levels), (3, len(queries.variables)))
    return ip.models.TableModel([0.2, 0.3, 0.5], None, probs), probs


def test_answers_are_counted_and_named_without_overflow():
    assert GREY.n_answers[0] == 16**9
    assert COLOUR.n_answers[0] == len(COLOUR.choices(0)) == MAX_COUNT
    cells = tuple(np.random.default_rng(0).integers(16, size=27).tolist())
    choices = JointChoices((16,) * 27)
    said = choices.say(cells)
    assert choices.index(said) == sum(cell * 16**k for k, cell in enumerate(reversed(cells)))
    assert COLOUR.to_answer(0, said) == COLOUR.to_answer(0, np.reshape(cells, (3, 3, 3))) == cells
    with pytest.raises(ValueError, match="is no answer to 'patch at row 1, column 1'"):
        COLOUR.to_answer(0, "nonsense")


@pytest.mark.parametrize("acquisition", [ip.strategies.MutualInformation(), ip.strategies.LookAhead()])
def test_what_looks_at_every_answer_refuses_too_many(acquisition):
    with pytest.raises(ValueError, match=r"68719476736|7e\+10"):
        ip.Pursuit(GREY, ip.strategies.Exact(model_of(GREY)[0], GREY), acquisition)


def test_a_classifier_refuses_before_it_learns():
    class Learner:
        def candidates(self, *_):
            raise AssertionError("it learns")

        fit = candidates

    X, y = np.random.default_rng(0).random((20, 4, 5)), np.arange(20) % 2
    for strategy in ("auto", Learner()):
        with pytest.raises(ValueError, match=r"joint answers, more than 65536.*fewer levels"):
            ip.InformationPursuitClassifier(GREY, strategy).fit(X, y)


def test_a_pursuit_that_looks_at_no_answers_is_right():
    """Pixels are independent given the class: the posterior is a product over the pixels that were seen."""
    model, probs = model_of(GREY)
    pursuit = ip.Pursuit(GREY, ip.strategies.Exact(model, GREY), ip.strategies.FixedOrder((5, 0)), ip.MaxQueries(2))
    X = np.random.default_rng(1).random((20, 4, 5))
    trace, values = pursuit.run(X), GREY.observe(X)
    seen = np.unique(GREY.query_variables[[5, 0]])
    p = np.array([0.2, 0.3, 0.5]) * np.stack([probs[:, seen, row[seen]].prod(axis=1) for row in values])
    np.testing.assert_allclose(trace.posterior, p / p.sum(axis=1, keepdims=True), rtol=1e-9)
    check_strategy(pursuit, X[:4])


def test_variables_that_are_revealed_whole_need_no_table_of_values():
    """The general way and the short one close the same queries and observe the same values."""
    short = ip.queries.patches((3, 4), size=2, levels=3)
    general = copy.copy(short)
    general.whole = False
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 3, size=(200, 12))
    left, right = (np.repeat(everything_possible(qs), 200, axis=0) for qs in (short, general))
    assert (left.shape, right.shape) == ((200, 12), (200, 36))
    histories, rows = Histories.empty(general), np.zeros(200, dtype=np.int64)
    for step in range(5):
        asked, certain = rng.integers(6, size=200), rng.random(200) < 0.8
        other = rng.integers(-1, 3, size=(200, 12)) if step == 4 else values  # answers that contradict each other
        answers = short.answers_of(other, asked)
        left, right = (narrow(qs, each, asked, answers, certain) for qs, each in ((short, left), (general, right)))
        np.testing.assert_array_equal(nothing_to_learn(short, left), nothing_to_learn(general, right))
        histories, rows = histories.extend(rows, asked, answers), np.arange(200)
    observed = histories.observed()
    assert (observed != np.where(observed < 0, -1, values)).any()
    np.testing.assert_array_equal(Histories(short, histories.queries, histories.answers).observed(), observed)


def test_memory_stays_bounded():
    """1,000 histories about 3,072 variables: numbers for each variable, none for each of its 16 values."""
    rng = np.random.default_rng(0)
    values, asked = rng.integers(16, size=(1000, 3072)), rng.integers(len(COLOUR), size=(1000, 3))
    answers = np.stack([COLOUR.answers_of(values, asked[:, k]) for k in range(3)], axis=1)
    one_table = 8 * values.size
    tracemalloc.start()
    observed = Histories(COLOUR, asked, answers).observed()
    left = narrow(
        COLOUR, np.repeat(everything_possible(COLOUR), 1000, axis=0), asked[:, 0], answers[:, 0], asked[:, 0] >= 0
    )
    nothing_to_learn(COLOUR, left)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * one_table
    np.testing.assert_array_equal(observed[observed >= 0], values[observed >= 0])
