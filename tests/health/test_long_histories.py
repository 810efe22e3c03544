"""Thousands of answers: log space holds them all."""

import math

import numpy as np
import pytest
from soundness import assert_sound

import infopursuit as ip
from infopursuit.models import TableModel
from infopursuit.strategies import Exact
from quadrature import posterior_of, updated

N_VARIABLES = 5000
PRIOR = [0.2, 0.3, 0.5]


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).random((3, N_VARIABLES)).clip(1e-9, 1 - 1e-9)


def exact_log_joint(table, x):
    """(C,) log p(y, x), summed without rounding."""
    return np.array(
        [math.log(p) + math.fsum(np.log(np.where(x == 1, t, 1 - t))) for p, t in zip(PRIOR, table, strict=True)]
    )


def test_five_thousand_answers(table):
    """An input of the second class, and one of no class at all, whose probability is e^-8000."""
    rng = np.random.default_rng(1)
    X = np.stack([rng.random(N_VARIABLES) < table[1], rng.random(N_VARIABLES) < 0.5]).astype(np.int64)
    queries = ip.queries.concepts([f"a{a}" for a in range(N_VARIABLES)])
    belief = Exact(TableModel(PRIOR, None, table), queries)
    b, parents = belief.init(), np.zeros(2, dtype=np.int64)
    for a in range(N_VARIABLES):
        b = updated(belief, b, parents, np.full(2, a), X[:, [a]])
        parents = np.arange(2)
    expected = np.stack([exact_log_joint(table, x) for x in X])
    assert expected[1].max() < -3000
    np.testing.assert_allclose(b.log_joint, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(posterior_of(belief, b).sum(axis=1), 1, atol=1e-12)
    assert posterior_of(belief, b).argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("belief", ["exact", "pruned"])
def test_a_pursuit_that_asks_everything(table, belief):
    n = 400
    model = TableModel(PRIOR, None, table[:, :n].clip(1e-5, 1 - 1e-5))
    queries = ip.queries.concepts([f"a{a}" for a in range(n)])
    x = (np.random.default_rng(2).random((1, n)) < 0.5).astype(np.int64)
    pursuit = ip.generative_pursuit(model, queries, belief, ip.MaxQueries(n))
    trace = pursuit.run_values(x)
    assert_sound(trace)
    assert trace.length.tolist() == [n]
    expected = exact_log_joint(table[:, :n].clip(1e-5, 1 - 1e-5), x[0])
    assert trace.log_evidence[0, -1] == pytest.approx(np.logaddexp.reduce(expected), abs=1e-2)
    cache = pursuit.bindings.bind(pursuit)[1]
    assert max(map(len, cache._rows)) <= 16  # names of long histories do not fill the memory


def test_five_thousand_answers_at_once(table):
    """One query about all variables, as of a panel."""
    x = (np.random.default_rng(3).random(N_VARIABLES) < table[2]).astype(np.int64)
    for dtype, close in (("float64", 1e-9), ("float32", 1e-3)):
        model = TableModel(PRIOR, None, table, dtype=dtype)
        found = model.log_prior + model.log_product(2 * np.arange(N_VARIABLES) + x)
        np.testing.assert_allclose(found, exact_log_joint(table, x), rtol=0, atol=close)
