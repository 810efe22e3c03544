"""Learners: what they fit, which candidates they offer, and what they refuse."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.models import Blur, EmpiricalModel, Flip, Sample, TableModel, learning
from infopursuit.models.empirical import BLURS
from infopursuit.support.types import Variables

NB, MIXTURE, EMPIRICAL = ip.models.naive_bayes, ip.models.latent_classes, ip.models.empirical


def sample(n=60, sizes=(2, 3, 2), n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    return Sample.of(Variables(sizes), values, np.arange(n) % n_classes)


def wide(n, n_variables, n_classes=2):
    """Rows that are all different."""
    rng = np.random.default_rng(0)
    return Sample.of(Variables((2,) * n_variables), rng.integers(2, size=(n, n_variables)), np.arange(n) % n_classes)


@pytest.mark.parametrize("smoothing", [0.1, 3.0])
def test_naive_bayes_is_the_table_of_frequencies(smoothing):
    rows = sample()
    model = NB(smoothing).fit(rows)
    assert isinstance(model, TableModel)
    assert model.n_latents == 1
    prior, _, table = model.tables()
    np.testing.assert_allclose(prior, rows.class_prior, atol=1e-14)
    np.testing.assert_allclose(table[:, 0], rows.marginals(smoothing), atol=1e-14)
    assert model.variables == rows.variables
    assert model.dtype == np.float64


def test_a_mixture_has_as_many_kinds_as_asked_for():
    model = MIXTURE(3).fit(sample())
    assert model.n_latents == 3
    assert MIXTURE().fit(sample()).n_latents == 4
    np.testing.assert_allclose(model.class_prior, sample().class_prior, atol=1e-12)


def test_the_empirical_learner_blurs_images_and_flips_anything_else():
    flat = sample()
    assert isinstance(EMPIRICAL().fit(flat), EmpiricalModel)
    assert EMPIRICAL().fit(flat).smoothing == Flip()
    pixels = wide(40, 30)
    assert EMPIRICAL().fit(pixels, shape=(5, 6)).smoothing == Blur(shape=(5, 6))
    assert EMPIRICAL().fit(pixels, shape=(3, 10)).smoothing == Flip()  # too small for a blur
    assert EMPIRICAL("blur").fit(pixels, shape=(3, 10)).smoothing == Blur(shape=(3, 10))
    assert EMPIRICAL("flip").fit(pixels, shape=(5, 6)).smoothing == Flip()
    assert EMPIRICAL(Blur((1.0,), (0.1,))).fit(pixels, shape=(5, 6)).smoothing == Blur((1.0,), (0.1,), shape=(5, 6))


def test_open_settings_become_candidates_and_given_ones_stay():
    rows = wide(200, 20)
    assert [c.smoothing for c in NB().candidates(rows)] == sorted(c.smoothing for c in NB().candidates(rows))
    assert len(NB().candidates(rows)) > 1
    assert NB(0.7).candidates(rows) == [NB(0.7)]
    assert MIXTURE(3, 0.5).candidates(rows) == [MIXTURE(3, 0.5)]
    assert [c.n_latents for c in MIXTURE(smoothing=0.5).candidates(rows)] == [2, 4, 8, 16]
    assert {c.smoothing for c in MIXTURE(smoothing=0.5).candidates(rows)} == {0.5}
    assert EMPIRICAL(Flip((0.3,))).candidates(rows) == [EMPIRICAL(Flip((0.3,)))]
    assert {type(c.smoothing) for c in EMPIRICAL().candidates(rows)} == {Flip}
    blurs = EMPIRICAL().candidates(wide(50, 25), shape=(5, 5))
    assert {c.smoothing.shape for c in blurs} == {(5, 5)}
    assert len(blurs) == len(BLURS)


@pytest.mark.parametrize(("rows", "expected"), [(19, []), (20, [2]), (80, [2, 4, 8]), (400, [2, 4, 8, 16, 32])])
def test_a_mixture_needs_five_rows_for_each_kind(rows, expected):
    assert [c.n_latents for c in MIXTURE().candidates(wide(rows, 16))] == expected


def test_mixtures_that_take_too_long_are_left_out(monkeypatch):
    rows = wide(400, 16)
    work = 60 * len(rows) * rows.variables.n_slots
    monkeypatch.setattr(learning, "TABLE_WORK", 8 * work)
    assert [c.n_latents for c in MIXTURE().candidates(rows)] == [2, 4, 8]


def test_empirical_models_that_do_not_fit_the_memory_are_left_out(monkeypatch):
    pixels = wide(100, 100)
    assert EMPIRICAL().candidates(pixels, shape=(10, 10))
    scales = max(blur.n_scales for blur in BLURS)
    monkeypatch.setattr(learning, "EMPIRICAL_BYTES", scales * 4 * len(pixels) * 100)  # the probabilities alone
    assert EMPIRICAL().candidates(pixels, shape=(10, 10)) == []
    assert EMPIRICAL().candidates(pixels)  # bytes instead of probabilities: these fit
    monkeypatch.setattr(learning, "EMPIRICAL_BYTES", 100)
    assert EMPIRICAL().candidates(pixels) == []
    assert EMPIRICAL(Flip()).candidates(pixels) == [EMPIRICAL(Flip())]  # who asks for it by name gets it


def test_variables_with_too_many_values_for_bytes_are_left_out():
    rows = Sample.of(Variables((300, 2)), [[299, 0], [5, 1]], [0, 1])
    assert EMPIRICAL().candidates(rows) == []
    assert NB().candidates(rows)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NB(0), "smoothing=0"),
        (lambda: NB(-1.0), "smoothing=-1.0"),
        (lambda: NB(np.nan), "smoothing=nan"),
        (lambda: MIXTURE(0), "n_latents=0"),
        (lambda: MIXTURE(2.5), "n_latents=2.5"),
        (lambda: MIXTURE(2, 0), "smoothing=0"),
        (lambda: EMPIRICAL("smear"), "smoothing='smear'; expected 'auto', 'blur', 'flip'"),
        (lambda: EMPIRICAL("blur").candidates(sample()), "smoothing='blur' needs patch queries"),
        (lambda: EMPIRICAL("blur").fit(sample()), "smoothing='blur' needs patch queries"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "learner", [NB(0.5), MIXTURE(2), EMPIRICAL(Flip())], ids=["naive Bayes", "mixture", "empirical"]
)
def test_no_answer_is_impossible(learner):
    """Whatever a later input says, every class keeps some probability, the class without rows apart."""
    rows = sample(n=12, sizes=(2, 6, 2))
    model = learner.fit(rows)
    assert (model.block(slice(0, model.variables.n_slots)) > 0).all()
    assert (model.class_prior > 0).all()
