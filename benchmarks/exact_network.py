"""A Bayesian network as a world whose truth is known: patients drawn from it, exact posteriors and information gains.

Given the target the network falls apart into components, which are small in *pathfinder*. The network polynomial of a
component (Darwiche 2003) is computed by variable elimination for many histories and all classes at once; its
derivatives by the evidence indicators are p(finding, evidence | class) of every finding, so that one pass forwards and
one backwards give the posterior and all gains.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from benchmarks.datasets.files import data_folder
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Belief, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

WORK = 2**22
"""Numbers of the largest factor of a component that is computed at a time, and of a table of joint probabilities."""


def example() -> Any:
    """The module ``examples/bayesian_network.py``, or an error that says how to get what it needs."""
    try:
        return import_module("examples.bayesian_network")
    except ImportError as error:
        if error.name != "pyagrum":
            raise
        raise ImportError(
            "Bayesian networks are read by pyAgrum, which is not installed; pip install infopursuit[benchmarks]"
        ) from error


@dataclass(frozen=True)
class Factor:
    """A conditional probability table: (variables in the order of the axes), and the table."""

    variables: tuple[str, ...]
    table: FloatArray


@dataclass(frozen=True, eq=False)
class World:
    """A network with one node to find out, the target, and the others to ask about.

    network: that of pyAgrum, every table normalised in double precision: BIF files are read in single precision.
    """

    network: Any
    target: str

    @classmethod
    def read(cls, name: str, target: str) -> World:
        """A network of the data folder."""
        path = data_folder() / "networks" / f"{name}.bif.gz"
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; INFOPURSUIT_DATA names the folder with networks/{name}.bif.gz")
        return cls.of_text(gzip.decompress(path.read_bytes()).decode(), target)

    @classmethod
    def of_text(cls, text: str, target: str) -> World:
        """A network in the Bayesian interchange format."""
        given = example()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "network.bif"
            file.write_text(given.with_plain_labels(text))
            network = given.pyagrum.loadBN(str(file))
        for node in network.names():
            network.cpt(node).normalizeAsCPT()
        return cls(network, target)

    @cached_property
    def queries(self) -> QuerySet:
        """One query for each node but the target."""
        found: QuerySet = example().Nodes(self.network, self.target)
        found.tabular = True  # learnt beliefs are tuned as those of tables are
        return found

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The states of the target."""
        return tuple(self.network.variable(self.target).labels())

    @cached_property
    def factors(self) -> dict[str, Factor]:
        """The table of each node, in topological order; the last axis is the node's own."""
        order = [self.network.variable(node).name() for node in self.network.topologicalOrder()]
        tables = {node: self.network.cpt(node) for node in order}
        return {node: Factor(tuple(reversed(cpt.names)), cpt.toarray()) for node, cpt in tables.items()}

    def sample(self, n: int, seed: int) -> tuple[IntArray, IntArray]:
        """(n, A) values of the findings in the order of the queries, and (n,) classes, drawn from the network."""
        rng, drawn = np.random.default_rng(seed), dict[str, IntArray]()
        for node, factor in self.factors.items():
            chances = factor.table[tuple(drawn[parent] for parent in factor.variables[:-1])]  # (n, V) or (V,)
            limits = np.cumsum(np.broadcast_to(chances, (n, factor.table.shape[-1])), axis=1)
            drawn[node] = (rng.random((n, 1)) * limits[:, -1:] >= limits).sum(axis=1)
        return np.stack([drawn[name] for name in self.queries.names], axis=1), drawn[self.target]


