"""Inspection of a strategy: its tree, and how often queries are asked and for which class."""

from infopursuit.inspection.grow import strategy_tree
from infopursuit.inspection.query_frequencies import QueryFrequencies, query_frequencies
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

__all__ = ["Branch", "QueryFrequencies", "StrategyTree", "TreeNode", "query_frequencies", "strategy_tree"]
