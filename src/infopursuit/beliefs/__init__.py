"""Beliefs: p(y | history). `Exact` and `Pruned` for finite models, `SMC` and `Langevin` for continuous latents.

What needs torch or numba is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infopursuit.beliefs.exact import Exact
from infopursuit.beliefs.opinion_pool import LogPool, OpinionPool
from infopursuit.lazy import lazy_name

if TYPE_CHECKING:
    from infopursuit.beliefs.particles import SMC, Langevin, LangevinBelief, ParticleBelief, Particles, SMCBelief
    from infopursuit.beliefs.pruned import Pruned, PrunedBelief

# fmt: off
__all__ = [
    "SMC", "Exact", "Langevin", "LangevinBelief", "LogPool", "NetworkBelief", "OpinionPool", "ParticleBelief",
    "Particles", "Pruned", "PrunedBelief", "SMCBelief",
    "build_belief",
]
# fmt: on

LAZY = {
    "NetworkBelief": "network",
    **dict.fromkeys(("SMC", "SMCBelief", "Langevin", "LangevinBelief", "ParticleBelief", "Particles"), "particles"),
    **dict.fromkeys(("Pruned", "PrunedBelief"), "pruned"),
}
KINDS = {"exact": "Exact", "pruned": "Pruned", "smc": "SMC", "langevin": "Langevin"}
"""The names by which a belief is chosen; the classes of all but the first are its settings, with ``build``."""


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, LAZY, name)


def build_belief(model: Any, queries: Any, belief: Any = "auto", seed: int = 0, *, noisy: bool = False) -> Any:
    """The belief about a model: ``model.beliefs`` names those that suit it, the default first.

    belief: "auto", one of these names, or settings such as ``ip.beliefs.SMC(n_draws=4000)``. noisy: whether answers may
    be wrong.
    """
    kinds = model.beliefs
    kind = kinds[0] if belief is None or (isinstance(belief, str) and belief == "auto") else belief
    kind = kind if isinstance(kind, str) else getattr(kind, "kind", type(kind).__name__)
    if kind not in kinds:
        settings = ", or settings such as ip.beliefs.SMC(n_draws=4000)" if "smc" in kinds else ""
        raise ValueError(
            f"belief={belief!r} does not suit a {type(model).__name__}; use {' or '.join(map(repr, kinds))}{settings}"
        )
    if kind == "exact":
        return Exact(model, queries)
    settings_class = __getattr__(KINDS[kind])
    settings = belief if isinstance(belief, settings_class) else settings_class()
    return settings.build(model, queries, seed, noisy=noisy)
