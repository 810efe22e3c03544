"""The truth about a small VAE: its latent, of one or two dimensions, cut into a grid so fine that sums are integrals.

Grid points weighed by p(z) are the latent states of a table model, and everything about that is exact. The decoders'
last layers are scaled up, so that answers depend on each other given the label, and not on the label alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

import infopursuit as ip
from infopursuit.models.networks.architectures import MLPArchitecture
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.pursuit.histories import Histories
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies import Exact
from worlds import Given, World

PRIOR = (0.5, 0.3, 0.2)
POINTS = {1: 401, 2: 81}
"""Grid points in each dimension."""
REACH = 5.0
"""Where the grid ends: P(|z| > 5) is below 1e-6."""


def small_vae(sizes, latent_dim=1, *, seed=0, scale=4.0, prior=PRIOR, dtype=torch.float32):
    """A VAE that knows something: biases that are not 0, and a last layer that is ``scale`` times as steep."""
    model = VAE(sizes, prior, MLPArchitecture((8,), batch_norm=False), latent_dim, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    first, last = (layer for layer in model.decoder.modules() if isinstance(layer, torch.nn.Linear))
    with torch.no_grad():
        first.bias.copy_(torch.randn(first.bias.shape, generator=generator) / 2)
        last.bias.copy_(torch.randn(last.bias.shape, generator=generator) / 2)
        last.weight *= scale
    return model.to(dtype=dtype)


def grid(latent_dim, n=None):
    """(Z, D) latents on a lattice and (Z,) their probabilities."""
    line = np.linspace(-REACH, REACH, n or POINTS[latent_dim])
    latents = np.stack([axis.ravel() for axis in np.meshgrid(*[line] * latent_dim, indexing="ij")], axis=1)
    weights = np.exp(-(latents**2).sum(axis=1) / 2)
    return latents, weights / weights.sum()


@torch.no_grad()
def on_grid(model, queries, n=None):
    """The world of a VAE whose latent states are grid points."""
    latents, weights = grid(model.latent_dim, n)
    points = torch.as_tensor(latents, dtype=model.dtype)
    tables = []  # (Z, L) for each class
    for c in range(model.n_classes):
        labels = torch.full((len(points),), c)
        tables.append(model.log_probs(points, labels).to(torch.float64).exp().numpy())
    whole = np.stack(tables)  # (C, Z, L)
    whole = np.split(whole, model.variables.offsets[1:-1], axis=2)
    probs = [table / table.sum(axis=2, keepdims=True) for table in whole]  # float32 sums to 1 within 1e-7 only
    return World(model.class_prior, np.tile(weights, (model.n_classes, 1)), probs, queries)


@dataclass(frozen=True)
class Known:
    """A VAE of which everything is known."""

    model: VAE
    queries: QuerySet
    n: int | None = None

    @cached_property
    def world(self):
        return on_grid(self.model, self.queries, self.n)

    @cached_property
    def belief(self):
        return Exact(self.world.model, self.queries)

    @cached_property
    def truth(self):
        """The exact pursuit."""
        return self.world.pursuit([("max_queries", len(self.queries))], exact_gains=True)

    def log_joint(self, history):
        """(C,) log p(y, history)."""
        return believe(self.belief, history).log_joint[0]

    def log_evidence(self, history):
        """log p(history)."""
        return float(np.logaddexp.reduce(self.log_joint(history)))

    def class_probs(self, history):
        """(C,) p(y | history)."""
        return self.truth.believe(history)

    def gains(self, history):
        """(Q,) the gain of every query, NaN for those asked."""
        return self.truth.session(history).gains

    def pursuit(self, belief="auto", stopping=None, **options):
        """A pursuit on draws."""
        return ip.generative_pursuit(
            self.model, self.queries, belief, stopping or ip.MaxQueries(len(self.queries)), **options
        )

    def inputs(self, n, *, seed=0, unknown=0.0):
        """(n, A) values of variables drawn from the model, some of them not known."""
        rng = np.random.default_rng(seed)
        world = self.world
        values = np.empty((n, len(self.model.variables)), dtype=np.int64)
        for i in range(n):
            c = rng.choice(len(world.prior), p=world.prior)
            z = rng.choice(world.latent.shape[1], p=world.latent[c])
            values[i] = [rng.choice(table.shape[2], p=table[c, z]) for table in world.probs]
        return np.where(rng.random(values.shape) < unknown, -1, values)

    def history(self, queries, *, seed=0):
        """Answers to some queries about one input drawn from the model."""
        values = self.inputs(1, seed=seed)
        answers = [self.queries.answers_of(values, np.array([query]))[0] for query in queries]
        return [(q, tuple(int(cell) for cell in a if cell >= 0)) for q, a in zip(queries, answers, strict=True)]


def cells_of(answer, width):
    """An answer as a row of cells, padded."""
    cells = list(answer or ())
    return cells + [-1] * (width - len(cells))


def told(queries, *histories):
    """Histories of the same length side by side."""
    found, rows = Histories.empty(queries), np.zeros(len(histories), dtype=np.int64)
    for steps in zip(*histories, strict=True):
        answers = np.array([cells_of(answer, queries.width) for _, answer in steps])
        found = found.extend(rows, np.array([query for query, _ in steps]), answers)
        rows = np.arange(len(histories))
    return found.take(rows) if found.n_steps == 0 else found


def believe(belief, history):
    """The state of a belief after a history, one answer at a time."""
    b, all_steps, row = belief.init(), told(belief.queries, history), np.zeros(1, dtype=np.int64)
    for k in range(len(history)):
        new = Histories(belief.queries, all_steps.queries[:, : k + 1], all_steps.answers[:, : k + 1])
        b = belief.update(b, row, new)
    return b


def updated(belief, b, parents, queries, answers):
    """Each of some histories longer by one answer (H, W); for beliefs that look at no more than the last."""
    new = Histories(belief.queries, np.asarray(queries)[:, None], np.asarray(answers)[:, None])
    return belief.update(b, np.asarray(parents), new)


def posterior_of(belief, b):
    """(H, C) p(y | history)."""
    return np.exp(belief.log_posterior(b).value)


# ---- the models that the tests use ----------------------------------------------------------------------------------


def yes_no(latent_dim=1, seed=0, n_variables=6, **options):
    """Six yes/no variables, one query each."""
    return Known(
        small_vae((2,) * n_variables, latent_dim, seed=seed, **options),
        ip.queries.concepts(list("abcdefg"[:n_variables])),
    )


def mixed(latent_dim=1, seed=0, **options):
    """Variables of two, three and four values: asked whole, at thresholds, in part, and two at a time."""
    sizes = (2, 3, 2, 3, 4)
    variables = [[0, -1], [1, -1], [2, -1], [3, -1], [3, -1], [4, -1], [4, -1], [0, 2], [1, 4]]
    whole, first, last = [0, 1, 2, -1], [0, 1, 1, -1], [0, 0, 1, -1]
    yes, no, four = [0, 1, -1, -1], [-1] * 4, [0, 1, 2, 3]
    cells = [
        [yes, no], [whole, no], [yes, no], [first, no], [last, no], [[0, 0, 1, 1], no], [four, no], [yes, yes],
        [first, [0, 1, 0, 1]],
    ]  # fmt: skip
    names = ["a", "b", "c", "d >= 1", "d >= 2", "e >= 2", "e", "a and c", "b >= 1, e odd"]
    return Known(small_vae(sizes, latent_dim, seed=seed, **options), Given(names, sizes, variables, cells))


def pixels(latent_dim=2, seed=0, **options):
    """An image of 3 x 3 pixels, and its four patches of 2 x 2, which overlap."""
    return Known(small_vae((2,) * 9, latent_dim, seed=seed, **options), ip.queries.patches((3, 3), size=2))


# ---- samplers over many seeds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimates:
    """What a sampler says after one history with one seed after another, and the truth.

    class_probs, errors: (seeds, C). evidence: (seeds,) estimated p(history) over the true one. renewed: (seeds,)
    whether the history has draws of its own.
    """

    class_probs: np.ndarray
    errors: np.ndarray
    truth: np.ndarray
    evidence: np.ndarray
    renewed: np.ndarray

    @property
    def covered(self):
        """The share of class probabilities that are within two of their reported standard errors of the truth."""
        return float((np.abs(self.class_probs - self.truth) <= 2 * self.errors).mean())

    @property
    def off(self):
        """Root mean square of (estimate - truth) / reported standard error: 1 when the errors are honest."""
        return float(np.sqrt(np.mean(((self.class_probs - self.truth) / self.errors) ** 2)))

    @property
    def bias(self):
        """How many Monte Carlo standard errors the mean estimate of p(history) is away from the truth."""
        return float((self.evidence.mean() - 1) / (self.evidence.std(ddof=1) / np.sqrt(len(self.evidence))))


def estimates(known, settings, history, n_seeds):
    """What a sampler says with the seeds 0, 1, ..."""
    found = []
    for seed in range(n_seeds):
        belief = settings.build(known.model, known.queries, seed)
        b = believe(belief, history)
        estimate = belief.log_posterior(b)
        evidence = float(belief.log_evidence(b)[0]) - known.log_evidence(history)
        found.append((np.exp(estimate.value[0]), estimate.error[0], evidence, b.own[0] is not None))
    p, errors, evidence, renewed = (np.array(column) for column in zip(*found, strict=True))
    return Estimates(p, errors, known.class_probs(history), np.exp(evidence), renewed)
