"""The view from above: a strategy as a tree, which queries are asked for which class, and CART's tree beside it."""

from infopursuit.overview.asked import Asked, asked
from infopursuit.overview.compare import Agreement, Comparison, compare_with_cart
from infopursuit.overview.grow import strategy_tree
from infopursuit.overview.tree import Branch, StrategyTree, TreeNode

__all__ = [
    "Agreement",
    "Asked",
    "Branch",
    "Comparison",
    "StrategyTree",
    "TreeNode",
    "asked",
    "compare_with_cart",
    "strategy_tree",
]
