"""Particles: beliefs by weighted draws of continuous latents; `SMC`, and what `Langevin` shares with it.

All histories begin with one set of particles from the prior, decoded once, whose weights are updated answer by answer.
A history gets particles of its own when a sampler says so (`SMC`: when the effective sample size is too small;
`Langevin`: after every answer). What is drawn depends on the seed and the history alone.
"""

from __future__ import annotations

import hashlib
import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel, segments, softmax
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.protocols import Acquisition, Budget, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.exact import Exact, LatentBelief, StateWeights, log_normalised
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.strategies.generative.langevin import (
    Diagnostics,
    LogDensity,
    adapt,
    family_ess,
    mala,
    start,
    sum_variance,
    target,
    ula,
)
from infopursuit.strategies.generative.pruned import BLOCK, DECODED, MANY, WIDEST, PrunedBelief, States, similar_order
from infopursuit.support.checks import number, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

logger = logging.getLogger(__name__)

LEAST = 1e-6
"""Every value of a variable has this probability at the least, whatever the decoder says, so that no answer is
impossible: the others give way to it. It is more than the least that a float32 can tell from 0 and 1."""
MATTERS = 1e-2
"""The posterior above which a class's effective sample size must be large enough."""
NEGLIGIBLE = 1e-6
"""Classes whose posterior mass is below this together are carried along, but no work is spent on their particles."""
KERNELS = ("ula", "mala")
MAX_BYTES, MAX_STEPS = 8 * 2**30, 10_000
"""Memory that particles may take, and steps or moves of a chain: more is refused before any is taken."""


class Particles(States):
    """Draws of (y, z), sorted by class, decoded: to everything that asks for probabilities it is a finite model.

    latents: (S, D). log_prior: (S,) log of their weights. family: (S,) draws of a class with the same number depend on
    each other: places of one chain, copies of one draw. mass_variance: (C,) relative variance of each class's mass
    before any of these draws was made. block: put draws in such an order that blocks of this many are similar.
    """

    kind = "particles"

    def __init__(
        self,
        model: VAE,
        latents: Tensor,
        offsets: IntArray,
        log_prior: FloatArray,
        family: IntArray | None = None,
        mass_variance: FloatArray | None = None,
        block: int | None = None,
    ) -> None:
        self.family = family
        self.mass_variance = np.zeros(model.n_classes) if mass_variance is None else mass_variance
        by_state = decode(model, latents, np.repeat(np.arange(model.n_classes), np.diff(offsets)))
        if block is not None:
            order = similar_order(by_state, offsets, block)
            by_state, latents, log_prior = by_state[order], latents[torch.as_tensor(order)], log_prior[order]
            self.family = None if family is None else family[order]
        self.latents = latents
        super().__init__(model.variables, log_prior, offsets, by_state)

    def variance_of(self, states: IntArray, terms: FloatArray) -> float:
        """How much the sum of terms (M,), one for each of some draws, would vary from one draw of all to another."""
        each: FloatArray = np.bincount(states, weights=terms, minlength=self.n_states).astype(np.float64, copy=False)
        total = 0.0
        for c, (a, b) in enumerate(segments(self.offsets)):
            mine, family = each[a:b], None if self.family is None else self.family[a:b]
            total += float(sum_variance(mine, family) + self.mass_variance[c] * mine.sum() ** 2)
        return total


