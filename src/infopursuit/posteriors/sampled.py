"""Posteriors by draws, for models whose latent is continuous.

All histories begin with one cloud of draws from the prior, decoded once, whose weights are updated answer by answer.
A history gets draws of its own when a sampler says so (`smc`: when too few draws carry the weight; `langevin`: after
every answer). What is drawn depends on the seed and the history alone.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.autoencoder import VAE
from infopursuit.models.finite import class_log_sums, segments
from infopursuit.posteriors.bank import BLOCK, MANY, BankPosterior
from infopursuit.posteriors.cloud import Cloud, Own, SampledBelief, stratified_prior
from infopursuit.posteriors.diagnostics import Diagnostics, sum_variance, weight_ess
from infopursuit.posteriors.exact import Belief, ExactPosterior
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import FloatArray, IntArray

logger = logging.getLogger(__name__)

MATTERS = 1e-2
"""The posterior above which a class's draws must be enough."""

NEGLIGIBLE = 1e-6
"""Classes whose posterior mass is below this together are carried along, but no work is spent on their draws."""


def check_settings(settings: Any, whole: dict[str, int], positive: Sequence[str]) -> None:
    """Refuse settings of a sampler that cannot be: whole numbers with their least values, and positive numbers."""
    for name, least in whole.items():
        value = getattr(settings, name)
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
    for name in positive:
        value = getattr(settings, name)
        if not (np.isreal(value) and 0 < value < np.inf):
            raise ValueError(f"{name}={value!r} must be positive")


