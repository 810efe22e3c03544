"""Amortised querying on worlds in which the right answer is known."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.saving import registry
from infopursuit.strategies import NetworkGain, NetworkQuerier
from infopursuit.testing import check_acquisition, check_belief, check_strategy

torch = pytest.importorskip("torch")

TOLERANCE = 1e-5
"""Of float32 networks, alone and in a batch."""
ASKED = [[0.95, 0.5, 0.8, 0.3], [0.05, 0.5, 0.2, 0.3]]
"""P(yes | class) of four concepts: the first tells most, the second and the last nothing."""


def world(n, seed=0):
    """Inputs of two classes, and their model."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = (rng.random((n, 4)) < np.array(ASKED)[y]).astype(int)
    return X, y, ip.models.TableModel([0.5, 0.5], None, ASKED)


QUERIES = ip.queries.concepts(["first", "nothing", "third", "last"])
SHORT = ip.QuerierTraining(epochs=12, max_queries=4, learning_rate=3e-3)


def fitted(unit="score", **settings):
    X, y, _ = world(4000)
    training = settings.pop("training", SHORT)
    strategy = ip.Amortized(unit, ip.Trunk(hidden=(64,)), training=training, **settings)
    return ip.InformationPursuitClassifier(QUERIES, strategy, stopping=ip.Confidence(0.06) | ip.MaxQueries(3)).fit(X, y)


@pytest.fixture(scope="module")
def scored():
    return fitted()


@pytest.fixture(scope="module")
def gained():
    how = ip.QuerierTraining(epochs=40, max_queries=4, learning_rate=1e-2, batch_size=256)
    return fitted("nats", training=how)


def test_the_querier_finds_what_is_informative(scored):
    X, _, model = world(500, seed=1)
    trace = scored.explain(X)
    assert set(trace.queries[:, 0]) == {0}
    two = trace.length >= 2
    assert two.any()
    assert set(trace.queries[two, 1]) == {2}
    exact = ip.generative_pursuit(model, QUERIES, stopping=ip.MaxQueries(2)).run(X)
    found = ip.Pursuit(QUERIES, scored.pursuit_.belief, NetworkQuerier(), ip.MaxQueries(2)).run(X)
    assert np.abs(exact.posterior - found.posterior).max() < 0.1


def test_gains_are_near_the_exact_mutual_information(gained):
    _, _, model = world(1)
    exact = ip.generative_pursuit(model, QUERIES)
    network = gained.pursuit_
    one, two = exact.start(), network.start()
    for query, answer in ((0, 1), (2, 0)):
        found = network.utilities(two).value
        assert np.nanmax(np.abs(found - exact.utilities(one).value)) < 0.05
        entropy = -(two.posterior * np.log(two.posterior)).sum()
        assert (np.nan_to_num(found) >= 0).all()
        assert np.nanmax(found) <= entropy + 1e-12
        one = exact.absorb(one, exact.branch(query, (answer,)), one.watch)
        two = network.absorb(two, network.branch(query, (answer,)), two.watch)


def test_rules_and_costs_in_nats(gained, scored):
    X, _, _ = world(50, seed=2)
    few = ip.Pursuit(QUERIES, gained.pursuit_.belief, NetworkGain(), ip.InformationGain(0.02) | ip.MaxQueries(4))
    assert set(few.run(X).stop_reason) == {"information_gain"}
    dear = ip.Pursuit(QUERIES, gained.pursuit_.belief, NetworkGain(), ip.MaxQueries(1), costs=ip.Costs({"first": 50.0}))
    assert set(dear.run(X).queries[:, 0]) == {2}
    with pytest.raises(ValueError, match="nats"):
        ip.Pursuit(QUERIES, scored.pursuit_.belief, NetworkQuerier(), ip.InformationGain(0.02))
    with pytest.raises(TypeError, match="unit"):
        ip.Pursuit(QUERIES, scored.pursuit_.belief, NetworkGain())


