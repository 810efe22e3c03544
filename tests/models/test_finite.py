"""What all finite models share: sums in log space, products that underflow, and that they need no torch."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

import infopursuit as ip
from infopursuit.models import EmpiricalModel, Flip, TableModel
from infopursuit.models.finite import FAINT, class_log_sums, log_sum_exp
from infopursuit.support import lazy


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_log_sum_exp_is_scipys(axis, scale):
    x = scale * np.random.default_rng(0).normal(size=(4, 5))
    x[1], x[2, 3] = -np.inf, -np.inf
    np.testing.assert_allclose(log_sum_exp(x, axis), logsumexp(x, axis=axis), rtol=1e-14)
    assert log_sum_exp(np.empty((3, 0))).tolist() == [-np.inf] * 3


@pytest.mark.parametrize("offsets", [[0, 2, 4, 6], [0, 1, 1, 6]])
def test_class_log_sums_of_equal_and_unequal_classes(offsets):
    x = np.random.default_rng(0).normal(size=(3, 6))
    with np.errstate(divide="ignore"):
        expected = [np.log(np.exp(x[:, a:b]).sum(1)) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(class_log_sums(x, np.array(offsets)), np.transpose(expected), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 16, 17, 60])
def test_a_product_that_underflows_is_summed_in_log_space(n):
    """In one state it is 1e-20 each time, in another 0 once, in the third nothing special."""
    p = np.array([np.full(60, 1e-20), np.append(np.full(59, 0.5), 0.0), np.full(60, 0.3)])
    model = TableModel([0.2, 0.3, 0.5], None, p)
    slots = 2 * np.arange(60)[60 - n :] + 1
    with np.errstate(divide="ignore"):
        expected = np.log(p[:, 60 - n :]).sum(axis=1)
    np.testing.assert_allclose(model.log_product(slots), expected, rtol=1e-13)
    assert n < 16 or np.exp(expected[0]) < FAINT


def test_another_number_type_keeps_the_class_prior():
    table = TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    examples = EmpiricalModel([[1, 0], [0, 0]], [0, 1], Flip((0.1,)))
    for model in (table, examples):
        other = model.with_class_prior([0.1, 0.9]).to(dtype="float32")
        np.testing.assert_allclose(other.class_prior, [0.1, 0.9])
        assert other.rows(np.array([0, 3])).dtype == np.float32


def test_what_holds_training_data_says_so():
    table = TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    examples = EmpiricalModel([[1, 0], [0, 0]], [0, 1])
    assert [m.contains_training_data for m in (table, examples)] == [False, True]


def test_networks_without_torch_say_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(lazy, "import_module", missing)
    with pytest.raises(ImportError, match=r"VAE needs torch: pip install infopursuit\[networks\]"):
        _ = ip.models.VAE
    with pytest.raises(AttributeError, match="has no attribute 'Forest'"):
        _ = ip.models.Forest
