"""The linear opinion pool of `docs/paper.md` is the mean of what its models believe."""

import numpy as np
import pytest

import infopursuit as ip
from bars import after, bars
from benchmarks.pool import Pooled, UnionModel
from infopursuit.models import EmpiricalModel, TableModel
from infopursuit.models.empirical import Blur, Flip
from infopursuit.strategies import Exact

QUERIES = ip.queries.patches((6, 6), size=2, threshold=0.5)


def members():
    """Three models of unlike sizes that believe unlike things."""
    values, labels = bars(260, np.random.default_rng(0), (6, 6), 0.1)
    probs = np.random.default_rng(1).uniform(0.1, 0.9, (2, 1, 36))
    return [
        EmpiricalModel(values[:200], labels[:200], Blur((0.4,), (0.02,), (0.02,), (6, 6))),
        EmpiricalModel(values[200:], labels[200:], Flip((0.2,))),
        TableModel([0.3, 0.7], [[1.0], [1.0]], probs),
    ]


@pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
def test_it_is_the_mean_of_what_the_models_believe_each_by_itself(shares):
    models, (values, _) = members(), bars(25, np.random.default_rng(2), (6, 6), 0.1)
    asked = np.stack([np.random.default_rng(i).choice(len(QUERIES), 6, replace=False) for i in range(len(values))])
    union = UnionModel(models, shares)
    pooled, _ = after(Pooled().build(union, QUERIES), values, asked)
    each = np.array([after(Exact(model, QUERIES), values, asked)[0] for model in models])
    mean = np.einsum("m,mkbc->kbc", union.shares, each)
    # six answers, each of which may let 3e-4 of all go, which is more of one model
    assert np.abs(pooled - mean).max() < 1e-2
    assert np.abs(pooled - mean).mean() < 1e-3
    bayes, _ = after(Exact(union, QUERIES), values, asked)
    assert np.abs(bayes - mean).max() > 0.1  # and that is another thing than Bayes' rule for all together