class SampledPosterior:
    """p(z, y | history) by weighted draws; `SMCPosterior` and `LangevinPosterior` say when and how to draw anew."""

    name: ClassVar[str]
    exact: ClassVar[bool] = False

    def __init__(self, model: VAE, queries: QuerySet, n_draws: int, seed: int, soft: bool = False) -> None:
        self.model, self.queries, self.n_draws, self.seed = model, queries, int(n_draws), int(seed)
        latents, offsets, log_prior = stratified_prior(model, self.n_draws, self.generator(b"prior"))
        large = model.features.binary and len(latents) > MANY
        self.cloud = Cloud(model, latents, offsets, log_prior, block=BLOCK if large else None)
        fast = not soft and BankPosterior.serves(self.cloud, queries)
        self.shared: Any = (BankPosterior if fast else ExactPosterior)(self.cloud, queries)
        self._warned: set[str] = set()

    @property
    def weighs(self) -> bool:
        """Whether answers may be weighed, not only taken as they are."""
        return isinstance(self.shared, ExactPosterior)

    @property
    def row_bytes(self) -> int:
        """What one history may take: weights of the shared draws, and draws to itself."""
        return int(self.shared.row_bytes) + self.own_bytes

    @property
    def own_bytes(self) -> int:
        """The draws that a history may have to itself: two tables of probabilities, latents, and weights."""
        each = 2 * self.cloud.by_state.shape[1] + self.model.latent_dim
        return self.n_own_draws * (each * self.cloud.by_state.element_size() + 24)

    @property
    def n_own_draws(self) -> int:
        """How many draws a history may have to itself."""
        raise NotImplementedError

    def start(self) -> SampledBelief:
        """The belief of the one empty history."""
        return SampledBelief(self.shared.start(), (None,), (False,))

    def update(
        self,
        belief: SampledBelief,
        parents: IntArray,
        queries: IntArray,
        answers: IntArray,
        keys: Sequence[bytes],
        weights: FloatArray | None = None,
    ) -> SampledBelief:
        """Histories ``parents`` (rows of ``belief``), each longer by one answer (H, W); ``keys`` name the rows of
        ``belief``, ``weights`` as for `ExactPosterior`."""
        before = self.refresh(belief, keys, np.unique(parents).tolist()).take(np.asarray(parents))
        rows = np.arange(len(before))
        options = {"weights": weights} if self.weighs else {}
        shared = self.shared.update(before.shared, rows, queries, answers, **options)
        own: list[Own | None] = []
        for h, mine in enumerate(before.own):
            if mine is not None:
                here = slice(h, h + 1)
                row = np.zeros(1, dtype=np.int64)
                said = None if weights is None else weights[here]
                after = ExactPosterior(mine.cloud, self.queries).update(
                    mine.belief, row, queries[here], answers[here], weights=said
                )
                mine = replace(mine, belief=after)
            own.append(mine)
        return SampledBelief(shared, tuple(own), (False,) * len(before))

    def refresh(self, belief: SampledBelief, keys: Sequence[bytes], rows: Sequence[int] | None = None) -> SampledBelief:
        """The same histories, some of them with draws that are good enough to go on; class probabilities stay as they
        are. A history that was looked after is left alone, so it does not matter how often this is called."""
        stale = [h for h in (range(len(belief)) if rows is None else rows) if not belief.fresh[h]]
        if not stale:
            return belief
        own, fresh = list(belief.own), list(belief.fresh)
        for h in self._in_need(belief, stale):
            own[h] = self._renew(belief, h, keys[h])
            self._look_at(own[h])
        for h in stale:
            fresh[h] = True
        return SampledBelief(belief.shared, tuple(own), tuple(fresh))

    def log_joint(self, belief: SampledBelief) -> Tensor:
        """(H, C) log p(y, history)."""
        joint: Tensor = self.shared.log_joint(belief.shared)
        for h, mine in enumerate(belief.own):
            if mine is not None:
                joint[h] = class_log_sums(mine.belief.log_weights, mine.cloud.offsets)[0]
        return joint

    def log_class(self, belief: SampledBelief) -> Tensor:
        """(H, C) log p(y | history), eq. 17; NaN where the history is impossible."""
        joint = self.log_joint(belief)
        return joint - torch.logsumexp(joint, dim=1, keepdim=True)

    def class_errors(self, belief: SampledBelief) -> FloatArray:
        """(H, C) standard error of p(y | history) that comes from the number of draws (delta method)."""
        p = self.log_class(belief).exp().cpu().numpy()
        variance = self.class_variance(belief)
        spread = (p**2 * variance).sum(axis=1, keepdims=True)
        return np.asarray(p * np.sqrt(np.maximum((1 - 2 * p) * variance + spread, 0)))

    def class_variance(self, belief: SampledBelief) -> FloatArray:
        """(H, C) relative variance of p(y, history).

        It is a product of means over draws, one for each time that draws were made, so that relative variances add up;
        where moves are too few for draws to forget where they come from, to too little.
        """
        n = self.n_draws
        with np.errstate(divide="ignore", invalid="ignore"):
            found = 1 / self.shared.class_ess(belief.shared)
            found = np.maximum(found - 1 / n, 0) * n / (n - 1) if n > 1 else np.ones_like(found)
        for h, mine in enumerate(belief.own):
            if mine is not None:
                for c, (a, b) in enumerate(segments(mine.cloud.offsets)):
                    share = torch.softmax(mine.belief.log_weights[0, a:b], dim=0)
                    family = None if mine.cloud.family is None else mine.cloud.family[a:b]
                    found[h, c] = mine.cloud.mass_variance[c] + float(sum_variance(share, family))
        return np.asarray(np.nan_to_num(found, nan=1.0, posinf=1.0))  # of a class that cannot be

    def class_ess(self, belief: SampledBelief) -> FloatArray:
        """(H, C) effective number of draws in each class."""
        found = self.shared.class_ess(belief.shared)
        for h, mine in enumerate(belief.own):
            if mine is not None:
                weights = mine.belief.log_weights[0]
                found[h] = [float(weight_ess(weights[a:b])) for a, b in segments(mine.cloud.offsets)]
        return np.asarray(found)

    def info(self, belief: SampledBelief) -> list[Diagnostics]:
        """How good the draws of each history are, in the class with the fewest among those that matter."""
        ess, p = self.class_ess(belief), self.log_class(belief).exp().cpu().numpy()
        found = []
        for h, mine in enumerate(belief.own):
            if mine is None:
                found.append(Diagnostics(float("nan"), float(ess[h, p[h] > MATTERS].min()), float("nan")))
            else:
                # answers that came after the draws were made leave some of them without weight
                left = (ess[h] / np.diff(mine.cloud.offsets))[p[h] > MATTERS].min()
                found.append(replace(mine.info, ess=float(mine.info.ess * left)))
        return found

    def source(self, belief: SampledBelief, h: int) -> tuple[Cloud, Any]:
        """The draws that history h uses, and its belief on them."""
        mine = belief.own[h]
        if mine is not None:
            return mine.cloud, mine.belief
        shared = belief.shared.take(slice(h, h + 1))
        # new draws begin from these, also those of a class whose blocks were all let go
        return self.cloud, self.shared.whole(shared) if isinstance(self.shared, BankPosterior) else shared

    def generator(self, key: bytes) -> torch.Generator:
        """A generator that depends on the seed and the history only."""
        digest = hashlib.blake2b(key, digest_size=7, key=self.seed.to_bytes(8, "little", signed=True)).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "little"))

    # ---- what the two samplers differ in ----------------------------------------------------------------------------

    def _in_need(self, belief: SampledBelief, rows: list[int]) -> list[int]:
        """Which of some histories need new draws."""
        raise NotImplementedError

    def _renew(self, belief: SampledBelief, h: int, key: bytes) -> Own:
        """New draws for a history."""
        raise NotImplementedError

    # ---- shared by both ---------------------------------------------------------------------------------------------

    def _worth(self, log_class: Tensor) -> list[int]:
        """The classes of one history that work is spent on: all but the least, which together are negligible."""
        order = torch.argsort(log_class, stable=True)
        mass = torch.cumsum(log_class[order].exp(), dim=0)
        return sorted(int(c) for c in order[mass >= NEGLIGIBLE])

    def _own(
        self, parts: Sequence[Tensor], families: Sequence[Tensor], belief: SampledBelief, info: Diagnostics
    ) -> Own:
        """Equally weighted draws of each class as the own ones of the one history of a belief; the mass of each class
        stays as it was."""
        joint, evidence = self.log_joint(belief)[0], belief.shared.evidence[0]
        sizes = [len(part) for part in parts]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.as_tensor(sizes)).to(joint.device)
        log_weights = (joint - torch.as_tensor(np.log(sizes), device=joint.device))[labels]
        latents, family = torch.cat(list(parts)), torch.cat(list(families))
        cloud = Cloud(self.model, latents, offsets, log_weights, family, self.class_variance(belief)[0])
        return Own(cloud, Belief(log_weights[None], evidence[None], getattr(belief.shared, "soft", False)), info)

    def _look_at(self, own: Own | None) -> None:
        """Say once what is wrong with the draws."""
        troubles = {trouble.split(": ")[-1]: trouble for trouble in (own.info.troubles() if own is not None else [])}
        new = [trouble for advice, trouble in troubles.items() if advice not in self._warned]
        if new:
            self._warned.update(troubles)
            logger.warning("%s: %s (said once)", self.name, " ".join(new))


def systematic(log_weights: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """(n,) which draws to go on with: each as often as its weight says, up to rounding, which is left to chance."""
    shift = torch.rand(1, generator=generator, dtype=torch.float64)
    points = (torch.arange(n, dtype=torch.float64) + shift) / n
    cumulative = torch.softmax(log_weights.to(torch.float64), dim=0).cumsum(0)
    # right: a point on a boundary belongs to the draw above it, so that one of weight zero is never taken
    picked = torch.searchsorted(cumulative, points.to(cumulative.device), right=True)
    return picked.clamp(max=len(log_weights) - 1)
