"""The split contraction gives the joint table of all patterns."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.acquisition.tables import partial_products, pattern_joint


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_every_pattern_is_the_sum_of_products_over_the_states(sizes, per_class, seed):
    """Variables of any numbers of cells, classes of any numbers of states, none of them among them."""
    rng = np.random.default_rng(seed)
    n = sum(per_class)
    if n == 0:
        per_class, n = [*per_class, 1], 1
    weights, cells = (
        rng.random(n),
        [rng.dirichlet(np.ones(k), size=(2, n)).transpose(0, 2, 1) for k in sizes],
    )  # (Q, K_w, M)
    ends = np.cumsum(per_class).tolist()
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    found = pattern_joint(torch.tensor(weights), [torch.tensor(c) for c in cells], bounds).numpy()
    assert found.shape == (2, np.prod(sizes), len(per_class))
    picked = list(itertools.product(*map(range, sizes)))
    for i in np.unique(rng.integers(len(picked), size=20)):
        for q, (c, (a, b)) in itertools.product(range(2), enumerate(bounds)):
            truth = sum(weights[m] * np.prod([cells[w][q, v, m] for w, v in enumerate(picked[i])]) for m in range(a, b))
            assert found[q, i, c] == pytest.approx(truth, abs=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), [[weights[a:b].sum() for a, b in bounds]] * 2, atol=1e-12)


def test_the_last_variable_runs_fastest():
    one = torch.tensor([[[0.1], [0.9]]], dtype=torch.float64)
    two = torch.tensor([[[0.2], [0.3], [0.5]]], dtype=torch.float64)
    np.testing.assert_allclose(partial_products([one, two])[0, :, 0], [0.02, 0.03, 0.05, 0.18, 0.27, 0.45])