@torch.no_grad()
def decode(model: VAE, latents: Tensor, labels: IntArray) -> Any:
    """(S, D) -> (S, L) probabilities of all values, or (S, A) of "yes" where all variables are yes/no."""
    binary = model.features.binary
    sizes = np.array(model.variables.sizes)[model.variables.slot_variable]
    rest = 1 - LEAST * (2 if binary else torch.as_tensor(sizes, dtype=model.dtype, device=model.device))
    of_class = torch.as_tensor(labels, device=model.device)
    table = torch.empty((len(latents), len(model.variables) if binary else model.variables.n_slots), dtype=model.dtype)
    with Progress("decoding particles", len(latents)) as shown:

        @torch.no_grad()  # which holds for the thread that says so
        def some(i: int) -> None:
            mine = slice(i * DECODED, (i + 1) * DECODED)
            logits = model.logits(latents[mine], of_class[mine])
            probs = logits.sigmoid() if binary else model.features.slot_log_probs(logits).exp()
            table[mine] = (LEAST + rest * probs).cpu()
            shown.advance(len(probs))

        side_by_side(some, -(-len(latents) // DECODED))
    return table.numpy()


def stratified_prior(model: Any, n_draws: int, generator: torch.Generator) -> tuple[Tensor, IntArray, FloatArray]:
    """``n_draws`` latents of each class from p(z), the offsets of the classes, and the log weights log p(y) / n."""
    labels = torch.arange(model.n_classes, device=model.device).repeat_interleave(n_draws)
    latents = model.draw_prior(labels, generator)
    with np.errstate(divide="ignore"):
        prior: FloatArray = np.log(model.class_prior) - np.log(n_draws)
    return latents, np.arange(model.n_classes + 1) * n_draws, np.repeat(prior, n_draws)


def systematic(log_weights: FloatArray, n: int, generator: torch.Generator) -> IntArray:
    """(n,) systematic resampling: each draw as often as its weight says, up to rounding, which is left to chance."""
    shift = float(torch.rand(1, generator=generator, dtype=torch.float64))
    points = (np.arange(n) + shift) / n
    # right: a point on a boundary belongs to the draw above it, so that one of weight zero is never taken
    picked = np.searchsorted(np.cumsum(softmax(log_weights)), points, side="right")
    return np.minimum(picked, len(log_weights) - 1)


@dataclass(frozen=True)
class Own:
    """The particles that one history has to itself, their weights (one row), and how good they were when drawn."""

    particles: Particles
    weights: StateWeights
    info: Diagnostics


@dataclass(frozen=True)
class ParticleState:
    """The state of H histories: weights of the particles that all share, out of date for a history with particles of
    its own; those particles, or None; the names of the histories; and the rows whose particles are good enough to go
    on, computed when they are first needed."""

    shared: Any
    own: tuple[Own | None, ...]
    keys: tuple[bytes, ...]
    renewed: dict[int, Own | None]

    def __len__(self) -> int:
        return len(self.own)

    def owners(self) -> list[tuple[int, Own]]:
        """The histories with particles of their own."""
        return [(h, mine) for h, mine in enumerate(self.own) if mine is not None]

    def take(self, rows: Any) -> ParticleState:
        """Some of the histories."""
        index = np.arange(len(self))[rows].tolist()
        found = {new: self.renewed[old] for new, old in enumerate(index) if old in self.renewed}
        return ParticleState(
            self.shared.take(rows), tuple(self.own[i] for i in index), tuple(self.keys[i] for i in index), found
        )


class ParticleBelief(LatentBelief[Any]):
    """p(z, y | history) by weighted particles; subclasses say when and how to draw new ones."""

    kind: ClassVar[str]
    purpose: ClassVar[bytes]  # of a generator

    def __init__(self, model: VAE, queries: QuerySet, settings: Any, seed: int = 0, *, noisy: bool = False) -> None:
        self.model = model
        self.queries = queries
        self.settings = settings
        self.seed = int(seed)
        self.n_classes = model.n_classes
        self.n_draws, self.n_chains, self.n_own = settings.sizes
        latents, offsets, log_prior = stratified_prior(model, self.n_draws, self.generator(b"prior"))
        large = model.features.binary and len(latents) > MANY
        self.particles = Particles(model, latents, offsets, log_prior, block=BLOCK if large else None)
        self.pruned = not noisy and PrunedBelief.serves(self.particles, queries)
        self.shared: Any = (PrunedBelief if self.pruned else Exact)(self.particles, queries)
        self._warned: set[str] = set()

        # of one history: weights of the shared particles, and particles of its own
        numbers_of_particle = 2 * self.particles.by_state.shape[1] + model.latent_dim
        bytes_of_particle = numbers_of_particle * self.particles.by_state.itemsize + 24
        bytes_of_weights = self.shared.capabilities.bytes_per_history
        self.capabilities = Capabilities(
            noise=not self.pruned,
            evidence=True,
            answers=True,
            gains=True,
            contains_training_data=model.contains_training_data,
            bytes_per_history=int(bytes_of_weights + self.n_classes * self.n_own * bytes_of_particle),
        )

    # ---- what the samplers differ in ---------------------------------------------------------------------------------

    def _in_need(self, b: ParticleState, rows: list[int]) -> list[int]:
        """Which of some histories need new particles."""
        raise NotImplementedError

    def _draw(
        self, latents: Tensor, log_weights: FloatArray, density: LogDensity, generator: torch.Generator, fresh: bool
    ) -> tuple[Tensor, IntArray, Diagnostics]:
        """New latents of one class from weighted ones, which of them they stem from, and how good they are. ``fresh``:
        those before are from the prior."""
        raise NotImplementedError

    # ---- the belief --------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """How the posterior is computed."""
        return f"sampled, with standard errors (`{self.settings}`)"

    def for_noise(self, channel: NoiseChannel) -> ParticleBelief:
        """The same sampler, with weights of all particles."""
        if not self.pruned:
            return self
        noisy: ParticleBelief = self.settings.build(self.model, self.queries, self.seed, noisy=True)
        return noisy

    def init(self) -> ParticleState:
        """The prior."""
        return ParticleState(self.shared.init(), (None,), (b"",), {})

    def update(self, b: ParticleState, parents: IntArray, new: Histories) -> ParticleState:
        """One more answer for each history."""
        before = self.renewed(b, np.unique(parents).tolist())
        shared = self.shared.update(b.shared, parents, new)
        own, row = [before[parent] for parent in parents.tolist()], np.zeros(1, dtype=np.int64)
        for h, mine in enumerate(own):
            if mine is not None:
                weights = Exact(mine.particles, self.queries).update(mine.weights, row, new.take([h]))
                own[h] = replace(mine, weights=weights)
        return ParticleState(shared, tuple(own), tuple(new.keys()), {})

    def renewed(self, b: ParticleState, rows: list[int]) -> dict[int, Own | None]:
        """The particles of some histories, good enough to go on; class probabilities stay as they are. Computed once
        and kept in the state: which rows were needed first changes nothing."""
        stale = [h for h in rows if h not in b.renewed]
        b.renewed.update({h: b.own[h] for h in stale} | {h: self._renew(b, h) for h in self._in_need(b, stale)})
        return b.renewed

    def log_posterior(self, b: ParticleState) -> Estimate:
        """(H, C) log p(y | history) with the standard error that comes from the number of particles (delta method)."""
        log_class = log_normalised(self.log_joint(b))
        p, variance = np.exp(log_class), self.class_variance(b)
        spread = (p**2 * variance).sum(axis=1, keepdims=True)
        return Estimate(log_class, np.asarray(p * np.sqrt(np.maximum((1 - 2 * p) * variance + spread, 0))))

    def log_joint(self, b: ParticleState) -> FloatArray:
        """(H, C) log p(y, history)."""
        joint = self.shared.log_joint(b.shared).copy()
        for h, mine in b.owners():
            joint[h] = mine.weights.log_joint[0]
        return np.asarray(joint)

    def class_variance(self, b: ParticleState) -> FloatArray:
        """(H, C) relative variance of p(y, history).

        It is a product of means over particles, one for each time that they were drawn, so that relative variances add
        up; where moves are too few for particles to forget where they come from, to too little.
        """
        n = self.n_draws
        with np.errstate(divide="ignore", invalid="ignore"):
            found = 1 / self.shared.class_ess(b.shared)
            found = np.maximum(found - 1 / n, 0) * n / (n - 1) if n > 1 else np.ones_like(found)
        for h, mine in b.owners():
            for c, (begin, end) in enumerate(segments(mine.particles.offsets)):
                share = softmax(mine.weights.log_weights[0, begin:end])
                family = None if mine.particles.family is None else mine.particles.family[begin:end]
                found[h, c] = mine.particles.mass_variance[c] + float(sum_variance(share, family))
        return np.asarray(np.nan_to_num(found, nan=1.0, posinf=1.0))  # of a class that cannot be

    def class_ess(self, b: ParticleState) -> FloatArray:
        """(H, C) effective sample size of each class."""
        found = self.shared.class_ess(b.shared)
        for h, mine in b.owners():
            found[h] = Exact(mine.particles, self.queries).class_ess(mine.weights)[0]
        return np.asarray(found)

    def reweighed(self, b: ParticleState, shift: FloatArray, rows: list[int]) -> ParticleState:
        """See `Exact.reweighed`; ``rows`` have particles that are good enough to go on."""
        own, renewed = list(b.own), dict[int, Own | None]()
        for h, mine in self.renewed(b, rows).items():
            if h in rows and mine is not None:
                belief = Exact(mine.particles, self.queries)
                mine = replace(mine, weights=belief.reweighed(mine.weights, shift[h : h + 1], [0]))
            renewed[h] = mine
            own[h] = mine if h in rows else own[h]
        shared = self.shared.reweighed(b.shared, shift, [h for h in rows if renewed[h] is None])
        return ParticleState(shared, tuple(own), b.keys, renewed)

    def latent_states(self, b: ParticleState, h: int) -> tuple[FiniteModel, FloatArray, FloatArray]:
        """The particles that history h uses, their log-weights (S,), and its evidence (L,)."""
        own = self.renewed(b, [h])[h]
        if own is not None:
            return own.particles, own.weights.log_weights[0], own.weights.evidence[0]
        return self.shared.latent_states(b.shared, h)  # type: ignore[no-any-return]

    def gains(self, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None) -> ParticleGains:
        """The mutual information of queries under this belief."""
        return ParticleGains(self, settings, costs, noise)

    def source(self, b: ParticleState, h: int) -> tuple[Particles, Any]:
        """The particles from which new ones of history h are drawn, and its weights on them."""
        mine = b.own[h]
        if mine is not None:
            return mine.particles, mine.weights
        shared = b.shared.take(slice(h, h + 1))
        # new particles begin from these, also those of a class whose blocks were all pruned
        return self.particles, self.shared.whole(shared) if self.pruned else shared

    def generator(self, key: bytes) -> torch.Generator:
        """A generator that depends on the seed and the history only."""
        digest = hashlib.blake2b(key, digest_size=7, key=self.seed.to_bytes(8, "little", signed=True)).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "little"))

    # ---- shared by the samplers --------------------------------------------------------------------------------------

    def _worth(self, log_class: FloatArray) -> list[int]:
        """The classes of one history that work is spent on: all but the least, which together are negligible."""
        order = np.argsort(log_class, kind="stable")
        mass = np.cumsum(np.exp(log_class[order]))
        return sorted(int(c) for c in order[mass >= NEGLIGIBLE])

    def _renew(self, b: ParticleState, h: int) -> Own:
        """New particles for a history, equally weighted in each class; the mass of each class stays as it was."""
        particles, before = self.source(b, h)
        one, generator = b.take(slice(h, h + 1)), self.generator(self.purpose + b.keys[h])
        joint, evidence, log_weights = self.log_joint(one)[0], one.shared.evidence, before.log_weights[0]
        worth = self._worth(log_normalised(joint[None])[0])
        latents: list[Tensor] = []
        families: list[IntArray] = []
        infos: list[Diagnostics] = []
        for c, (begin, end) in enumerate(segments(particles.offsets)):
            mine, weights = particles.latents[begin:end], log_weights[begin:end]
            if c in worth:
                labels = torch.full((self.n_chains,), c, device=mine.device)
                density = target(self.model, labels, evidence[0], LEAST)
                drawn, family, info = self._draw(mine, weights, density, generator, particles is self.particles)
                infos.append(info)
            else:  # a class that hardly counts keeps its mass on one particle
                family = systematic(weights, 1, generator)
                drawn = mine[torch.as_tensor(family)]
            latents.append(drawn)
            families.append(family)
        sizes = [len(part) for part in latents]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        equal, variance = np.repeat(joint - np.log(sizes), sizes), self.class_variance(one)[0]
        new = Particles(self.model, torch.cat(latents), offsets, equal, np.concatenate(families), variance)
        worst = Diagnostics(min(info.acceptance for info in infos), min(info.ess for info in infos))
        self._warn(worst)
        return Own(new, Exact(new, self.queries).of(equal[None], evidence, one.shared.soft), worst)

    def _warn(self, info: Diagnostics) -> None:
        """Warn once of each problem with new particles."""
        troubles = {trouble.split(": ")[-1]: trouble for trouble in info.troubles()}
        new = [trouble for advice, trouble in troubles.items() if advice not in self._warned]
        if new:
            self._warned.update(troubles)
            logger.warning("%s: %s (said once)", self.kind, " ".join(new))


