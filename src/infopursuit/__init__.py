"""A classifier that explains itself by asking: Information Pursuit.

>>> import infopursuit as ip
>>> ip.queries.patches((28, 28), size=3)
<patches: 676 queries about 784 variables>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infopursuit.cards import register_renderer
from infopursuit.lazy import lazy_name

if TYPE_CHECKING:
    from infopursuit import acquisition, annotators, beliefs, history, jobs, models, notebook, queries, report, testing
    from infopursuit.amortized import Amortized
    from infopursuit.annotators import dawid_skene
    from infopursuit.calibration import TemperatureScaling
    from infopursuit.costs import Constraints, Costs
    from infopursuit.data_checks import lint
    from infopursuit.distillation import distill, history_classifier
    from infopursuit.engine import Pursuit
    from infopursuit.estimator import InformationPursuitClassifier
    from infopursuit.explanation import Explanation
    from infopursuit.hybrid import Hybrid
    from infopursuit.inspection import QueryFrequencies, StrategyTree, query_frequencies, strategy_tree
    from infopursuit.models.amortized import QuerierTraining, Trunk
    from infopursuit.monitoring import drift
    from infopursuit.noise import AnswerNoise, NoisyAnnotator
    from infopursuit.pipelines import original_units
    from infopursuit.pooling import pool
    from infopursuit.serialization import load, save
    from infopursuit.session import Session
    from infopursuit.stopping import Confidence, InformationGain, MaxCost, MaxQueries
    from infopursuit.tabular import fit_table
    from infopursuit.trace import Trace
    from infopursuit.types import LATER, NOT_APPLICABLE, ImpossibleAnswer, ModelFormatError, SoftAnswer

__version__ = "0.2.0"

MODULES = (
    "acquisition",
    "annotators",
    "beliefs",
    "history",
    "jobs",
    "models",
    "notebook",
    "queries",
    "report",
    "testing",
)
NAMES = {
    "Amortized": "amortized",
    "dawid_skene": "annotators",
    "TemperatureScaling": "calibration",
    **dict.fromkeys(("Constraints", "Costs"), "costs"),
    "lint": "data_checks",
    **dict.fromkeys(("distill", "history_classifier"), "distillation"),
    "Pursuit": "engine",
    "InformationPursuitClassifier": "estimator",
    "Explanation": "explanation",
    "Hybrid": "hybrid",
    **dict.fromkeys(("QuerierTraining", "Trunk"), "models.amortized"),
    **dict.fromkeys(("QueryFrequencies", "StrategyTree", "query_frequencies", "strategy_tree"), "inspection"),
    "drift": "monitoring",
    **dict.fromkeys(("AnswerNoise", "NoisyAnnotator"), "noise"),
    "original_units": "pipelines",
    "pool": "pooling",
    **dict.fromkeys(("load", "save"), "serialization"),
    "Session": "session",
    **dict.fromkeys(("Confidence", "InformationGain", "MaxCost", "MaxQueries"), "stopping"),
    "fit_table": "tabular",
    "Trace": "trace",
    **dict.fromkeys(("ImpossibleAnswer", "LATER", "ModelFormatError", "NOT_APPLICABLE", "SoftAnswer"), "types"),
}
"""Where each public name lives; a module is imported when one of its names is first used."""

# fmt: off
__all__ = [
    "LATER", "NOT_APPLICABLE", "Amortized", "AnswerNoise", "Confidence", "Constraints", "Costs", "Explanation",
    "Hybrid", "ImpossibleAnswer", "InformationGain", "InformationPursuitClassifier", "MaxCost", "MaxQueries",
    "ModelFormatError", "NoisyAnnotator", "Pursuit", "QuerierTraining", "QueryFrequencies", "Session", "SoftAnswer",
    "StrategyTree", "TemperatureScaling", "Trace", "Trunk", "acquisition", "annotators", "beliefs", "dawid_skene",
    "distill", "drift", "fit_table", "history", "history_classifier", "jobs", "lint", "load", "models",
    "notebook", "original_units", "pool", "queries", "query_frequencies", "report", "save", "strategy_tree", "testing",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    found = lazy_name(__name__, NAMES, name)
    globals()[name] = found
    return found


def _draw_card(shown: object) -> str:
    from infopursuit.notebook import card_of

    return card_of(shown)


register_renderer(_draw_card)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
