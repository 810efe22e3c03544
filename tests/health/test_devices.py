"""No part of the package assumes that tensors are on the CPU: see `far` for how that is found out without a GPU."""

import numpy as np
import pytest
import torch
from far import DEVICE, Far, WrongDevice, far_away, near
from soundness import assert_same_bits

import infopursuit as ip
from infopursuit.conversation import why
from infopursuit.models import Blur, EmpiricalModel, Flip, TableModel, UnionModel, latent_classes, vae
from infopursuit.models.architectures import ConvArchitecture, MLPArchitecture
from infopursuit.models.autoencoder import VAE, aggregate, log_evidence, soften
from infopursuit.models.storing import load_vae, save_vae
from infopursuit.models.training import RandomAffine, Training, train
from infopursuit.beliefs import SMC, Exact, Langevin, sampled
from quadrature import mixed

RNG = np.random.default_rng(0)
IMAGES, LABELS = (RNG.random((60, 25)) < 0.4).astype(np.int64), np.arange(60) % 3
GAPPY = np.where(RNG.random((5, 25)) < 0.1, -1, RNG.integers(0, 2, size=(5, 25)))
SINGLE, PATCHES = ip.queries.concepts([f"pixel {a}" for a in range(25)]), ip.queries.patches((5, 5), size=2)
MIXTURE = TableModel([0.2, 0.3, 0.5], [[0.5, 0.5]] * 3, RNG.random((3, 2, 25)))
EXAMPLES = EmpiricalModel(IMAGES, LABELS, Flip((0.1, 0.5)))
FINITE = {
    "naive Bayes": TableModel([0.2, 0.3, 0.5], None, RNG.random((3, 25))),
    "mixture": MIXTURE,
    "flip": EXAMPLES,
    "blur": EmpiricalModel(IMAGES, LABELS, Blur(shape=(5, 5))),
    "union": UnionModel([MIXTURE, EXAMPLES]),
}
WAYS = {
    "single": (SINGLE, {}),
    "patches": (PATCHES, {}),
    "on some states": (PATCHES, {"exact_gains": False, "n_states": 20, "n_screened": 3, "checks": 1}),
    "doubtful": (SINGLE, {"noise": ip.AnswerNoise(0.9)}),
}


def both(make, values):
    """The trace of a pursuit on the CPU, and of the same one elsewhere."""
    here = make("cpu").run_values(values)
    with far_away():
        pursuit = make("cuda")
        assert pursuit.model.device == DEVICE
        assert_same_bits(here, pursuit.run_values(values))


# ---- what is found out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        lambda x: x + torch.zeros(3),
        lambda x: torch.stack([x, torch.zeros(3)]),
        lambda x: torch.where(x > 0, x, torch.zeros(3)),
        lambda x: torch.zeros(3)[torch.zeros(1, dtype=torch.long, device=x.device)],
        lambda x: x.__setitem__(slice(0, 1), torch.ones(1)),
        lambda x: torch.nn.Linear(3, 1)(x),
        lambda x: x.numpy(),
        lambda x: np.asarray(x),
        lambda x: torch.randn(3, generator=torch.Generator(), device=x.device),
    ],
)
def test_faults_are_found(fault):
    with far_away(), pytest.raises(WrongDevice):
        fault(torch.ones(3, device="cuda"))


def test_what_a_gpu_allows_is_allowed():
    with far_away():
        x = torch.ones(3, device=DEVICE)
        results = (x + 1, x * torch.tensor(2.0), x[torch.tensor([0, 1])], x.to(torch.float64), torch.arange(3).to(x))
        assert all(isinstance(result, Far) and result.device == DEVICE for result in results)
        assert x.cpu().numpy().tolist() == torch.zeros(3, device="cuda").add(1).to("cpu").tolist() == [1, 1, 1]
        copy = x.cpu()
        copy += 1
        assert float(x.sum()) == 3  # another device has memory of its own


class Forgetful(TableModel):
    """A model with a planted fault: a table that is made where the default device is."""

    def rows(self, slots):
        return super().rows(slots) * torch.ones(self.n_states)


class Hasty(Exact):
    """A posterior with a planted fault: what is on the device is given to numpy."""

    def log_joint(self, belief):
        return torch.as_tensor(super().log_joint(belief).numpy())


def test_planted_faults_are_found():
    model = Forgetful([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    queries = ip.queries.concepts(["a", "b"])
    ip.Pursuit.of(model, queries, stopping=ip.MaxQueries(2)).run([[1, 0]])
    with far_away(), pytest.raises(WrongDevice, match="mixes a tensor on cuda:0 with one of shape"):
        ip.Pursuit.of(model.to("cuda"), queries, stopping=ip.MaxQueries(2)).run([[1, 0]])
    hasty = Hasty(FINITE["mixture"], SINGLE)
    hasty.log_class(hasty.start())
    with far_away():
        far = Hasty(FINITE["mixture"].to("cuda"), SINGLE)
        with pytest.raises(WrongDevice, match=r"numpy\(\) of a tensor on cuda:0"):
            far.log_class(far.start())


# ---- pursuits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((name, way) for name in FINITE for way in ("single", "on some states")),
        ("flip", "patches"),
        ("flip", "doubtful"),
        ("mixture", "doubtful"),
    ],
)
def test_finite_models(name, way):
    queries, options = WAYS[way]
    both(lambda device: ip.Pursuit.of(FINITE[name].to(device), queries, stopping=ip.MaxQueries(3), **options), GAPPY)


