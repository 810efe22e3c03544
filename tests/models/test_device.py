"""Amortised networks on a device: the same code trains and pursues there, and nothing is mixed up on the way."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import infopursuit as ip  # noqa: E402
from infopursuit.models.networks.amortized import device_of  # noqa: E402
from infopursuit.models.networks.augmentation import RandomAffine  # noqa: E402
from infopursuit.models.sample import Sample  # noqa: E402
from infopursuit.pursuit.loop import Pursuit  # noqa: E402
from infopursuit.pursuit.stopping import MaxQueries  # noqa: E402
from tests.models.pretend_device import DEVICE, PretendDevice  # noqa: E402

HOW = ip.QuerierTraining(epochs=2, batch_size=20, max_queries=3, validation=0.2, augmentation=RandomAffine(1.0))


def images(n=60, levels=2):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    x = np.where(rng.random((n, 8, 8)) < 0.1, 0, (np.arange(8) // 4 == y[:, None])[:, None, :] * (levels - 1))
    return x, y


def sample_of(queries, x, y):
    return Sample.of(queries.variables, queries.observe(x), y, n_classes=2)


def test_the_pretended_device_refuses_what_a_real_one_refuses():
    with PretendDevice() as device:
        there = torch.ones(3).to(DEVICE)
        assert there.device == DEVICE
        assert (there + 1).device == DEVICE
        assert (there * 2).cpu().numpy().tolist() == [2, 2, 2]
        assert there[torch.tensor([0])].device == DEVICE  # as on a real one
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(3)
        with pytest.raises(RuntimeError, match="same device"):
            torch.arange(3)[there.long()]
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()
        assert device.n_operations


@pytest.mark.parametrize(
    ("unit", "trunk", "levels"),
    [
        ("score", ip.Trunk((4, 4), (8,), blocks=1), 2),
        ("nats", ip.Trunk((4, 4), (8,)), 2),
        ("nats", ip.Trunk((), (8, 8), (4, 4)), 16),
    ],
)
def test_networks_are_trained_and_asked_there(unit, trunk, levels, tmp_path):
    x, y = images(levels=levels)
    how = {"threshold": 0.5} if levels == 2 else {"levels": levels, "value_range": (0, levels - 1)}
    queries = ip.queries.patches((8, 8), size=2, stride=2, **how)
    here = ip.Amortized(unit, trunk, training=HOW).build(sample_of(queries, x, y), queries, 0)
    with PretendDevice() as device:
        file = tmp_path / "network.checkpoint"
        learner = ip.Amortized(unit, trunk, training=HOW, device=DEVICE, checkpoint=file)
        belief, acquisition = learner.build(sample_of(queries, x, y), queries, 0)
        assert device_of(belief.network) == DEVICE
        found = Pursuit(queries, belief, acquisition, MaxQueries(3)).run(x)
        ip.save(Pursuit(queries, belief, acquisition, MaxQueries(3)), tmp_path / "model")
        again = learner.build(sample_of(queries, x, y), queries, 0)[0]  # from the checkpoint
        assert device_of(again.network) == DEVICE
        n_operations = device.n_operations
    assert n_operations > 100
    expected = Pursuit(queries, *here, MaxQueries(3)).run(x)
    assert (found.queries == expected.queries).all()  # random numbers are those of the processor
    np.testing.assert_allclose(found.posteriors, expected.posteriors, atol=1e-9)
    loaded = ip.load(tmp_path / "model").run(x)
    np.testing.assert_allclose(loaded.posteriors, expected.posteriors, atol=1e-9)


def test_students_and_second_networks_are_trained_there():
    x, y = images()
    queries = ip.queries.patches((8, 8), size=2, stride=2, threshold=0.5)
    clf = ip.InformationPursuitClassifier(queries, "table", stopping=MaxQueries(3), random_state=0).fit(x, y)
    trunk = ip.Trunk((4, 4), (8,))
    with PretendDevice():
        student, _ = ip.distill(clf.pursuit_, x, y, max_queries=3, trunk=trunk, training=HOW, device=DEVICE)
        tutor = student.belief
        taught, _ = ip.distill(clf.pursuit_, x, y, max_queries=3, trunk=trunk, training=HOW, tutor=tutor, device=DEVICE)
        second = ip.history_classifier(student, x, y, trunk=trunk, training=HOW, device=DEVICE)
        assert {device_of(each.network) for each in (student.belief, taught.belief, second)} == {DEVICE}
        assert student.run(x).posteriors.shape[2] == 2


def test_the_estimator_passes_its_device_on():
    queries = ip.queries.patches((8, 8), size=2, stride=4, threshold=0.5)
    clf = ip.InformationPursuitClassifier(queries, "amortized", stopping=MaxQueries(2), device=DEVICE)
    assert clf._options()[0].strategy.device == DEVICE
