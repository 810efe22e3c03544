"""Inspection of a strategy: its tree, how often queries are asked and for which class, and CART for comparison."""

from infopursuit.inspection.cart import Agreement, Comparison, compare_with_cart
from infopursuit.inspection.grow import strategy_tree
from infopursuit.inspection.query_frequencies import QueryFrequencies, query_frequencies
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

__all__ = [
    "Agreement",
    "Branch",
    "Comparison",
    "QueryFrequencies",
    "StrategyTree",
    "TreeNode",
    "compare_with_cart",
    "query_frequencies",
    "strategy_tree",
]
