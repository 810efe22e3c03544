"""`TableModel`: probability tables given by the user or learnt, and EM for mixtures (latent classes)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from infopursuit.models.finite import Array, FiniteModel, check_prior, log, rounded
from infopursuit.models.sample import Sample
from infopursuit.models.storing import MAX_COUNT, check_array, check_log_prior, check_probs
from infopursuit.support.checks import whole_number
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import FloatArray, Variables

MAX_PARALLEL = 4
"""Classes that EM fits at the same time at most: each holds a one-hot table of its rows."""


class TableModel(FiniteModel):
    """p(y), p(z | y) and p(variable | z, y) as tables.

    Parameters
    ----------
    class_prior: (C,) p(y).
    latent_prior: (C, Z) p(z | y); None for a single latent state, which is naive Bayes.
    variable_probs: (C, Z, A) P(variable = 1) for yes/no variables, or (C, Z, A, V) for variables of up to V values (0
        where a variable has fewer). With ``latent_prior=None`` (C, A) and (C, A, V).
    sizes: how many values each variable has; all V where nothing is given.

    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    >>> model.n_classes, model.n_states, len(model.variables)
    (2, 2, 2)
    """

    kind = "table"

    def __init__(
        self,
        class_prior: Any,
        latent_prior: Any,
        variable_probs: Any,
        *,
        sizes: Any = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        probs = np.asarray(variable_probs, dtype=np.float64)
        prior = check_prior(class_prior, np.asarray(class_prior).size, "class_prior")
        n_classes = len(prior)
        if latent_prior is None:
            latent_prior = np.ones((n_classes, 1))
            if probs.ndim in (2, 3):
                probs = probs[:, None]
        latent = np.asarray(latent_prior, dtype=np.float64)
        if latent.ndim != 2 or len(latent) != n_classes:
            raise ValueError(f"latent_prior has shape {latent.shape}; expected ({n_classes}, latent states)")
        for c, row in enumerate(latent):
            check_prior(row, latent.shape[1], f"latent_prior[{c}]")
        if probs.ndim not in (3, 4) or probs.shape[:2] != latent.shape or probs.shape[2] == 0:
            wrong = f"variable_probs has shape {probs.shape}; expected {(*latent.shape, 'variables')}"
            raise ValueError(f"{wrong} with P(variable = 1), or {(*latent.shape, 'variables', 'values')}")
        if not np.isfinite(probs).all() or (probs < 0).any() or (probs > 1 + 1e-9).any():
            raise ValueError("variable_probs must lie between 0 and 1")
        probs = probs.clip(0, 1)  # a mean may come out as 1 + 2e-16, and 1 - p must not be negative
        if probs.ndim == 3:
            probs = np.stack([1 - probs, probs], axis=-1)
        n_variables, n_values = probs.shape[2:]
        variables = Variables(tuple(int(s) for s in sizes) if sizes is not None else (n_values,) * n_variables)
        if len(variables) != n_variables or max(variables.sizes) > n_values:
            wrong = f"sizes names {len(variables)} variables of up to {max(variables.sizes)} values"
            raise ValueError(f"{wrong}; variable_probs has {n_variables} of {n_values}")
        present = np.arange(n_values) < np.array(variables.sizes)[:, None]  # (A, V)
        if not np.allclose(np.where(present, probs, 0).sum(-1), 1, atol=1e-6) or probs[..., ~present].any():
            raise ValueError("variable_probs must sum to 1 over the values of each variable, and be 0 in the padding")
        flat = probs[:, :, present].reshape(latent.size, variables.n_slots)  # (S, L)
        log_prior = (log(prior)[:, None] + log(latent / latent.sum(1, keepdims=True))).ravel()
        offsets = np.arange(n_classes + 1) * latent.shape[1]
        super().__init__(variables, log_prior, offsets, rounded(np.ascontiguousarray(flat.T), dtype))

    @classmethod
    def from_slots(
        cls, variables: Variables, class_prior: FloatArray, latent_prior: FloatArray, table: FloatArray
    ) -> Self:
        """From (C, Z, L) probabilities of all variable values end to end."""
        probs = np.zeros((*table.shape[:2], len(variables), max(variables.sizes)))
        probs[:, :, variables.slots >= 0] = table
        return cls(class_prior, latent_prior, probs, sizes=variables.sizes)

    @property
    def n_latents(self) -> int:
        """Z, the latent states of each class."""
        return self.n_states // self.n_classes

    def tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(C,) p(y), (C, Z) p(z | y) and (C, Z, L) the probability of each variable value."""
        log_joint = self.log_prior.reshape(self.n_classes, self.n_latents)
        # a class of probability zero still has a p(z | y); any will do, since it never counts
        with np.errstate(invalid="ignore"):
            latent = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        latent = np.where(np.isnan(latent), 1.0, latent)
        probs = self.probs.T.astype(np.float64).reshape(self.n_classes, self.n_latents, -1)
        return self.class_prior, latent / latent.sum(1, keepdims=True), probs

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `storing` keeps: settings and arrays."""
        return {"n_latents": self.n_latents}, {"log_prior": self.log_prior, "probs": self.probs}

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int) -> Self:
        """The model that `to_parts` took apart, everything checked."""
        n_latents = whole_number(spec["n_latents"], "n_latents", 1, MAX_COUNT)
        n_states = n_classes * n_latents
        probs = check_array(arrays, "probs", (variables.n_slots, n_states), spec["dtype"])
        check_probs(probs, variables)
        model = object.__new__(cls)
        offsets = np.arange(n_classes + 1) * n_latents
        FiniteModel.__init__(model, variables, check_log_prior(arrays, n_states), offsets, probs)
        return model


# ---- EM -------------------------------------------------------------------------------------------------------------


def fit_latent_classes(
    sample: Sample, n_latents: int, smoothing: float = 1.0, seed: int = 0, *, rounds: int = 60, tolerance: float = 1e-5
) -> tuple[FloatArray, FloatArray]:
    """p(z | y) (C, Z) and P(value | z, y) (C, Z, L) of a mixture in each class: maximum a posteriori by EM.

    The prior draws each table towards the class's own frequencies as if ``smoothing`` more rows had been seen, and
    p(z | y) towards even shares. A class with fewer rows than latent states still gets a proper mixture: its spare
    states are its frequencies.
    """
    marginals = sample.marginals(smoothing)
    latent = np.empty((sample.n_classes, n_latents))
    tables = np.empty((sample.n_classes, n_latents, sample.variables.n_slots))

    def fit_class(c: int) -> None:
        rows = sample.take(np.flatnonzero(sample.labels == c))
        if len(rows):
            latent[c], tables[c] = _em(rows, marginals[c], n_latents, smoothing, seed + c, rounds, tolerance)
        else:
            latent[c], tables[c] = 1 / n_latents, marginals[c]

    side_by_side(fit_class, sample.n_classes, max_threads=MAX_PARALLEL)
    return latent, tables


def _em(
    sample: Sample, marginal: FloatArray, n_latents: int, smoothing: float, seed: int, rounds: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    shown = np.nan_to_num(sample.variables.one_hot(sample.values))  # (N, L) 1 at the slot of every known value
    weights, variable_of, starts = sample.weights, sample.variables.slot_variable, sample.variables.offsets[:-1]
    share = _first_responsibilities(sample, shown, marginal, n_latents, seed)
    table, mixing = np.tile(marginal, (n_latents, 1)), np.full(n_latents, 1 / n_latents)
    before = -np.inf
    for _ in range(rounds):
        # M step: share (N, Z) are responsibilities times weights
        counts = share.T @ shown  # (Z, L)
        total = np.add.reduceat(counts, starts, axis=1)  # (Z, A)
        table = (counts + smoothing * marginal) / (total[:, variable_of] + smoothing)
        sizes = share.sum(axis=0) + 1
        mixing = sizes / sizes.sum()
        # E step
        share = shown @ np.log(table).T
        share += np.log(mixing)
        top = share.max(axis=1, keepdims=True)
        np.exp(np.subtract(share, top, out=share), out=share)
        evidence = share.sum(axis=1, keepdims=True)
        share *= weights[:, None] / evidence
        now = float(((np.log(evidence) + top)[:, 0] * weights).sum() / weights.sum())
        if now - before < tolerance:
            break
        before = now
    return mixing, table


def _first_responsibilities(
    sample: Sample, shown: FloatArray, marginal: FloatArray, n_latents: int, seed: int
) -> FloatArray:
    """(N, Z): rows go to the nearest of Z seeds that lie far apart (k-means++ on log-likelihood ratios)."""
    rng = np.random.default_rng(seed)
    weights = sample.weights
    surprise = shown * (1 - marginal)  # rare values tell rows apart best
    lengths = (surprise**2).sum(axis=1)

    def distances(centre: int) -> FloatArray:
        """(N,) squared distances from one of the rows; by a product, which reads the rows once."""
        gap: FloatArray = lengths + lengths[centre] - 2 * (surprise @ surprise[centre])
        gap[centre] = 0.0
        return gap.clip(min=0.0)

    gaps = [distances(int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum())))]
    nearest = np.full(len(sample), np.inf)
    for _ in range(1, min(n_latents, len(sample))):
        nearest = np.minimum(nearest, gaps[-1])
        pull = np.cumsum(nearest * weights)
        if pull[-1] <= 0:
            break
        gaps.append(distances(min(int(np.searchsorted(pull, rng.random() * pull[-1])), len(sample) - 1)))
    share = np.full((len(sample), n_latents), 0.1 / n_latents)
    share[np.arange(len(sample)), np.argmin(gaps, axis=0)] += 0.9
    return share * weights[:, None]