class ParticleGains(Acquisition[Any]):
    """Mutual information on particles: histories that share them are worked on together, others one by one."""

    unit: ClassVar[Literal["nats"]] = "nats"
    is_exact = False

    def __init__(
        self, belief: ParticleBelief, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None
    ) -> None:
        self.belief = belief
        self._own = FiniteGains(belief.particles, belief.queries, settings, costs=costs, noise=noise, sampled=True)
        self.on_all_states, self.tie = self._own.on_all_states, self._own.tie
        self._shared: Any = self._own
        if belief.pruned and not self.on_all_states and belief.queries.width <= WIDEST:
            self._shared = belief.shared.gains(replace(settings, exact=False), costs, noise)

    def utilities(self, b: ParticleState, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) gains."""
        rows = np.flatnonzero(allowed.any(axis=1)).tolist()
        own = self.belief.renewed(b, rows)
        alone = [row for row in rows if own[row] is not None]
        together = allowed.copy()
        together[alone] = False
        found = self._shared.utilities(b.shared, histories, together, budget)
        tie = np.zeros(len(allowed), dtype=bool) if found.tie is None else found.tie.copy()
        for row in alone:
            mine, here = own[row], slice(row, row + 1)
            assert mine is not None
            one = self._own.on_states(mine.weights, histories.take(here), allowed[here], mine.particles)
            found.value[here], found.error[here], tie[here] = one.value, one.error, one.tie
        return Estimate(found.value, found.error, tie)


class Sampler:
    """What the settings of samplers share."""

    kind: ClassVar[str]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Draws of each class that all histories share, chains of each class, and draws of a history's own."""
        raise NotImplementedError

    def check(self, model: VAE) -> None:
        """Refuse saved settings whose particles would take more memory, or whose chains more steps, than anyone has."""
        for step in ("n_moves", "n_steps", "burn_in"):
            if getattr(self, step, 0) > MAX_STEPS:
                raise ValueError(f"{step}={getattr(self, step)} is more than {MAX_STEPS:,}; choose fewer")
        # the probabilities of all values in all draws, laid out twice
        size = 2 * sum(self.sizes[:2]) * model.n_classes * model.variables.n_slots * model.dtype.itemsize
        if size > MAX_BYTES:
            raise ValueError(
                f"belief={self}: its particles would take {size / 2**30:.3g} GiB, more than {MAX_BYTES / 2**30:g}; "
                f"choose fewer"
            )

    def build(self, model: VAE, queries: QuerySet, seed: int = 0, *, noisy: bool = False) -> ParticleBelief:
        """The belief with these settings."""
        return {"smc": SMCBelief, "langevin": LangevinBelief}[self.kind](model, queries, self, seed, noisy=noisy)


