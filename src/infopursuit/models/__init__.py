"""Models: p(atoms | z, y) p(z | y) p(y), given as tables or learnt from labelled atom values."""

from infopursuit.models.aggregate import AggregateVAE, aggregate
from infopursuit.models.augmentation import Moves
from infopursuit.models.bodies import ConvBody, MLPBody, PaperBody
from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.finite import FiniteModel
from infopursuit.models.learning import Learner, empirical, latent_classes, naive_bayes
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import Blur, Flip
from infopursuit.models.soften import SoftVAE, soften
from infopursuit.models.table import TableModel
from infopursuit.models.training import Training, train
from infopursuit.models.union import UnionModel
from infopursuit.models.vae import VAE
from infopursuit.models.vae_learner import vae
from infopursuit.models.weights import load_vae, save_vae

__all__ = [
    "VAE",
    "AggregateVAE",
    "Blur",
    "ConvBody",
    "EmpiricalModel",
    "FiniteModel",
    "Flip",
    "Learner",
    "MLPBody",
    "Moves",
    "PaperBody",
    "Sample",
    "SoftVAE",
    "TableModel",
    "Training",
    "UnionModel",
    "aggregate",
    "empirical",
    "latent_classes",
    "load_vae",
    "naive_bayes",
    "save_vae",
    "soften",
    "train",
    "vae",
]
