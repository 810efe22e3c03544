"""Inspection of a strategy: its tree, and how often queries are asked and for which class."""

from infopursuit.inspection.query_frequencies import QueryFrequencies, query_frequencies
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode, strategy_tree

__all__ = ["Branch", "QueryFrequencies", "StrategyTree", "TreeNode", "query_frequencies", "strategy_tree"]
