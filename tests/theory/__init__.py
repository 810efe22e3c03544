"""The paper's theory as code, for worlds small enough that every input can be written down.

`enumerate_world` lists the inputs with p(x, y). A `Strategy` is a decision tree over them: what a `Pursuit` does
(`pursuit_tree`), or the best that anything could do (`optimal_strategy`, `shortest_sufficient`). Propositions 1 and 2
and Lemmas 1 and 2 are functions of these. Everything is exact up to rounding; numbers are nats, except where
Proposition 2 counts yes/no questions, which is in bits.

>>> from infopursuit import Confidence, generative_pursuit
>>> from theory import expected_length, information, optimal_strategy, pursuit_tree, sum_of_gains, xor_world
>>> world = xor_world()
>>> greedy = pursuit_tree(generative_pursuit(world.model, world.queries, stopping=Confidence(0)))
>>> expected_length(greedy), expected_length(optimal_strategy(world, Confidence(0)))
(2.0, 2.0)
>>> round(sum_of_gains(greedy), 6), round(information(world), 6)
(0.693147, 0.693147)
"""

from theory.coding import (
    BinaryFunctions,
    CodeLengths,
    all_binary_functions,
    huffman_length,
    label_world,
    proposition_2,
)
from theory.optimal import Frontier, frontier, optimal_strategy, shortest_sufficient, within
from theory.strategy import (
    Node,
    Strategy,
    expected_length,
    gains_by_step,
    pursuit_tree,
    sufficiency,
    sum_of_gains,
)
from theory.termination import GainBound, homogeneous, largest_gain_after, lemma_1_holds, lemma_2_bound
from theory.world import World, enumerate_world, gains, information, table_world, xor_world

__all__ = [
    "BinaryFunctions",
    "CodeLengths",
    "Frontier",
    "GainBound",
    "Node",
    "Strategy",
    "World",
    "all_binary_functions",
    "enumerate_world",
    "expected_length",
    "frontier",
    "gains",
    "gains_by_step",
    "homogeneous",
    "huffman_length",
    "information",
    "label_world",
    "largest_gain_after",
    "lemma_1_holds",
    "lemma_2_bound",
    "optimal_strategy",
    "proposition_2",
    "pursuit_tree",
    "shortest_sufficient",
    "sufficiency",
    "sum_of_gains",
    "table_world",
    "within",
    "xor_world",
]
