"""What a pursuit is compared with, all of them on the answers to the same queries (Table 1 of the paper).

>>> import numpy as np
>>> from infopursuit.queries import concepts
>>> values = np.random.default_rng(0).integers(0, 2, size=(200, 3))
>>> labels = values[:, 1]
>>> result = decision_tree(concepts(["a", "b", "c"]), values, labels, values, labels)
>>> result.accuracy, result.details["depth"], result.details["questions"]
(1.0, 1, 1.0)
"""

from infopursuit.evaluation.baselines.black_box import black_box, fit_network
from infopursuit.evaluation.baselines.network import Network, NetworkSettings
from infopursuit.evaluation.baselines.result import BaselineResult, score
from infopursuit.evaluation.baselines.saved import load_network, save_network
from infopursuit.evaluation.baselines.trees import Tree, decision_tree, fit_tree
from infopursuit.evaluation.baselines.tuned import Tuned, fit_tuned

__all__ = [
    "BaselineResult",
    "Network",
    "NetworkSettings",
    "Tree",
    "Tuned",
    "black_box",
    "decision_tree",
    "fit_network",
    "fit_tree",
    "fit_tuned",
    "load_network",
    "save_network",
    "score",
]