# ---- sequential Monte Carlo -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SMC(Sampler):
    """Settings of sequential Monte Carlo.

    n_draws: particles of each class that all histories share, decoded once.
    min_ess: a history gets particles of its own when a class that matters has a smaller effective sample size; 0 never.
    n_own: how many particles of each class that is.
    n_moves: Metropolis-corrected Langevin steps by which resampled particles are moved apart.
    step_size: of the first of them; adapted as they go.
    """

    kind: ClassVar[str] = "smc"
    n_draws: int = 2000
    min_ess: float = 4.0
    n_own: int = 128
    n_moves: int = 8
    step_size: float = 0.05

    def __post_init__(self) -> None:
        for name, least in (("n_draws", 1), ("n_own", 2), ("n_moves", 1)):
            whole_number(getattr(self, name), name, least)
        number(self.step_size, "step_size", above=0)
        number(self.min_ess, "min_ess", least=0)

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.n_draws, self.n_own, self.n_own if self.min_ess > 0 else 0


class SMCBelief(ParticleBelief):
    """Weighted particles, resampled and moved when the effective sample size is too small."""

    kind: ClassVar[str] = "smc"
    purpose: ClassVar[bytes] = b"move"

    def _in_need(self, b: ParticleState, rows: list[int]) -> list[int]:
        if not rows or self.settings.min_ess <= 0:
            return []
        some = b.take(np.asarray(rows))
        matters = np.exp(log_normalised(self.log_joint(some))) > MATTERS
        few = np.any((self.class_ess(some) < self.settings.min_ess) & matters, axis=1)
        return [rows[i] for i in np.flatnonzero(few)]

    def _draw(
        self, latents: Tensor, log_weights: FloatArray, density: LogDensity, generator: torch.Generator, fresh: bool
    ) -> tuple[Tensor, IntArray, Diagnostics]:
        picked = systematic(log_weights, self.n_chains, generator)
        chains, eta, accepted = start(latents[torch.as_tensor(picked)], density), self.settings.step_size, []
        for i in range(self.settings.n_moves):
            chains, acceptance = mala(chains, density, eta, generator)
            eta = adapt(eta, acceptance, i)
            accepted.append(float(acceptance.mean()))
        ess = float(family_ess(chains.latents.cpu().numpy(), picked).min())
        return chains.latents, picked, Diagnostics(float(np.mean(accepted)), ess)


