"""`NetworkBelief`: p(y | history) and the utilities of queries by one pass of a network (amortised querying)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import expit, log_softmax
from torch import Tensor, nn

from infopursuit.models.networks.amortized import Trunk, TwoHeads, check_network, device_of
from infopursuit.models.networks.architectures import Features
from infopursuit.models.networks.deep_sets import DeepSets
from infopursuit.models.networks.masked import Encoding
from infopursuit.models.sample import Sample
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Belief, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.amortized.querier import UNITS
from infopursuit.strategies.generative.exact import class_entropy
from infopursuit.strategies.hybrid.belief import FLOOR, answer_values, answer_vectors, encoding_from
from infopursuit.support.checks import number, one_of
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

AT_A_TIME = 128
"""Histories that go through a network together: what lies between two layers then stays in the cache."""


# ---- inputs of a network --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VariableInputs:
    """Units are variables, known by their values; -1 for unknown.

    A pixel is a number from -1 to 1, a yes/no variable likewise, another one-hot; and every variable has one feature
    that says whether it is known. Features of an image are planes, one for each colour: the values, then what is known;
    with grey levels also what is darkest and what is lightest, as paper and ink are not just a little more so.
    """

    queries: QuerySet

    @property
    def shape(self) -> tuple[int, int] | None:
        """(rows, columns) of an image."""
        return self.queries.shape

    @property
    def units(self) -> IntArray:
        """(Q, W) the variables of each query."""
        return self.queries.query_variables

    @property
    def n_units(self) -> int:
        """U."""
        return len(self.queries.variables)

    @cached_property
    def n_features(self) -> int:
        """F."""
        return self.n_units * self._n_planes if self.shape is not None else self.n_units + self._features.size

    @property
    def _n_planes(self) -> int:
        return 4 if max(self.queries.variables.sizes) > 2 else 2

    @cached_property
    def _features(self) -> Features:
        return Features(self.queries.variables)

    @cached_property
    def _unit_of(self) -> Tensor:
        sizes = np.array([1 if size == 2 else size for size in self.queries.variables.sizes])
        return torch.as_tensor(np.concatenate([np.repeat(np.arange(self.n_units), sizes), np.arange(self.n_units)]))

    @cached_property
    def _tops(self) -> Tensor:
        return torch.as_tensor(self.queries.variables.sizes, dtype=torch.float32) - 1

    def encode(self, known: Any) -> Tensor:
        """(H, U) -> (H, F)."""
        values = torch.as_tensor(known)
        mask = (values != UNKNOWN).to(torch.float32)
        if self.shape is None:
            return torch.cat([self._features.encode(values.to(torch.int64)), mask], dim=1)
        planes = [(2 * values / self._tops - 1) * mask, mask, (values == 0).float(), (values == self._tops).float()]
        return torch.cat([self._planes(each) for each in planes[: self._n_planes]], dim=1)

    def spread(self, mask: Tensor) -> Tensor:
        """(H, U) -> (H, F)."""
        if self.shape is None:
            return mask.index_select(1, self._unit_of)
        return self._planes(mask).repeat(1, self._n_planes)

    def _planes(self, pixels: Tensor) -> Tensor:
        """(H, U), the colours of a pixel side by side -> (H, U), one colour after the other."""
        assert self.shape is not None
        rows, columns = self.shape
        if self.n_units == rows * columns:
            return pixels
        return pixels.reshape(len(pixels), rows * columns, -1).transpose(1, 2).flatten(1)

    def nothing(self) -> Any:
        """(1, U) nothing is known."""
        return np.full((1, self.n_units), UNKNOWN, dtype=self._dtype)

    def everything(self, values: IntArray, numbers: FloatArray | None = None) -> Any:
        """(N, U) all that may be revealed of some inputs."""
        return values.astype(self._dtype)

    @property
    def _dtype(self) -> Any:
        return np.int8 if max(self.queries.variables.sizes) <= 2**7 else np.int64

    def update(self, known: Any, query: IntArray, cells: IntArray, numbers: Any) -> None:
        """Put answers (H, W) to queries (H,) into ``known`` (H, U); a cell of several values leaves it unknown."""
        unit = self.units[query]  # (H, W)
        same = self.queries.query_cells[query] == cells[..., None]  # (H, W, V)
        row, place = np.nonzero((same.sum(axis=2) == 1) & (unit >= 0) & (cells != UNKNOWN))
        known[row, unit[row, place]] = same[row, place].argmax(axis=1)


@dataclass(frozen=True)
class AnswerInputs:
    """Units are queries, known by their numbers or the indices of their answers; NaN for unknown. See `Encoding`."""

    queries: QuerySet
    encoding: Encoding = field(repr=False)
    shape: None = None

    @property
    def units(self) -> IntArray:
        """(Q, 1) each query itself."""
        return np.arange(len(self.queries))[:, None]

    @property
    def n_units(self) -> int:
        """U."""
        return len(self.queries)

    @property
    def n_features(self) -> int:
        """F."""
        return self.encoding.n_inputs

    @cached_property
    def _unit_of(self) -> Tensor:
        return torch.as_tensor(self.encoding.query)

    def encode(self, known: Any) -> Tensor:
        """(H, U) -> (H, F)."""
        return torch.as_tensor(self.encoding(np.asarray(known)))

    def spread(self, mask: Tensor) -> Tensor:
        """(H, U) -> (H, F)."""
        return mask.index_select(1, self._unit_of)

    def nothing(self) -> Any:
        """(1, U) nothing is known."""
        return np.full((1, self.n_units), np.nan)

    def everything(self, values: IntArray, numbers: FloatArray | None = None) -> Any:
        """(N, U) all that may be revealed of some inputs."""
        return answer_vectors(self.queries, values, numbers)[0]

    def update(self, known: Any, query: IntArray, cells: IntArray, numbers: Any) -> None:
        """Put answers (H, W) to queries (H,) into ``known`` (H, U)."""
        value = answer_values(self.queries, query, cells, numbers)
        rows = np.flatnonzero(~np.isnan(value))
        known[rows, query[rows]] = value[rows]


@dataclass(frozen=True)
class AnswerSetInputs(VariableInputs):
    """Whole answers, for `DeepSets`: (H, U + Q) the values of the variables, -1 for unknown, and 1 for each query that
    was answered and all of whose variables are known then."""

    @property
    def n_features(self) -> int:
        """F."""
        return self.n_units + len(self.units)

    def encode(self, known: Any) -> Tensor:
        """(H, F) as it is."""
        return torch.as_tensor(known)

    def nothing(self) -> Any:
        """(1, F) nothing is known."""
        return np.repeat([[UNKNOWN, 0]], [self.n_units, len(self.units)], axis=1).astype(self._dtype)

    def everything(self, values: IntArray, numbers: FloatArray | None = None) -> Any:
        """(N, F) all that may be revealed of some inputs."""
        return np.pad(values.astype(self._dtype), [(0, 0), (0, len(self.units))], constant_values=1)

    def update(self, known: Any, query: IntArray, cells: IntArray, numbers: Any) -> None:
        """Put answers (H, W) to queries (H,) into ``known`` (H, F)."""
        super().update(known, query, cells, numbers)
        unit, here = self.units[query], np.arange(len(known))
        told = (known[here[:, None], unit] != UNKNOWN) | (unit < 0)
        known[here, self.n_units + query] = told.all(axis=1)


def inputs_for(queries: QuerySet, sample: Sample | None = None) -> VariableInputs | AnswerInputs:
    """What suits a query set: variables where queries reveal them whole; answers where they are numbers, or where
    queries of one variable reveal parts of it. sample: training rows, from which the encoding of numbers is chosen."""
    table = queries.representatives
    partial = queries.width == 1 and len(np.unique(queries.query_variables)) < len(queries)
    if table is None and not partial:
        return VariableInputs(queries)
    if sample is None:
        raise ValueError("queries with numbers or thresholds need y: their encoding is chosen on labelled rows")
    numeric = np.zeros(len(queries), bool) if table is None else ~np.isnan(table[:, 0])
    answers, _ = answer_vectors(queries, sample.values, sample.numbers)
    return AnswerInputs(queries, Encoding.fit(answers, numeric, queries.n_answers, sample.weights))


# ---- the belief -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkState:
    """What is known after H histories, (H, U), and what the network says about it: (H, C) log p(y | history), and
    (H, Q) utilities of the queries, and their unit."""

    known: Any
    log_posterior: FloatArray
    utilities: FloatArray
    unit: str


class NetworkBelief(Belief[NetworkState]):
    """p(y | history) and the utility of every query by one pass of a network.

    Parameters
    ----------
    network: (H, F) features -> (H, C) class logits and (H, Q) utilities, such as `TwoHeads`.
    inputs: how what is known goes into it.
    n_classes: C.
    unit: "score", or "nats" for a network of information gains.
    temperature: of the posterior, from temperature scaling on validation rows.
    student_of: what the network imitates, "" where it was trained on labels alone.
    """

    kind = "network"

    def __init__(
        self,
        network: nn.Module,
        inputs: VariableInputs | AnswerInputs,
        n_classes: int,
        unit: str = "score",
        temperature: float = 1.0,
        student_of: str = "",
    ) -> None:
        self.network = network.eval()
        self.inputs = inputs
        self.unit = one_of(unit, "unit", UNITS)
        self.student_of = str(student_of)
        self.temperature = number(temperature, "temperature", above=0)
        self.n_classes = int(n_classes)
        self.capabilities = Capabilities(
            numbers=isinstance(inputs, AnswerInputs),
            utilities=self.unit,
            calibrated=True,
            bytes_per_history=16 * (inputs.n_features + len(inputs.units) + self.n_classes),
        )

    def __repr__(self) -> str:
        return f"<NetworkBelief: {type(self.network).__name__}, {self.n_classes} classes, utilities in {self.unit}>"

    def describe(self) -> str:
        """The belief in words."""
        size = sum(each.numel() for each in self.network.parameters())
        taught = f", a student of {self.student_of}" if self.student_of else ""
        return f"that of a network with {size:,} weights{taught}, temperature {self.temperature:.3g}"

    def init(self) -> NetworkState:
        """Nothing is known."""
        return self._seen(self.inputs.nothing())

    def update(self, b: NetworkState, parents: IntArray, new: Histories) -> NetworkState:
        """One more answer."""
        known = b.known[parents]
        numbers = None if new.numbers is None else new.numbers[:, -1]
        self.inputs.update(known, new.queries[:, -1], new.answers[:, -1], numbers)
        return self._seen(known)

    def log_posterior(self, b: NetworkState) -> Estimate:
        """(H, C) log p(y | history)."""
        return Estimate.exact(b.log_posterior)

    @torch.inference_mode()
    def _seen(self, known: Any) -> NetworkState:
        found = []
        for start in range(0, len(known), AT_A_TIME):
            features = self.inputs.encode(known[start : start + AT_A_TIME]).to(device_of(self.network))
            logits, outputs = self.network(features)
            found.append((logits.cpu().double().numpy(), outputs.cpu().numpy()))
        logits, utilities = (np.concatenate(each) for each in zip(*found, strict=True))
        log_p = np.maximum(log_softmax(logits / self.temperature, axis=1), np.log(FLOOR))
        log_p = log_softmax(log_p, axis=1)
        if self.unit == "nats":  # a share of the entropy of the class, between none and all of it
            utilities = class_entropy(log_p)[:, None] * expit(utilities)
        return NetworkState(known, log_p, utilities, self.unit)

    # ---- files -------------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON data and arrays; a network of somebody else's cannot be saved."""
        if not isinstance(self.network, TwoHeads | DeepSets):
            raise TypeError(
                "classifier or querier is a module of your own, which cannot be saved without pickle; fit with "
                "trunk=ip.Trunk(...) instead to save"
            )
        trunk = self.network.settings
        spec = {
            "channels": list(trunk.channels),
            "hidden": list(trunk.hidden),
            "answer": list(trunk.answer),
            "blocks": trunk.blocks,
            **{name: getattr(self, name) for name in ("n_classes", "unit", "temperature", "student_of")},
        }
        arrays = {f"network.{name}": each.cpu().numpy() for name, each in self.network.state_dict().items()}
        if isinstance(self.inputs, AnswerInputs):
            arrays |= {"pieces": self.inputs.encoding.pieces, "categories": self.inputs.encoding.categories}
        return spec, arrays

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Any], queries: QuerySet) -> NetworkBelief:
        """What `to_parts` took apart; refused where shapes do not fit."""
        inputs: VariableInputs | AnswerInputs = VariableInputs(queries)
        if "pieces" in arrays:
            inputs = AnswerInputs(queries, encoding_from(arrays, len(queries)))
        n_classes = spec["n_classes"]
        channels, hidden, answer = (tuple(spec.get(name, ())) for name in ("channels", "hidden", "answer"))
        trunk = Trunk(channels, hidden, answer, spec.get("blocks", 0))  # older files have none
        if trunk.answer:
            inputs = AnswerSetInputs(queries)
        network = (DeepSets if trunk.answer else TwoHeads)(trunk, inputs, n_classes)
        weights = {name: arrays[f"network.{name}"] for name in network.state_dict()}
        for name, array in weights.items():
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise ValueError(f"network.{name} is {array.dtype}, or has weights that are not finite")
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        check_network(network, inputs, n_classes)
        return cls(network, inputs, n_classes, spec["unit"], spec["temperature"], spec["student_of"])
