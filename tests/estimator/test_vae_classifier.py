"""The classifier with a VAE: trained once, explained by draws, and refused before training where it makes no sense."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import infopursuit as ip
from infopursuit.models import ConvArchitecture, MLPArchitecture, Training
from infopursuit.models.networks import training as module
from infopursuit.models.networks.training import VAELearner
from infopursuit.strategies import SMC, Langevin

Classifier = ip.InformationPursuitClassifier
NAMES = list("abcdef")
QUICK = ip.models.vae(MLPArchitecture((16,)), 2, Training(epochs=8, batch_size=16, learning_rate=0.02, validation=0.0))
FEW = SMC(n_draws=100, n_own=16, n_moves=2)


def marks(n=80, seed=0):
    """Six marks, of which three are frequent in each class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    frequent = np.array([[0.9, 0.8, 0.9, 0.1, 0.2, 0.5], [0.2, 0.1, 0.1, 0.9, 0.9, 0.5]])
    X = (rng.random((n, 6)) < frequent[y]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.array(["no", "yes"])[y]


def classifier(strategy=QUICK, belief=FEW, **options):
    options = {"stopping": ip.Confidence(0.05), **options}
    return Classifier(queries=ip.queries.concepts(NAMES), strategy=strategy, belief=belief, **options)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(*marks())


@pytest.fixture
def trainings(monkeypatch):
    """Every training that takes place."""
    real, calls = module.train, []

    def train(*arguments, **options):
        calls.append((arguments, options))
        return real(*arguments, **options)

    monkeypatch.setattr(module, "train", train)
    return calls


def weights_of(model):
    return torch.cat([weight.double().flatten() for weight in model.networks.state_dict().values()])


# ---- the whole way --------------------------------------------------------------------------------------------------


def test_it_classifies_and_says_how(fitted):
    X, y = marks(60, seed=1)
    assert fitted.score(X, y) > 0.85
    trace = fitted.explain(X)
    assert trace.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(trace.predictions, fitted.predict(X))
    np.testing.assert_array_equal(trace.posterior, fitted.predict_proba(X))
    assert trace.length.min() >= 1
    assert not trace.exact_gains
    assert (trace.posterior_errors > 0).any()  # draws say how sure they are
    assert "question" in str(trace[0])


def test_one_input_alone_is_explained_as_in_the_batch(fitted):
    X, _ = marks(10, seed=2)
    batch = fitted.explain(X)
    for i in range(3):
        alone = fitted.explain(X[i : i + 1])
        n = int(alone.length[0])
        assert alone.queries[0, :n].tolist() == batch.queries[i, :n].tolist()
        np.testing.assert_allclose(alone.posterior[0], batch.posterior[i], atol=1e-6)


def test_a_session_asks_what_the_batch_asks(fitted):
    X, _ = marks(5, seed=3)
    trace = fitted.explain(X)
    session = fitted.session()
    for k in range(int(trace.length[0])):
        assert session.question.index == trace.queries[0, k]
        answer = X[0, session.question.index]
        session.answer(None if np.isnan(answer) else int(answer))
    assert session.question is None
    np.testing.assert_allclose(session.posterior, trace.posterior[0], atol=1e-6)


def test_it_is_trained_once_on_all_rows(trainings):
    X, y = marks()
    clf = classifier().fit(X, y)
    assert len(trainings) == 1
    assert trainings[0][0][1].shape == (80, 6)
    assert clf.selection_ == []
    assert isinstance(clf.model_, ip.models.VAE)
    clf.predict(X)
    clf.predict(X, class_prior=[0.1, 0.9])
    assert len(trainings) == 1


def test_by_name_with_settings_that_suit_the_data(trainings, monkeypatch):
    monkeypatch.setitem(module.MIN_STEPS, "table", 40)
    X = pd.DataFrame({"age": np.arange(60.0) // 2, "bill": ["hooked", "cone", "dagger"] * 20})
    clf = Classifier(strategy="vae", belief=FEW).fit(X, X["age"] > 15)
    assert clf.model_.architecture == MLPArchitecture((64, 32))
    assert len(trainings) == 1
    assert clf.predict(X.iloc[:3]).shape == (3,)


def test_images_get_a_convolutional_body(monkeypatch):
    monkeypatch.setitem(module.MIN_STEPS, "image", 1)
    monkeypatch.setitem(module.MIN_EPOCHS, "image", 1)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=30)
    X = np.zeros((30, 8, 9))
    X[y == 0, :, :4], X[y == 1, :, 5:] = 1, 1
    clf = Classifier(strategy="vae", belief=SMC(n_draws=10, min_ess=0), stopping=ip.MaxQueries(2)).fit(X, y)
    assert clf.model_.architecture == ConvArchitecture((8, 9))
    assert clf.model_.latent_dim == 20
    assert clf.explain(X[:2]).length.tolist() == [2, 2]


def test_a_model_that_was_trained_is_taken_as_it_is(fitted, trainings):
    X, y = marks()
    clf = classifier(fitted.model_).fit(X, y)
    assert clf.model_ is fitted.model_
    assert not trainings
    np.testing.assert_array_equal(clf.predict_proba(X[:5]), fitted.predict_proba(X[:5]))


def test_auto_never_trains(trainings):
    X, y = marks()
    clf = classifier("auto", "auto").fit(X, y)
    assert not trainings
    assert isinstance(clf.model_, ip.models.FiniteModel)
    assert not [c for c in clf.selection_ if isinstance(c.learner, VAELearner)]


# ---- posteriors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("posterior", "expected"),
    [
        ("auto", SMC()),
        ("smc", SMC()),
        ("langevin", Langevin()),
        (FEW, FEW),
        (Langevin(n_chains=8, n_steps=2, burn_in=1), Langevin(n_chains=8, n_steps=2, burn_in=1)),
    ],
    ids=str,
)
def test_the_posterior_can_be_chosen(posterior, expected, fitted):
    clf = classifier(fitted.model_, posterior, stopping=ip.MaxQueries(1)).fit(*marks())
    assert clf.pursuit_.belief.settings == expected
    assert clf.predict_proba(marks()[0][:2]).sum() == pytest.approx(2)


@pytest.mark.parametrize("model", ["vae", QUICK, "trained"], ids=["name", "learner", "model"])
def test_the_exact_posterior_of_a_vae_is_refused_before_training(model, fitted, trainings):
    model = fitted.model_ if model == "trained" else model
    with pytest.raises(ValueError, match=r"belief='exact' does not suit"):
        classifier(model, "exact").fit(*marks())
    assert not trainings


@pytest.mark.parametrize("posterior", ["smc", "langevin", FEW], ids=str)
@pytest.mark.parametrize(
    "model",
    [
        "auto",
        "table",
        "empirical",
        ip.models.naive_bayes(1.0),
        ip.models.TableModel([0.5, 0.5], None, np.full((2, 6), 0.5)),
    ],
    ids=["auto", "table", "empirical", "learner", "model"],
)
def test_a_sampler_of_a_finite_model_is_refused(model, posterior):
    with pytest.raises(ValueError, match="does not suit") as refused:
        classifier(model, posterior).fit(*marks())
    assert f"belief={posterior!r}" in str(refused.value)


class Strange:
    """A learner from elsewhere, of which nothing is known before it has been fitted."""

    def candidates(self, sample, shape=None):
        return [self]

    def fit(self, sample, shape=None, seed=0):
        return ip.models.naive_bayes(1.0).fit(sample)


def test_a_learner_from_elsewhere_is_refused_when_its_model_is_known():
    with pytest.raises(ValueError, match="belief='smc' does not suit"):
        classifier(Strange(), "smc").fit(*marks())
    assert classifier(Strange(), "auto").fit(*marks()).pursuit_.exact_gains


@pytest.mark.parametrize("posterior", ["gibbs", None, 3, SMC, [], np.zeros(2)], ids=str)
def test_what_is_no_posterior_is_refused(posterior, trainings):
    with pytest.raises(ValueError, match="belief="):
        classifier(QUICK, posterior).fit(*marks())
    assert not trainings


def test_a_vae_of_other_classes_or_variables(fitted):
    X, _ = marks()
    with pytest.raises(ValueError, match="strategy is a model of 2 classes, but y has 3"):
        classifier(fitted.model_).fit(X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="queries reveal 5 variables"):
        Classifier(ip.queries.concepts(NAMES[:5]), fitted.model_).fit(X[:, :5], np.arange(80) % 2)


# ---- settings -------------------------------------------------------------------------------------------------------


def test_another_class_prior(fitted):
    X, _ = marks(20, seed=4)
    given = classifier(fitted.model_).fit(*marks(), class_prior={"no": 0.9, "yes": 0.1})
    np.testing.assert_allclose(given.session().posterior, [0.9, 0.1])
    later = fitted.predict_proba(X, class_prior=[0.9, 0.1])
    np.testing.assert_allclose(later, given.predict_proba(X))
    assert later[:, 0].sum() > fitted.predict_proba(X)[:, 0].sum()
    np.testing.assert_allclose(fitted.session(class_prior=[0.9, 0.1]).posterior, [0.9, 0.1])
    np.testing.assert_allclose(fitted.session().posterior, fitted.model_.class_prior)


def test_number_types_and_devices(fitted, trainings):
    X, y = marks()
    clf = classifier(fitted.model_, dtype="float64", device="cpu").fit(X, y)
    assert clf.model_.dtype == torch.float64
    np.testing.assert_allclose(clf.session().gains, fitted.session().gains, atol=0.05)
    assert fitted.model_.dtype == torch.float32  # the one given stays as it is
    clf = classifier(dtype="float64", device="cpu").fit(X, y)
    assert clf.model_.dtype == torch.float64
    assert trainings[0][0][0].device == torch.device("cpu")


def test_progress_is_shown_where_asked_for(trainings):
    X, y = marks()
    for verbose, learner, expected in [
        (None, QUICK, None),
        (True, QUICK, True),
        (False, ip.models.vae(QUICK.architecture, 2, QUICK.training, progress=True), True),
    ]:
        classifier(learner, verbose=verbose).fit(X, y)
        assert trainings[-1][1]["progress"] is expected


def test_the_seed_rules_training_and_draws():
    X, y = marks()
    first, again, other = (classifier(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert torch.equal(weights_of(first.model_), weights_of(again.model_))
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert not torch.equal(weights_of(first.model_), weights_of(other.model_))
    assert other.pursuit_.seed == 2


def test_rows_of_weight_two_are_rows_given_twice():
    X, y = marks(40)
    times = np.random.default_rng(0).integers(0, 3, 40)
    weighted = classifier().fit(X, y, sample_weight=times)
    twice = classifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(weights_of(weighted.model_), weights_of(twice.model_))


# ---- a citizen of scikit-learn --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["vae", QUICK], ids=["name", "learner"])
@pytest.mark.parametrize("posterior", ["smc", FEW], ids=["name", "settings"])
def test_settings_survive_a_clone(model, posterior):
    clf = classifier(model, posterior)
    assert clf.get_params()["belief"] == posterior
    copied = clone(clf)
    assert copied.strategy == model
    assert copied.belief == posterior
    assert clone(copied.set_params(belief="langevin")).get_params()["belief"] == "langevin"


def test_a_clone_has_a_model_of_its_own(fitted):
    clf = classifier(fitted.model_)
    copied = clone(clf)
    assert copied.strategy is not fitted.model_
    X, y = marks()
    np.testing.assert_array_equal(copied.fit(X, y).predict_proba(X[:5]), clf.fit(X, y).predict_proba(X[:5]))


def test_in_a_search_over_models_and_posteriors(fitted):
    grid = {"strategy": [QUICK, fitted.model_], "belief": [FEW, Langevin(n_chains=4, n_steps=2, burn_in=1)]}
    search = GridSearchCV(classifier(stopping=ip.MaxQueries(2)), grid, cv=2, error_score="raise", refit=False)
    search.fit(*marks(40))
    assert (search.cv_results_["mean_test_score"] > 0.6).all()
