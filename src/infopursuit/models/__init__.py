"""Models: p(atoms | z, y) p(z | y) p(y), given as tables or learnt from labelled atom values."""

from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.finite import FiniteModel
from infopursuit.models.learning import Learner, empirical, latent_classes, naive_bayes
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import Blur, Flip
from infopursuit.models.table import TableModel

__all__ = [
    "Blur",
    "EmpiricalModel",
    "FiniteModel",
    "Flip",
    "Learner",
    "Sample",
    "TableModel",
    "empirical",
    "latent_classes",
    "naive_bayes",
]