@pytest.mark.parametrize(
    "sampler",
    [
        SMC(n_draws=60, min_ess=30, n_own=16, n_moves=2),
        Langevin(4, 4, 1),
        Langevin(4, 2, 1, kernel="ula"),
        Langevin(4, 2, 1, kernel="preconditioned"),
    ],
    ids=lambda sampler: f"{sampler.kind} {getattr(sampler, 'kernel', '')}",
)
def test_draws(sampler):
    known = mixed(1, seed=4)
    both(
        lambda device: ip.Pursuit.of(
            known.model.to(device), known.queries, sampler, ip.MaxQueries(2), n_novelty_queries=1
        ),
        known.inputs(1, seed=2),
    )


def test_other_priors_of_a_vae():
    base = VAE((2,) * 25, [1 / 3] * 3, ConvArchitecture((5, 5)), 4)
    few = SMC(n_draws=40, min_ess=20, n_own=8, n_moves=1)
    for make in (
        lambda device: aggregate(base.to(device), IMAGES, LABELS),
        lambda device: aggregate(base, IMAGES, LABELS).to(device),
        lambda device: soften(base.to(device), Blur()),
    ):
        both(lambda device, make=make: ip.Pursuit.of(make(device), PATCHES, few, ip.MaxQueries(2)), GAPPY[:2])
    with far_away():
        far = log_evidence(base.to("cuda"), GAPPY)
    np.testing.assert_array_equal(far, log_evidence(base, GAPPY))


def test_many_draws_elsewhere_do_without_compiled_loops(monkeypatch):
    """Loops are compiled for the CPU: elsewhere the same is done by products, and a bank says what to use instead."""
    monkeypatch.setattr(sampled, "MANY", 50)
    monkeypatch.setattr("infopursuit.beliefs.pruned.MANY", 50)
    base = VAE((2,) * 25, [1 / 3] * 3, MLPArchitecture((8,)), 2)
    settings = SMC(n_draws=100, min_ess=0)
    here = ip.Pursuit.of(base, PATCHES, settings, ip.MaxQueries(2))
    with far_away():
        pursuit = ip.Pursuit.of(base.to("cuda"), PATCHES, settings, ip.MaxQueries(2))
        assert not here.posterior.weighs
        assert isinstance(pursuit.posterior.shared, Exact)
        trace = pursuit.run_values(IMAGES[:3])
        np.testing.assert_allclose(trace.posterior, here.run_values(IMAGES[:3]).posterior, atol=0.02)
        with pytest.raises(ValueError, match=r"belief="pruned" works on the CPU, and the model is on cuda:0; use 'ex"):
            ip.Pursuit.of(FINITE["flip"].to("cuda"), SINGLE, "bank")


# ---- learning, saving, and all the rest -----------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", [MLPArchitecture((8,)), ConvArchitecture((5, 5))], ids=["mlp", "conv"])
def test_training_and_going_on(tmp_path, architecture):
    settings = Training(
        epochs=2,
        batch_size=30,
        validation=0.2,
        checkpoint_every=0,
        augmentation=RandomAffine() if architecture.kind == "conv" else None,
    )
    weights = {}
    for device in ("cpu", "cuda"):
        with far_away():
            model = VAE((2,) * 25, [1 / 3] * 3, architecture, 2).to(device)
            for _ in range(2):  # the second time from what the first has left
                trained, _ = train(model, IMAGES, LABELS, settings, checkpoint=tmp_path / f"{device}.ckpt")
            assert trained.device.type == device
            save_vae(trained, tmp_path / f"{device}.vae")
            read = load_vae(tmp_path / f"{device}.vae", device=device)
            assert read.device.type == device
            weights[device] = [near(tensor) for tensor in trained.networks.state_dict().values()]
    for one, two in zip(weights["cpu"], weights["cuda"], strict=True):
        torch.testing.assert_close(two, one, rtol=0, atol=0)


FEW = {"posterior": SMC(n_draws=30, min_ess=2, n_own=4, n_moves=1)}


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (latent_classes(2), {}),
        (vae(architecture=MLPArchitecture((8,)), latent_dim=2, training=Training(epochs=1)), FEW),
    ],
    ids=["table", "vae"],
)
def test_a_classifier_from_end_to_end(tmp_path, model, options):
    found = {}
    for device in ("cpu", "cuda"):
        with far_away():
            clf = ip.InformationPursuitClassifier(SINGLE, model, stopping=ip.MaxQueries(2), device=device, **options)
            clf.fit(IMAGES, LABELS)
            assert clf.model_.device.type == device
            trace = clf.explain(IMAGES[:4])
            p_values = clf.fit_novelty(n=20).novelty_pvalues(IMAGES[:4])
            clf.save(tmp_path / device)
            again = ip.load(tmp_path / device, device=device)
            assert again.model_.device.type == device
            assert_same_bits(again.explain(IMAGES[:4]), trace)
            session = clf.session()
            assert why(session.answer(0)) is not None
            other = clf.predict_proba(IMAGES[:3], class_prior=[0.2, 0.2, 0.6])
            found[device] = (trace.posteriors, p_values, other, session.gains)
    for one, two in zip(found["cpu"], found["cuda"], strict=True):
        np.testing.assert_array_equal(one, two)
