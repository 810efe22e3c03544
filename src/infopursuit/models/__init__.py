"""Models: p(variables | z, y) p(z | y) p(y), given as tables or learnt from labelled variable values.

Finite models need numpy only. The names in `_NETWORKS` need PyTorch, which is imported when one is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infopursuit.models.empirical import Blur, EmpiricalModel, Flip
from infopursuit.models.finite import FiniteModel
from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel
from infopursuit.support.lazy import lazy_name

from infopursuit.models.learning import Learner, empirical, latent_classes, naive_bayes  # isort: skip (not the module)

if TYPE_CHECKING:
    from infopursuit.models.networks.aggregate import AggregateVAE, aggregate
    from infopursuit.models.networks.architectures import ConvArchitecture, MLPArchitecture
    from infopursuit.models.networks.augmentation import RandomAffine
    from infopursuit.models.networks.autoencoder import VAE
    from infopursuit.models.networks.softened import SoftVAE, soften
    from infopursuit.models.networks.training import Training, train, vae

_NETWORKS = {
    **dict.fromkeys(("ConvArchitecture", "MLPArchitecture"), "networks.architectures"),
    **dict.fromkeys(("AggregateVAE", "aggregate"), "networks.aggregate"),
    "VAE": "networks.autoencoder",
    **dict.fromkeys(("SoftVAE", "soften"), "networks.softened"),
    "RandomAffine": "networks.augmentation",
    **dict.fromkeys(("Training", "train", "vae"), "networks.training"),
}

__all__ = [
    "VAE",
    "AggregateVAE",
    "Blur",
    "ConvArchitecture",
    "EmpiricalModel",
    "FiniteModel",
    "Flip",
    "Learner",
    "MLPArchitecture",
    "RandomAffine",
    "Sample",
    "SoftVAE",
    "TableModel",
    "Training",
    "aggregate",
    "empirical",
    "latent_classes",
    "naive_bayes",
    "soften",
    "train",
    "vae",
]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _NETWORKS, name)


def __dir__() -> list[str]:
    return sorted(__all__)
