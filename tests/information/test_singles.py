"""Joint tables of one variable and the label: what is known already, in full or in part."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from enumerator import mutual_information
from infopursuit.acquisition.tables import condition, part_gains, value_joint

SEEDS = st.integers(0, 2**32 - 1)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(lambda sizes: sum(sizes) > 0), SEEDS)
def test_value_joint_sums_over_the_states_of_each_class(per_class, seed):
    """Classes of like and of unlike size, empty ones too."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(per_class)])
    weights, probs = rng.random((3, offsets[-1])), rng.random((5, offsets[-1]))
    found = value_joint(torch.tensor(weights), torch.tensor(probs), offsets).numpy()
    assert found.shape == (3, 5, len(per_class))
    for c, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        np.testing.assert_allclose(found[:, :, c], weights[:, a:b] @ probs[:, a:b].T, atol=1e-13)


@given(SEEDS)
def test_condition_is_bayes_on_one_variable(seed):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(4) / 3, size=6).T * (rng.random((4, 6)) < 0.7)
    left = rng.random(4) < 0.6
    found = condition(torch.tensor(probs), torch.tensor(np.where(left, 0.0, -np.inf))).numpy()
    for s in range(6):
        total = probs[left, s].sum()
        np.testing.assert_allclose(found[:, s], np.where(left, probs[:, s] / total, 0) if total > 0 else 0, atol=1e-14)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=5), SEEDS)
def test_part_gains_are_gains_of_each_part(sizes, seed):
    rng = np.random.default_rng(seed)
    label = rng.dirichlet(np.ones(3), size=2)  # (H, C)
    given_label = [rng.dirichlet(np.ones(k), size=(2, 3)) for k in sizes]  # (H, C, k)
    joint = np.concatenate([(p * label[:, :, None]).transpose(0, 2, 1) for p in given_label], axis=1)
    found = part_gains(torch.tensor(3.0 * joint), np.array(sizes)).numpy()
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for h in range(2):
        for p in range(len(sizes)):
            truth = mutual_information(joint[h, starts[p] : starts[p + 1]])
            assert found[h, p] == pytest.approx(truth, abs=1e-13)
