"""A classifier that explains itself by asking: Information Pursuit.

>>> import infopursuit as ip
>>> ip.queries.patches((28, 28), size=3)
<patches: 676 queries about 784 atoms>
"""

from infopursuit import answerers, jobs, models, posteriors, queries
from infopursuit.answerers.reliability import Reliability
from infopursuit.data_checks import lint
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.explanation import Explanation
from infopursuit.fitting.fit_table import fit_table
from infopursuit.inspection import (
    QueryFrequencies,
    StrategyTree,
    compare_with_cart,
    query_frequencies,
    strategy_tree,
)
from infopursuit.monitoring.drift import drift
from infopursuit.session import Session
from infopursuit.stopping import Confidence, InformationGain, MaxCost, MaxQueries
from infopursuit.storage import load, save
from infopursuit.terms import Terms
from infopursuit.trace import Trace
from infopursuit.types import DamagedModel, ImpossibleAnswer, Likely

__version__ = "0.1.0"

__all__ = [
    "Confidence",
    "DamagedModel",
    "Explanation",
    "ImpossibleAnswer",
    "InformationGain",
    "InformationPursuitClassifier",
    "Likely",
    "MaxCost",
    "MaxQueries",
    "Pursuit",
    "QueryFrequencies",
    "Reliability",
    "Session",
    "StrategyTree",
    "Terms",
    "Trace",
    "answerers",
    "compare_with_cart",
    "drift",
    "fit_table",
    "jobs",
    "lint",
    "load",
    "models",
    "posteriors",
    "queries",
    "query_frequencies",
    "save",
    "strategy_tree",
]