# ---- the paper's sampler --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Langevin(Sampler):
    """Settings of Langevin chains.

    n_chains: chains of each class.
    n_steps: steps after the burn-in; all of their draws are kept.
    burn_in: steps before that, in which the step size is adapted (not for "ula").
    step_size: the paper's eta.
    kernel: "ula" (the paper's; biased by the step size), or "mala" (Metropolis-corrected).
    """

    kind: ClassVar[str] = "langevin"
    n_chains: int = 64
    n_steps: int = 8
    burn_in: int = 20
    step_size: float = 0.1
    kernel: str = "mala"

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r}; expected one of {', '.join(KERNELS)}")
        for name, least in (("n_chains", 2), ("n_steps", 1), ("burn_in", 0)):
            whole_number(getattr(self, name), name, least)
        number(self.step_size, "step_size", above=0)

    @classmethod
    def paper(cls) -> Langevin:
        """The settings of the paper's code: 256 chains a class, 20 steps of burn-in, 12,000 draws kept."""
        return cls(n_chains=256, n_steps=47, burn_in=20, step_size=0.1, kernel="ula")

    @property
    def sizes(self) -> tuple[int, int, int]:
        n = self.n_chains * self.n_steps  # the empty history needs no chain: the prior can be drawn from
        return n, self.n_chains, n


