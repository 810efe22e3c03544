"""The view from above: a strategy as a tree, which queries are asked for which class, and CART's tree beside it."""

from infopursuit.inspection.asked import Asked, asked
from infopursuit.inspection.compare import Agreement, Comparison, compare_with_cart
from infopursuit.inspection.grow import strategy_tree
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

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
