"""A classifier that explains itself by asking: Information Pursuit.

>>> import infopursuit as ip
>>> ip.queries.patches((28, 28), size=3)
<patches: 676 queries about 784 atoms>
"""

from infopursuit import models, posteriors, queries
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.explanation import Explanation
from infopursuit.fitting.fit_table import fit_table
from infopursuit.linting.lint import lint
from infopursuit.session import Session
from infopursuit.stopping import Confidence, InformationGain, MaxQueries
from infopursuit.storage import load, save
from infopursuit.trace import Trace
from infopursuit.types import DamagedModel, ImpossibleAnswer

__version__ = "0.1.0"

__all__ = [
    "Confidence",
    "DamagedModel",
    "Explanation",
    "ImpossibleAnswer",
    "InformationGain",
    "InformationPursuitClassifier",
    "MaxQueries",
    "Pursuit",
    "Session",
    "Trace",
    "fit_table",
    "lint",
    "load",
    "models",
    "posteriors",
    "queries",
    "save",
]
