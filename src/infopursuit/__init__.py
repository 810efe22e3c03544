"""A classifier that explains itself by asking: Information Pursuit.

>>> import infopursuit as ip
>>> ip.queries.patches((28, 28), size=3)
<patches: 676 queries about 784 variables>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infopursuit.support.cards import register_renderer
from infopursuit.support.lazy import lazy_name

if TYPE_CHECKING:
    from infopursuit import models, pursuit, queries, strategies, testing
    from infopursuit.app import datasets, jobs, shipped
    from infopursuit.calibration.temperature import TemperatureScaling
    from infopursuit.estimator.classifier import InformationPursuitClassifier
    from infopursuit.estimator.storage import load, save
    from infopursuit.estimator.tables import fit_table
    from infopursuit.evaluation.inspection import QueryFrequencies, StrategyTree, query_frequencies, strategy_tree
    from infopursuit.models.networks.amortized import QuerierTraining, Trunk
    from infopursuit.presentation import case, notebook, plots, report
    from infopursuit.pursuit.costs import Constraints, Costs
    from infopursuit.pursuit.explanation import Explanation
    from infopursuit.pursuit.loop import Pursuit
    from infopursuit.pursuit.noise import AnswerNoise, NoisyAnnotator
    from infopursuit.pursuit.session import Session
    from infopursuit.pursuit.stopping import Confidence, InformationGain, MaxCost, MaxQueries
    from infopursuit.pursuit.trace import Trace
    from infopursuit.strategies.amortized.amortized import Amortized
    from infopursuit.strategies.amortized.distillation import distill, history_classifier
    from infopursuit.strategies.generative.build import generative_pursuit
    from infopursuit.strategies.hybrid.hybrid import Hybrid
    from infopursuit.strategies.pool import pool
    from infopursuit.support.types import LATER, NOT_APPLICABLE, ImpossibleAnswer, ModelFormatError, SoftAnswer

__version__ = "0.3.0"

LAYERS = (
    "support",
    "queries",
    "models",
    "pursuit",
    "calibration",
    "strategies",
    "saving",
    "estimator",
    "evaluation",
    "presentation",
    "app",
)
"""The folders of the package, from the bottom up: each imports from itself and those before it."""

MODULES = {
    "case": "presentation.case",
    "datasets": "app.datasets",
    "jobs": "app.jobs",
    "models": "models",
    "notebook": "presentation.notebook",
    "plots": "presentation.plots",
    "pursuit": "pursuit",
    "queries": "queries",
    "report": "presentation.report",
    "shipped": "app.shipped",
    "strategies": "strategies",
    "testing": "testing",
}
"""Where each public module lives."""

NAMES = {
    "Amortized": "strategies.amortized.amortized",
    "TemperatureScaling": "calibration.temperature",
    **dict.fromkeys(("Constraints", "Costs"), "pursuit.costs"),
    **dict.fromkeys(("distill", "history_classifier"), "strategies.amortized.distillation"),
    "Pursuit": "pursuit.loop",
    "InformationPursuitClassifier": "estimator.classifier",
    "Explanation": "pursuit.explanation",
    "Hybrid": "strategies.hybrid.hybrid",
    "generative_pursuit": "strategies.generative.build",
    **dict.fromkeys(("QuerierTraining", "Trunk"), "models.networks.amortized"),
    **dict.fromkeys(
        ("QueryFrequencies", "StrategyTree", "query_frequencies", "strategy_tree"), "evaluation.inspection"
    ),
    **dict.fromkeys(("AnswerNoise", "NoisyAnnotator"), "pursuit.noise"),
    "pool": "strategies.pool",
    **dict.fromkeys(("load", "save"), "estimator.storage"),
    "Session": "pursuit.session",
    **dict.fromkeys(("Confidence", "InformationGain", "MaxCost", "MaxQueries"), "pursuit.stopping"),
    "fit_table": "estimator.tables",
    "Trace": "pursuit.trace",
    **dict.fromkeys(("ImpossibleAnswer", "LATER", "ModelFormatError", "NOT_APPLICABLE", "SoftAnswer"), "support.types"),
}
"""Where each public name lives; a module is imported when one of its names is first used."""

__all__ = [
    "LATER",
    "NOT_APPLICABLE",
    "Amortized",
    "AnswerNoise",
    "Confidence",
    "Constraints",
    "Costs",
    "Explanation",
    "Hybrid",
    "ImpossibleAnswer",
    "InformationGain",
    "InformationPursuitClassifier",
    "MaxCost",
    "MaxQueries",
    "ModelFormatError",
    "NoisyAnnotator",
    "Pursuit",
    "QuerierTraining",
    "QueryFrequencies",
    "Session",
    "SoftAnswer",
    "StrategyTree",
    "TemperatureScaling",
    "Trace",
    "Trunk",
    "case",
    "datasets",
    "distill",
    "fit_table",
    "generative_pursuit",
    "history_classifier",
    "jobs",
    "load",
    "models",
    "notebook",
    "plots",
    "pool",
    "pursuit",
    "queries",
    "query_frequencies",
    "report",
    "save",
    "shipped",
    "strategies",
    "strategy_tree",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{MODULES[name]}")
    found = lazy_name(__name__, NAMES, name)
    globals()[name] = found
    return found


def _draw_card(shown: object) -> str:
    from infopursuit.presentation.notebook import card_of

    return card_of(shown)


register_renderer(_draw_card)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
