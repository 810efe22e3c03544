"""Attribution maps: closed forms on linear networks, sums that must come out, and the paper's way to choose patches."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

import infopursuit as ip
from benchmarks.attribution import (
    OURS,
    compare_attributions,
    deep_shap,
    explain_by_attribution,
    integrated_gradients,
    most_important,
)
from benchmarks.black_box import Network, NetworkSettings, build_network, fit_network
from benchmarks.inputs import Inputs
from benchmarks.sufficiency import audit
from infopursuit.models import Blur, EmpiricalModel, Sample
from isolated import run_alone
from worlds import Given, world_of


def as_network(query_set, module, n_classes):
    return Network(module.eval(), Inputs(query_set), np.arange(n_classes), NetworkSettings(), (), 0.0)


def linear(query_set, n_classes=3, seed=0):
    inputs = Inputs(query_set)
    module = nn.Sequential(nn.Linear(inputs.size, n_classes))
    with torch.no_grad():
        module[0].weight.copy_(torch.randn(module[0].weight.shape, generator=torch.Generator().manual_seed(seed)))
    return as_network(query_set, module, n_classes), module[0].weight.detach().numpy().astype(float)


def convolutional(shape, n_classes=4):
    """A network with batch norms that do something, in double precision."""
    query_set = ip.queries.patches(shape, size=3)
    settings = NetworkSettings(channels=3, hidden=8)
    module = build_network(Inputs(query_set), n_classes, settings)
    generator = torch.Generator().manual_seed(1)
    for layer in module:
        if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
            layer.running_mean.copy_(torch.randn(layer.running_mean.shape, generator=generator) / 4)
            layer.running_var.copy_(torch.rand(layer.running_var.shape, generator=generator) + 0.5)
    return as_network(query_set, module, n_classes)


def pictures(shape, n, seed=0):
    return (np.random.default_rng(seed).random((n, shape[0] * shape[1])) < 0.3).astype(np.int64)


def predicted(network, values):
    """(B,) the predicted classes."""
    return network.logits(values).argmax(axis=1)


def test_integrated_gradients_of_a_linear_network():
    query_set = ip.queries.patches((4, 5), size=2)
    network, weight = linear(query_set)
    values = pictures((4, 5), 7)
    found = integrated_gradients(network, values)
    # the encoding goes from -1 to 1, the picture in which nothing is lit is -1 everywhere
    np.testing.assert_allclose(found, weight[predicted(network, values)] * 2 * values, atol=1e-5)


def test_deep_shap_of_a_linear_network():
    query_set = ip.queries.patches((4, 5), size=2)
    network, weight = linear(query_set)
    values, background = pictures((4, 5), 7), pictures((4, 5), 6, seed=1)
    found = deep_shap(network, values, background)
    expected = weight[predicted(network, values)] * 2 * (values - background.mean(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_variable_with_several_values_gets_the_sum_of_its_numbers():
    query_set = Given(["a", "b"], [2, 3], [[0], [1]])
    network, weight = linear(query_set)
    values = np.array([[1, 2], [0, 0], [1, -1]])
    own = weight[predicted(network, values)]  # numbers: a, b is 0, b is 1, b is 2
    expected = np.stack([own[:, 0] * 2 * values[:, 0], [own[0, 3], own[1, 1], 0.0]], axis=1)
    np.testing.assert_allclose(integrated_gradients(network, values), expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(8, 8), (9, 7), (16, 18)])
def test_attributions_sum_to_the_difference_of_the_outputs(shape):
    """Completeness, also through batch norm and pooling: what both methods promise."""
    network = convolutional(shape)
    values, background = pictures(shape, 6), pictures(shape, 5, seed=1)
    target = predicted(network, values)
    here = network.logits(values)[np.arange(6), target]
    dark = network.logits(np.zeros_like(values[:1]))[0, target]
    others = network.logits(background)[:, target].mean(axis=0)
    assert abs(here - others).max() > 0.01
    np.testing.assert_allclose(deep_shap(network, values, background).sum(axis=1), here - others, atol=1e-4)
    np.testing.assert_allclose(integrated_gradients(network, values, n_steps=200).sum(axis=1), here - dark, atol=0.02)


def test_a_batch_is_its_inputs_one_by_one():
    network = convolutional((8, 8))
    values, background = pictures((8, 8), 9), pictures((8, 8), 40, seed=1)  # 3 inputs at a time
    for method in (integrated_gradients, lambda net, some: deep_shap(net, some, background)):
        alone = np.concatenate([method(network, values[i : i + 1]) for i in range(9)])
        np.testing.assert_allclose(method(network, values), alone, atol=1e-5)


def test_captum_leaves_the_network_as_it_was():
    network = convolutional((8, 8))
    values = pictures((8, 8), 4)
    before = network.logits(values)
    deep_shap(network, values, values)
    integrated_gradients(network, values)
    assert np.array_equal(network.logits(values), before)
    assert not any(module._forward_hooks or module._backward_hooks for module in network.module.modules())


# ---- the queries that matter most -----------------------------------------------------------------------------------


def by_hand(query_set, attribution, length):
    """The paper's steps (i) and (ii) for one input, written down."""
    left, taken = dict(enumerate(attribution)), []
    for _ in range(length):
        best, most = None, None
        for query in range(len(query_set)):
            variables = [a for a in query_set.query_variables[query].tolist() if a >= 0]
            mean = sum(left[a] for a in variables) / len(variables)
            if query not in taken and (most is None or mean > most):
                best, most = query, mean
        taken.append(best)
        for a in query_set.query_variables[best].tolist():
            left[a] = 0.0
    return taken