class Component:
    """Some findings that are connected given the target, with their factors."""

    def __init__(self, world: World, findings: Iterable[str], factors: Sequence[Factor]) -> None:
        queries, self.target, self.n_classes = world.queries, world.target, len(world.classes)
        self.columns = np.array([a for a, name in enumerate(queries.names) if name in set(findings)], dtype=np.int64)
        self.names = [queries.names[a] for a in self.columns]
        self.sizes = [queries.variables.sizes[a] for a in self.columns]
        offsets = queries.variables.offsets
        slots = [slot for a in self.columns for slot in range(offsets[a], offsets[a + 1])]
        self.slots = np.array(slots, dtype=np.int64)
        self.factors = list(factors)
        self.order, largest = self._elimination()
        self.at_a_time = max(1, WORK // (largest * self.n_classes))

    def _elimination(self) -> tuple[list[str], int]:
        """Findings in the order of elimination, each time the one with the smallest table; and the largest table."""
        sizes = dict(zip(self.names, self.sizes, strict=True))
        scopes = [set(factor.variables) - {self.target} for factor in self.factors]
        order: list[str] = []
        largest = 1
        while len(order) < len(self.names):
            joined = {x: set().union({x}, *(s for s in scopes if x in s)) for x in self.names if x not in order}
            cost = {x: int(np.prod([sizes[v] for v in scope])) for x, scope in joined.items()}
            best = min(cost, key=cost.__getitem__)
            largest = max(largest, cost[best])
            scopes = [s for s in scopes if best not in s] + [joined[best] - {best}]
            order.append(best)
        return order, largest

    def solve(self, evidence: IntArray) -> tuple[FloatArray, FloatArray]:
        """evidence: (n, findings), -1 where unknown. (n, C) the value of the polynomial, p(evidence | class) up to what
        belongs to the class, and (n, C, L) its derivatives: the same together with each value of each finding."""
        if not len(self.names):
            prior = np.prod([factor.table for factor in self.factors], axis=0)
            return np.tile(prior, (len(evidence), 1)), np.zeros((len(evidence), self.n_classes, 0))
        parts = [self._solve(evidence[i : i + self.at_a_time]) for i in range(0, max(len(evidence), 1), self.at_a_time)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _solve(self, evidence: IntArray) -> tuple[FloatArray, FloatArray]:
        import torch

        n, rows = len(evidence), ("rows", self.target)
        indicators = {}
        for at, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            told = evidence[:, at, None]
            agrees = torch.tensor((told == UNKNOWN) | (told == np.arange(size)), dtype=torch.float64)  # (n, V)
            indicators[name] = agrees[:, None].repeat(1, self.n_classes, 1).requires_grad_()
        left = [(factor.variables, torch.tensor(factor.table)) for factor in self.factors]
        for name in self.order:
            joined = [each for each in left if name in each[0]] + [((*rows, name), indicators[name])]
            left = [each for each in left if name not in each[0]]
            scope = tuple(dict.fromkeys(v for variables, _ in joined for v in variables if v not in (*rows, name)))
            number = {v: i for i, v in enumerate((*rows, name, *scope))}
            operands = [each for variables, t in joined for each in (t, [number[v] for v in variables])]
            left.append(((*rows, *scope), torch.einsum(*operands, [number[v] for v in (*rows, *scope)])))
        value = torch.ones((n, self.n_classes), dtype=torch.float64)
        for _, factor in left:
            value = value * factor
        by = torch.autograd.grad(value.sum(), [indicators[name] for name in self.names])
        derivative = np.concatenate([each.numpy() for each in by], axis=2)
        return value.detach().numpy(), derivative


@dataclass(frozen=True, eq=False)
class Known:
    """What is known after H histories. evidence: (H, A), -1 where a finding is unknown."""

    belief: ExactBelief
    evidence: IntArray

    @cached_property
    def parts(self) -> list[tuple[IntArray, FloatArray, FloatArray]]:
        """For each component (H,) which of its distinct evidences (n,) each history has, (n, C) the polynomial of each,
        and (n, C, L) the probability of each value of each finding given class and evidence."""
        found = []
        for component in self.belief.components:
            mine, index = np.unique(self.evidence[:, component.columns], axis=0, return_inverse=True)
            value, derivative = component.solve(mine)
            possible = value[..., None] > 0
            given = np.divide(derivative, value[..., None], out=np.zeros_like(derivative), where=possible)
            found.append((index.ravel(), value, given))
        return found

    @cached_property
    def log_joint(self) -> FloatArray:
        """(H, C) log p(class, evidence)."""
        with np.errstate(divide="ignore"):
            return np.asarray(sum(np.log(value)[index] for index, value, _ in self.parts))

    @cached_property
    def posterior(self) -> FloatArray:
        """(H, C) p(class | evidence), NaN where the evidence is impossible."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.exp(self.log_joint - logsumexp(self.log_joint, axis=1, keepdims=True)))

    def joint(self, rows: slice) -> FloatArray:
        """(H', C, L) p(class, value of a finding | evidence) of some histories, for the values of unknown findings; of
        a known one it is no probability."""
        posterior = self.posterior[rows]
        found = np.zeros((*posterior.shape, self.belief.queries.variables.n_slots))
        for component, (index, _, given) in zip(self.belief.components, self.parts, strict=True):
            found[:, :, component.slots] = given[index[rows]] * posterior[..., None]
        return found


class ExactBelief(Belief[Known]):
    """Exact inference in a world, for `Pursuit` and `LookAhead`."""

    capabilities = Capabilities(evidence=True, answers=True, look_ahead=True)

    def __init__(self, world: World) -> None:
        self.queries, self.n_classes = world.queries, len(world.classes)
        self.components = [Component(world, *each) for each in _components(world)]
        self.starts = self.queries.variables.offsets[:-1]
        self.at_a_time = max(1, WORK // (self.n_classes * self.queries.variables.n_slots))

    def init(self) -> Known:
        """Nothing is known."""
        return self.given(np.full((1, len(self.queries)), UNKNOWN))

    def given(self, evidence: IntArray) -> Known:
        """The state of some evidence (H, A)."""
        return Known(self, evidence)

    def update(self, b: Known, parents: IntArray, new: Histories) -> Known:
        """The state of longer histories."""
        return self.given(new.observed())

    def log_posterior(self, b: Known) -> Estimate:
        """(H, C)"""
        with np.errstate(divide="ignore"):
            return Estimate.exact(np.log(b.posterior))

    def log_evidence(self, b: Known) -> FloatArray:
        """(H,) log p(answers so far)."""
        return np.asarray(logsumexp(b.log_joint, axis=1))

    def answer_distribution(self, b: Known, query: int) -> FloatArray:
        """(H, V)"""
        slots = slice(*self.queries.variables.offsets[query : query + 2])
        return np.concatenate([b.joint(rows)[:, :, slots].sum(axis=1) for rows in self.portions(len(b.evidence))])

    def portions(self, n: int) -> list[slice]:
        """Rows that are worked on at a time."""
        return [slice(i, i + self.at_a_time) for i in range(0, n, self.at_a_time)]

    def look_ahead(self, b: Known, allowed: BoolArray) -> Estimate:
        """(H, Q) the exact information gain of each query, which `LookAhead` takes."""
        return Estimate.exact(np.where(allowed, self.information(b), np.nan))

    def information(self, b: Known) -> FloatArray:
        """(H, Q) mutual information of the class and each unknown finding given the evidence, in nats; 0 of a known."""
        found = np.zeros(b.evidence.shape)
        for rows in self.portions(len(found)):
            joint, p = b.joint(rows), b.posterior[rows]
            each = xlogy(joint, joint).sum(axis=1) - xlogy(joint.sum(axis=1), joint.sum(axis=1))  # (H', L)
            found[rows] = np.add.reduceat(each, self.starts, axis=1) - xlogy(p, p).sum(axis=1, keepdims=True)
        return np.where(b.evidence == UNKNOWN, np.maximum(found, 0.0), 0.0)


def _components(world: World) -> list[tuple[set[str], list[Factor]]]:
    """Findings that share a factor, directly or through others, given the target; and factors of the target alone."""
    groups: list[tuple[set[str], list[Factor]]] = [(set(), [])]
    for factor in world.factors.values():
        findings = set(factor.variables) - {world.target}
        if not findings:
            groups[0][1].append(factor)
            continue
        touched = [group for group in groups[1:] if group[0] & findings]
        groups = [group for group in groups if group not in touched]
        members = findings.union(*(group[0] for group in touched))
        groups.append((members, [*(each for group in touched for each in group[1]), factor]))
    return groups if groups[0][1] else groups[1:]
