"""`TableModel`: probability tables given by the user, or learnt by `naive_bayes` and `latent_classes`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from infopursuit.models.finite import FiniteModel, check_prior, rounded
from infopursuit.types import Atoms, FloatArray


class TableModel(FiniteModel):
    """p(y), p(z | y) and p(atom | z, y) as tables.

    Parameters
    ----------
    class_prior: (C,) p(y).
    latent_prior: (C, Z) p(z | y); None for a single latent state, which is naive Bayes.
    atom_probs: (C, Z, A) P(atom = 1) for yes/no atoms, or (C, Z, A, V) for atoms of up to V values (0 where an atom
    has fewer).
        With ``latent_prior=None`` (C, A) and (C, A, V).
    sizes: how many values each atom has; all V where nothing is given.

    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]])
    >>> model.n_classes, model.n_states, len(model.atoms)
    (2, 2, 2)
    """

    kind = "table"

    def __init__(
        self,
        class_prior: Any,
        latent_prior: Any,
        atom_probs: Any,
        *,
        sizes: Any = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        probs = np.asarray(atom_probs, dtype=np.float64)
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
            raise ValueError(
                f"atom_probs has shape {probs.shape}; expected {(*latent.shape, 'atoms')} with P(atom = 1), or "
                f"{(*latent.shape, 'atoms', 'values')}"
            )
        if not np.isfinite(probs).all() or (probs < 0).any() or (probs > 1 + 1e-9).any():
            raise ValueError("atom_probs must lie between 0 and 1")
        probs = probs.clip(0, 1)  # a mean may come out as 1 + 2e-16, and 1 - p must not be negative
        if probs.ndim == 3:
            probs = np.stack([1 - probs, probs], axis=-1)
        n_atoms, n_values = probs.shape[2:]
        atoms = Atoms(tuple(int(s) for s in sizes) if sizes is not None else (n_values,) * n_atoms)
        if len(atoms) != n_atoms or max(atoms.sizes) > n_values:
            raise ValueError(
                f"sizes names {len(atoms)} atoms of up to {max(atoms.sizes)} values; "
                f"atom_probs has {n_atoms} of {n_values}"
            )
        present = np.arange(n_values) < np.array(atoms.sizes)[:, None]  # (A, V)
        if not np.allclose(np.where(present, probs, 0).sum(-1), 1, atol=1e-6) or probs[..., ~present].any():
            raise ValueError(
                "atom_probs must sum to 1 over the values of each atom, and be 0 where an atom has fewer values"
            )
        flat = probs[:, :, present].reshape(latent.size, atoms.n_slots)  # (S, L)
        with np.errstate(divide="ignore"):
            log_prior = (np.log(prior)[:, None] + np.log(latent / latent.sum(1, keepdims=True))).ravel()
        super().__init__(
            atoms,
            torch.as_tensor(log_prior),
            np.arange(n_classes + 1) * latent.shape[1],
            rounded(torch.as_tensor(np.ascontiguousarray(flat.T)), dtype),
        )

    @property
    def n_latents(self) -> int:
        """Z, the latent states of each class."""
        return self.n_states // self.n_classes

    def tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(C,) p(y), (C, Z) p(z | y) and (C, Z, L) the probability of each atom value, as arrays."""
        prior = self.class_prior
        log_joint = self.log_prior.cpu().numpy().reshape(self.n_classes, self.n_latents)
        # a class of probability zero still has a p(z | y); any will do, since it never counts
        with np.errstate(invalid="ignore"):
            latent = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        latent = np.where(np.isnan(latent), 1.0, latent)
        probs = self.probs.T.to(torch.float64).cpu().numpy().reshape(self.n_classes, self.n_latents, -1)
        return prior, latent / latent.sum(1, keepdims=True), probs