@pytest.mark.parametrize("kind", ["yes_no", "patches", "mixed"])
@pytest.mark.parametrize("seed", range(6))
def test_the_queries_are_those_of_the_paper(kind, seed):
    world, rng = world_of(seed, kind=kind)
    # sixty-fourths add up without rounding, so that equal is equal
    maps = rng.integers(-20, 21, size=(20, len(world.queries.variables))) / 64
    lengths = rng.integers(0, len(world.queries) + 1, size=20)
    found = most_important(world.queries, maps, lengths)
    assert found.shape == (20, lengths.max())
    for i in range(20):
        assert found[i, : lengths[i]].tolist() == by_hand(world.queries, maps[i], lengths[i])
        assert (found[i, lengths[i] :] == -1).all()


def test_a_query_is_taken_once_even_where_nothing_speaks_for_another():
    query_set = ip.queries.patches((1, 4), size=(1, 2))
    assert most_important(query_set, [[-1.0, -2.0, -3.0, -4.0]], [3]).tolist() == [[0, 1, 2]]
    assert most_important(query_set, [[0.0, 0.0, 0.0, 0.0]], [3]).tolist() == [[0, 1, 2]]


def test_zeroing_makes_room_for_another_place():
    # the patch beside the best one shares its bright pixels: without zeroing it would come second
    query_set = ip.queries.patches((1, 7), size=(1, 3))
    assert most_important(query_set, [[1.0, 5.0, 5.0, 1.5, 0.0, 2.0, 2.0]], [2]).tolist() == [[1, 4]]


@pytest.mark.parametrize(
    ("maps", "lengths", "named"),
    [
        ([[1.0, 2.0]], [1], r"maps has shape \(1, 2\)"),
        ([[1.0, 2.0, np.nan, 0.0]], [1], "not finite"),
        ([[1.0, 2.0, 3.0, 4.0]], [4], "lengths must be 1 whole numbers from 0 to 3"),
        ([[1.0, 2.0, 3.0, 4.0]], [1, 1], "lengths must be 1"),
    ],
)
def test_maps_that_do_not_fit_are_refused(maps, lengths, named):
    with pytest.raises(ValueError, match=named):
        most_important(ip.queries.patches((1, 4), size=(1, 2)), maps, lengths)


# ---- the table ------------------------------------------------------------------------------------------------------


def test_the_table_of_the_paper():
    images, labels = load_digits(return_X_y=True)
    query_set = ip.queries.patches((8, 8), size=3, threshold=7.5)
    values = query_set.observe(images.reshape(-1, 8, 8))
    train, test = slice(0, 400), slice(400, 500)
    sample = Sample.of(query_set.variables, values[train], labels[train], n_classes=10)
    model = EmpiricalModel.of(sample, Blur((0.5,), (0.02,), (0.02,), shape=(8, 8)))
    pursuit = ip.generative_pursuit(model, query_set, stopping=ip.Confidence(0.05) | ip.MaxQueries(8))
    trace = pursuit.run_values(values[test])
    settings = NetworkSettings(channels=6, hidden=32, epochs=6, batch_size=16, learning_rate=1e-2, refit=False)
    network = fit_network(query_set, values[train], labels[train], settings)
    background = values[train][:5]
    table = compare_attributions(pursuit, network, trace, values[test], labels[test], background, n_steps=10)
    assert list(table) == [OURS, "IG", "IG (absolute)", "DeepSHAP", "DeepSHAP (absolute)"]
    assert table[OURS].accuracy == (trace.predictions == labels[test]).mean()
    assert {result.n_queries for result in table.values()} == {trace.length.mean()}
    explained = explain_by_attribution(network, values[test], trace.length, background, n_steps=10)
    assert list(explained) == list(table)[1:]
    assert len({queries.tobytes() for queries in explained.values()}) == 4
    for name, queries in explained.items():
        assert np.array_equal((queries >= 0).sum(axis=1), trace.length)
        assert audit(pursuit, values[test], queries, labels[test]) == table[name]
    with pytest.raises(ValueError, match="trace has 100 inputs and values 99"):
        compare_attributions(pursuit, network, trace, values[test][1:], labels[test][1:], background)


def test_settings_that_cannot_be():
    network = replace(convolutional((8, 8)), seconds=1.0)
    values = pictures((8, 8), 2)
    with pytest.raises(ValueError, match="n_steps=0"):
        integrated_gradients(network, values, n_steps=0)
    with pytest.raises(ValueError, match="background has 1 rows"):
        deep_shap(network, values, values[:1])


def test_without_captum_it_says_what_to_install():
    code = """
from benchmarks.attribution import _captum

try:
    _captum()
except ImportError as error:
    print(error)
"""
    assert "pip install captum" in run_alone(code, without=["captum"])