@pytest.mark.parametrize("name", ["scored", "gained"])
def test_contracts(name, request):
    pursuit = request.getfixturevalue(name).pursuit_
    check_belief(pursuit.belief, QUERIES, tolerance=TOLERANCE)
    check_acquisition(pursuit.acquisition, pursuit.belief, QUERIES, tolerance=TOLERANCE)
    check_strategy(pursuit, world(12, seed=3)[0], tolerance=TOLERANCE)


def test_saved_and_loaded_it_asks_the_same(scored, gained, tmp_path):
    X, _, _ = world(60, seed=4)
    for name, clf in (("scored", scored), ("gained", gained)):
        clf.save(tmp_path / name)
        again = ip.load(tmp_path / name)
        assert again.strategy == "amortized"
        one, two = clf.explain(X), again.explain(X)
        assert np.array_equal(one.queries, two.queries)
        np.testing.assert_allclose(one.posteriors, two.posteriors, atol=1e-6)
        assert "network" in (tmp_path / name / "CARD.md").read_text()
        assert clf.pursuit_.calibrated
        assert again.pursuit_.calibrated


def test_damaged_weights_are_refused(scored):
    spec, arrays = registry.encode(scored.pursuit_.belief, "belief")
    wrong = {**arrays, "network.query.bias": arrays["network.query.bias"][:-1]}
    with pytest.raises((ValueError, RuntimeError)):
        registry.decode(spec, wrong, QUERIES)
    with pytest.raises(ValueError, match="finite"):
        registry.decode(spec, {**arrays, "network.query.bias": arrays["network.query.bias"] * np.nan}, QUERIES)


def test_modules_of_ones_own(tmp_path):
    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))

        def forward(self, features):
            return self.layer(features)

    own = fitted(classifier=Classifier(), training=SHORT)
    assert set(own.explain(world(20)[0]).queries[:, 0]) == {0}
    with pytest.raises(TypeError, match="cannot be saved"):
        own.save(tmp_path / "own")
    with pytest.raises(ValueError, match="querier"):
        fitted(querier=torch.nn.Linear(8, 3))


def test_a_session_asks_what_a_batch_asks(scored):
    session = scored.session()
    assert session.question.index == 0
    session.answer("no")
    assert session.question is None or session.question.index == 2


