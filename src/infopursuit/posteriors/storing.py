"""The settings of a sampler as JSON data, and back; what comes back is checked as if a stranger had written it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from infopursuit.models.autoencoder import VAE
from infopursuit.posteriors.langevin import Langevin
from infopursuit.posteriors.smc import SMC

MOST_BYTES = 8 * 2**30
"""Memory that the draws of saved settings may take: more is refused before any is taken."""
MOST_STEPS = 10_000
"""Steps and moves of a chain that saved settings may ask for: more would not end while somebody waits."""


def posterior_to_spec(settings: SMC | Langevin, model: VAE) -> dict[str, Any]:
    """The settings as JSON data, refused where `posterior_from_spec` would refuse them."""
    _check_memory(settings, model)
    return {"kind": settings.kind, **asdict(settings)}


def posterior_from_spec(spec: dict[str, Any], model: VAE) -> SMC | Langevin:
    """The settings of these data, for this model."""
    kinds: dict[str, type[SMC] | type[Langevin]] = {SMC.kind: SMC, Langevin.kind: Langevin}
    if spec["kind"] not in kinds:
        raise ValueError(f"{spec['kind']!r} is no posterior that is drawn; expected one of {sorted(kinds)}")
    settings = kinds[spec["kind"]](**{name: value for name, value in spec.items() if name != "kind"})
    _check_memory(settings, model)
    return settings


def _check_memory(settings: SMC | Langevin, model: VAE) -> None:
    for step in ("n_moves", "n_steps", "burn_in"):
        if getattr(settings, step, 0) > MOST_STEPS:
            raise ValueError(f"{step}={getattr(settings, step)} is more than {MOST_STEPS:,}; choose fewer")
    if isinstance(settings, SMC):
        n_draws, name = settings.n_draws + settings.n_own, "n_draws and n_own"
    else:
        n_draws, name = settings.n_chains * settings.n_steps, "n_chains and n_steps"
    # the probabilities of all atom values in all draws, laid out twice
    size = 2 * n_draws * model.n_classes * model.atoms.n_slots * model.dtype.itemsize
    if size > MOST_BYTES:
        raise ValueError(
            f"posterior={settings}: its draws would take {size / 2**30:.3g} GiB, more than {MOST_BYTES / 2**30:g}; "
            f"choose a smaller {name}"
        )