class LangevinBelief(ParticleBelief):
    """Langevin chains for each class and history.

    p(y | history) is updated as in eq. 17 by the mean probability of the answer over the draws before it.
    """

    kind: ClassVar[str] = "langevin"
    purpose: ClassVar[bytes] = b"chains"

    def _in_need(self, b: ParticleState, rows: list[int]) -> list[int]:
        """All of them: chains follow every answer; only the empty history, and those that taught nothing, need none."""
        empty = (b.shared.evidence == 0).all(axis=1)
        return [h for h in rows if not empty[h]]

    def _draw(
        self, latents: Tensor, log_weights: FloatArray, density: LogDensity, generator: torch.Generator, fresh: bool
    ) -> tuple[Tensor, IntArray, Diagnostics]:
        settings, n, n_before = self.settings, self.settings.n_chains, len(log_weights)
        adjusted = settings.kernel == "mala"
        if adjusted:  # by weight: from the new law already, so that the burn-in only has to move copies apart
            picked = systematic(log_weights, n, generator)
        elif fresh:  # of the prior, which a model may give in some order: from all over it
            picked = np.arange(n) * n_before // n
        else:  # the paper's chains go on from their last places
            picked = (np.arange(n) - n) % n_before
        chains, eta = start(latents[torch.as_tensor(picked)], density), settings.step_size
        kept: list[Tensor] = []
        accepted: list[float] = []
        for i in range(-settings.burn_in, settings.n_steps):
            if adjusted:
                chains, acceptance = mala(chains, density, eta, generator)
                if i < 0:
                    eta = adapt(eta, acceptance, i + settings.burn_in)
                else:
                    accepted.append(float(acceptance.mean()))
            else:
                moved = ula(chains, density, eta, generator)
                # a chain that has run away cannot be decoded: it stays where it was
                chains = moved.where(moved.log_density.isfinite(), chains)
            if i >= 0:
                kept.append(chains.latents)
        # chains that begin at the same place are copies of one until they have moved apart
        draws, family = torch.cat(kept), np.tile(picked, settings.n_steps)
        ess = float(family_ess(draws.cpu().numpy(), family).min())
        return draws, family, Diagnostics(float(np.mean(accepted)) if accepted else math.nan, ess)