def images(n, seed=0):
    """Two kinds of 8 x 8 images that differ in one corner; the rest is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = (rng.random((n, 8, 8)) < 0.3).astype(int)
    X[:, 5:7, 5:7] = y[:, None, None]
    return X, y


def test_overlapping_patches_of_images(tmp_path):
    X, y = images(1500)
    training = ip.QuerierTraining(epochs=8, max_queries=3, learning_rate=3e-3, augmentation=None)
    strategy = ip.Amortized(trunk=ip.Trunk((8, 16), (32,), blocks=1), training=training)
    clf = ip.InformationPursuitClassifier(ip.queries.patches((8, 8), 3), strategy, stopping=ip.Confidence(0.05)).fit(
        X, y
    )
    new, truth = images(200, seed=1)
    trace = clf.explain(new)
    assert (trace.predictions == truth).mean() > 0.98
    seen = clf.queries_.query_variables[trace.queries[:, 0]]
    assert np.isin(seen, [45, 46, 53, 54]).any(axis=1).all()
    check_strategy(clf.pursuit_, new[:5], tolerance=TOLERANCE)
    clf.save(tmp_path / "images")
    assert np.array_equal(ip.load(tmp_path / "images").explain(new).queries, trace.queries)


def test_numbers_thresholds_and_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.where(X[:, 1] > 0.3, "high", "low")
    X[rng.random(X.shape) < 0.1] = np.nan
    training = ip.QuerierTraining(epochs=25, max_queries=3, learning_rate=3e-3)
    for numbers in ("values", "thresholds"):
        strategy = ip.Amortized(trunk=ip.Trunk(hidden=(32,)), training=training)
        queries = ip.queries.columns(numbers=numbers)
        clf = ip.InformationPursuitClassifier(queries, strategy, stopping=ip.Confidence(0.05) | ip.MaxQueries(3))
        trace = clf.fit(X, y).explain(X[:300])
        known = ~np.isnan(X[:300, 1])
        assert (trace.predictions == y[:300])[known].mean() > 0.9
        first = {clf.queries_.topics[q][0] for q in trace.queries[:, 0]}
        assert len(first) == 1
    check_strategy(clf.pursuit_, X[:6], tolerance=TOLERANCE)


def test_calibrated_on_held_out_rows(scored):
    X, y, _ = world(4000, seed=5)
    p = scored.predict_proba(X)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.digitize(top, np.linspace(0.5, 1, 11))
    error = sum(abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins))
    assert error < 0.03


def test_training_goes_on_from_a_checkpoint(tmp_path, monkeypatch):
    from infopursuit.models.networks import training

    how = ip.QuerierTraining(epochs=4, max_queries=4, checkpoint_every=0.0)
    whole = fitted(training=how)
    calls = iter(range(100))

    def interrupted(*args):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return before(*args)

    before = training.finish_epoch
    with monkeypatch.context() as patched:
        patched.setattr(training, "finish_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted(training=how, checkpoint=tmp_path / "run")
    resumed = fitted(training=how, checkpoint=tmp_path / "run")
    X = world(40, seed=6)[0]
    np.testing.assert_allclose(resumed.explain(X).posteriors, whole.explain(X).posteriors, atol=1e-5)
    with pytest.raises(ValueError, match="other data or other settings"):
        fitted(training=ip.QuerierTraining(epochs=5, max_queries=4), checkpoint=tmp_path / "run")


def test_going_on_from_a_belief(scored):
    again = fitted(start=scored.pursuit_.belief, training=ip.QuerierTraining(epochs=1, random=0.0, max_queries=4))
    assert again.pursuit_.belief.network is not scored.pursuit_.belief.network
    assert set(again.explain(world(20)[0]).queries[:, 0]) == {0}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("unit", lambda: ip.Amortized(unit="bits")),
        ("trunk", lambda: ip.Amortized(trunk=64)),
        ("hidden", lambda: ip.Trunk(hidden=())),
        ("channels", lambda: ip.Trunk(channels=(0,))),
        ("blocks", lambda: ip.Trunk(hidden=(8,), blocks=1)),
        ("epochs", lambda: ip.QuerierTraining(epochs=0)),
        ("validation", lambda: ip.QuerierTraining(validation=0.0)),
        ("temperature", lambda: ip.QuerierTraining(temperature=(1.0, 0.0))),
    ],
)
def test_settings_are_checked(name, make):
    with pytest.raises((TypeError, ValueError), match=name):
        make()


def test_colours_are_planes():
    """Pixel-major variables, as of colour patches, become a plane for each colour: values, masks, darkest, lightest."""
    from types import SimpleNamespace

    from infopursuit.strategies.amortized.belief import VariableInputs
    from infopursuit.support.types import Variables

    queries = SimpleNamespace(shape=(2, 2), variables=Variables((5,) * 12), query_variables=np.arange(12).reshape(4, 3))
    inputs = VariableInputs(queries)
    known = np.array([[0, 1, 2, 4, -1, 3, 2, 2, 2, -1, 0, 4]], dtype=np.int8)
    planes = inputs.encode(known).reshape(12, 2, 2).numpy()
    assert planes[0].ravel().tolist() == [-1.0, 1.0, 0.0, 0.0]  # red of the four pixels; the last is not known
    assert planes[3].ravel().tolist() == [1.0, 1.0, 1.0, 0.0]
    mask = torch.as_tensor((known != -1).astype(np.float32))
    assert np.array_equal(inputs.spread(mask).reshape(12, 2, 2)[9:].numpy(), planes[3:6])
    assert planes[6].ravel().tolist() == [1.0, 0.0, 0.0, 0.0]
    assert planes[9].ravel().tolist() == [0.0, 1.0, 0.0, 0.0]
