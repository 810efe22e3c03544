"""No part of the package assumes that tensors are on the CPU: see `far` for how that is found out without a GPU.

Finite models are numpy; what may be on a GPU are the networks of a VAE, and the particles that they decode.
"""

import numpy as np
import pytest
import torch
from far import DEVICE, Far, WrongDevice, far_away, near
from soundness import assert_same

import infopursuit as ip
from infopursuit.app.conversation import look_ahead
from infopursuit.calibration.novelty import NoveltyReference
from infopursuit.models import vae
from infopursuit.models.networks.architectures import ConvArchitecture, MLPArchitecture
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.autoencoder import VAE, log_evidence
from infopursuit.models.networks.training import Training, train
from infopursuit.strategies import SMC, Langevin
from quadrature import mixed

RNG = np.random.default_rng(0)
IMAGES, LABELS = (RNG.random((60, 25)) < 0.4).astype(np.int64), np.arange(60) % 3
GAPPY = np.where(RNG.random((5, 25)) < 0.1, -1, RNG.integers(0, 2, size=(5, 25)))
SINGLE, PATCHES = ip.queries.concepts([f"pixel {a}" for a in range(25)]), ip.queries.patches((5, 5), size=2)


def both(make, values):
    """The trace of a pursuit on the CPU, and of the same one elsewhere."""
    here = make("cpu").run_values(values)
    with far_away():
        pursuit = make("cuda")
        assert pursuit.model.device == DEVICE
        assert_same(here, pursuit.run_values(values))


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


class Forgetful(VAE):
    """A model with a planted fault: a tensor that is made where the default device is."""

    def logits(self, latents, labels):
        return super().logits(latents, labels) * torch.ones(1, 1)


class Hasty(VAE):
    """A model with a planted fault: what is on the device is given to numpy."""

    def draw_prior(self, labels, generator):
        return torch.as_tensor(super().draw_prior(labels, generator).numpy())


@pytest.mark.parametrize("kind", [Forgetful, Hasty])
def test_planted_faults_are_found(kind):
    model = kind((2,) * 25, [1 / 3] * 3, MLPArchitecture((8,)), 2)
    few = SMC(n_draws=20, min_ess=0)
    ip.generative_pursuit(model, SINGLE, few, ip.MaxQueries(1)).run_values(GAPPY[:1])
    with far_away(), pytest.raises(WrongDevice):
        ip.generative_pursuit(model.to("cuda"), SINGLE, few, ip.MaxQueries(1)).run_values(GAPPY[:1])


# ---- pursuits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampler",
    [
        SMC(n_draws=60, min_ess=30, n_own=16, n_moves=2),
        Langevin(4, 4, 1),
        Langevin(4, 2, 1, kernel="ula"),
        Langevin(4, 2, 1),
    ],
    ids=lambda sampler: f"{sampler.kind} {getattr(sampler, 'kernel', '')}",
)
def test_draws(sampler):
    known = mixed(1, seed=4)
    both(
        lambda device: ip.generative_pursuit(known.model.to(device), known.queries, sampler, ip.MaxQueries(2)),
        known.inputs(1, seed=2),
    )


def test_a_convolutional_vae():
    base = VAE((2,) * 25, [1 / 3] * 3, ConvArchitecture((5, 5)), 4)
    few = SMC(n_draws=40, min_ess=20, n_own=8, n_moves=1)
    both(lambda device: ip.generative_pursuit(base.to(device), PATCHES, few, ip.MaxQueries(2)), GAPPY[:2])
    with far_away():
        far = log_evidence(base.to("cuda"), GAPPY)
    np.testing.assert_allclose(far, log_evidence(base, GAPPY), rtol=1e-6)


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
            weights[device] = [near(tensor) for tensor in trained.networks.state_dict().values()]
    for one, two in zip(weights["cpu"], weights["cuda"], strict=True):
        torch.testing.assert_close(two, one, rtol=0, atol=1e-6)


def test_a_classifier_from_end_to_end(tmp_path):
    learner = vae(architecture=MLPArchitecture((8,)), latent_dim=2, training=Training(epochs=1))
    few = SMC(n_draws=30, min_ess=2, n_own=4, n_moves=1)
    clf = ip.InformationPursuitClassifier(SINGLE, learner, belief=few, stopping=ip.MaxQueries(2)).fit(IMAGES, LABELS)
    found = {}
    for device in ("cpu", "cuda"):
        with far_away():
            pursuit = ip.generative_pursuit(clf.model_.to(device), SINGLE, few, ip.MaxQueries(2))
            trace = pursuit.run(IMAGES[:4])
            reference = NoveltyReference.from_model(pursuit, 20)
            session = pursuit.session()
            assert look_ahead(pursuit, session.answer(0).state, session.question.index)
            ip.save(pursuit, tmp_path / device)
            assert_same(ip.load(tmp_path / device).run(IMAGES[:4]), trace)
            found[device] = (trace.posteriors, reference.surprisals, session.gains)
    for one, two in zip(found["cpu"], found["cuda"], strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)
