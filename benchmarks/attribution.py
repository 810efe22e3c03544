"""Attribution maps of a black box beside Information Pursuit (Table 2 of the paper).

For each input a map says how much each pixel matters for the class that the black box predicts. The patches with the
largest attribution, as many as the pursuit asked about that input, are the map's explanation; the sufficiency audit
then judges all explanations under one and the same generative model.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.black_box import Network
from benchmarks.sufficiency import Audit, audit
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.trace import Trace
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

AT_A_TIME = 256
"""Inputs that go through a network at a time, points of a path and pairs with the background counted; with 28 x 28
pixels less than half a gigabyte."""
ROWS = 500
"""Inputs whose patches are chosen at a time."""

OURS = "Information Pursuit"


def compare_attributions(
    pursuit: Pursuit[Any],
    network: Network,
    trace: Trace,
    values: Any,
    labels: Any,
    background: Any,
    *,
    n_steps: int = 50,
    progress: bool | None = None,
) -> dict[str, Audit]:
    """Table 2: the audit of the pursuit's own queries, of integrated gradients and of DeepSHAP, raw and absolute.

    pursuit: the model that judges. trace: the pursuits of these inputs, whose lengths all explanations get. values:
    (B, A) their variables. background: (N, A) training inputs that DeepSHAP compares with; 20 are a fair number.
    """
    if len(trace) != len(values):
        raise ValueError(f"trace has {len(trace)} inputs and values {len(values)}; give the inputs that were traced")
    explanations = {OURS: trace.queries} | explain_by_attribution(
        network, values, trace.length, background, n_steps=n_steps, progress=progress
    )
    return {name: audit(pursuit, values, queries, labels, progress=progress) for name, queries in explanations.items()}


def explain_by_attribution(
    network: Network,
    values: Any,
    lengths: Any,
    background: Any,
    *,
    n_steps: int = 50,
    progress: bool | None = None,
) -> dict[str, IntArray]:
    """For each of the paper's four methods (B, K) the queries that explain each input, padded with -1."""
    maps = {
        "IG": integrated_gradients(network, values, n_steps=n_steps, progress=progress),
        "DeepSHAP": deep_shap(network, values, background, progress=progress),
    }
    found = {}
    for name, each in maps.items():
        found[name] = most_important(network.inputs.query_set, each, lengths)
        found[f"{name} (absolute)"] = most_important(network.inputs.query_set, np.abs(each), lengths)
    return found


def integrated_gradients(
    network: Network, values: Any, *, n_steps: int = 50, progress: bool | None = None
) -> FloatArray:
    """(B, A) the attribution of each variable: (x - x') times the mean gradient on the way from x' to x (Sundararajan
    et al. 2017), of the logit of the predicted class. x' is the empty input: no pixel lit, no word there."""
    if n_steps < 1:
        raise ValueError(f"n_steps={n_steps} must be 1 or more")
    method = _captum().IntegratedGradients(_copy(network))

    def some(inputs: Tensor, targets: Tensor) -> Tensor:
        baseline = torch.as_tensor(network.inputs.nothing).expand_as(inputs)
        return torch.as_tensor(method.attribute(inputs, baseline, target=targets, n_steps=n_steps))

    return _attribute(network, values, some, max(1, AT_A_TIME // n_steps), "integrated gradients", progress)


def deep_shap(network: Network, values: Any, background: Any, *, progress: bool | None = None) -> FloatArray:
    """(B, A) the attribution of each variable: DeepLIFT's, averaged over the inputs of a background (Lundberg and Lee
    2017), of the logit of the predicted class.

    background: (N, A) variables of training inputs, two or more.
    """
    if len(background) < 2:
        raise ValueError(f"background has {len(background)} rows; DeepSHAP averages over two inputs or more")
    method = _captum().DeepLiftShap(_copy(network))
    references = torch.as_tensor(network.inputs.encode(background))

    def some(inputs: Tensor, targets: Tensor) -> Tensor:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Setting forward, backward hooks")  # it says so every time
            return torch.as_tensor(method.attribute(inputs, references, target=targets))

    return _attribute(network, values, some, max(1, AT_A_TIME // (2 * len(background))), "DeepSHAP", progress)


def most_important(query_set: QuerySet, maps: Any, lengths: Any) -> IntArray:
    """(B, K) for each input the queries with the largest attribution, the paper's way: take the query whose variables
    have the largest mean, set their attribution to zero, and go on until there are ``lengths`` (B,) of them.

    A query is taken once; of several that are equal the one with the lowest index is taken. Padded with -1.

    >>> from infopursuit.queries import patches
    >>> most_important(patches((1, 4), size=(1, 2)), [[3.0, 2.0, 2.5, 0.0]], [2]).tolist()
    [[0, 1]]
    """
    maps, lengths = np.asarray(maps, dtype=np.float64), np.asarray(lengths)
    if maps.ndim != 2 or maps.shape[1] != len(query_set.variables):
        raise ValueError(
            f"maps has shape {maps.shape}; expected (inputs, {len(query_set.variables)}), one for each variable"
        )
    if not np.isfinite(maps).all():
        raise ValueError("maps holds numbers that are not finite; give attributions that can be compared")
    if lengths.shape != (len(maps),) or (lengths < 0).any() or (lengths > len(query_set)).any():
        raise ValueError(f"lengths must be {len(maps)} whole numbers from 0 to {len(query_set)}, one for each input")
    found = np.full((len(maps), int(lengths.max(initial=0))), UNKNOWN, dtype=np.int64)
    for start in range(0, len(maps), ROWS):
        here = slice(start, start + ROWS)
        found[here] = _most_important(query_set, maps[here], lengths[here], found.shape[1])
    return found


def _most_important(query_set: QuerySet, maps: FloatArray, lengths: IntArray, most: int) -> IntArray:
    variables = query_set.query_variables  # (Q, W), where -1 is the column of zeros that is put last
    width = (variables != UNKNOWN).sum(axis=1)
    left = np.concatenate([maps, np.zeros((len(maps), 1))], axis=1)
    taken = np.zeros((len(maps), len(query_set)), dtype=bool)
    found = np.full((len(maps), most), UNKNOWN, dtype=np.int64)
    for k in range(most):
        going = np.flatnonzero(lengths > k)
        score = left[going][:, variables].sum(axis=2) / width  # (B, Q)
        query = np.where(taken[going], -np.inf, score).argmax(axis=1)
        found[going, k] = query
        taken[going, query] = True
        left[going[:, None], variables[query]] = 0.0
    return found


def _attribute(
    network: Network,
    values: Any,
    some: Callable[[Tensor, Tensor], Tensor],
    rows: int,
    what: str,
    progress: bool | None,
) -> FloatArray:
    """(B, A) attributions, ``rows`` inputs at a time."""
    values = network.inputs.query_set.variables.check(values)
    targets = torch.as_tensor(network.logits(values).argmax(axis=1))
    found = np.empty((len(values), len(network.inputs.query_set.variables)))
    with Progress(what, len(values), show=progress) as shown:
        for start in range(0, len(values), rows):
            here = slice(start, start + rows)
            scores = some(torch.as_tensor(network.inputs.encode(values[here])), targets[here])
            found[here] = network.inputs.to_variables(scores.detach().numpy())
            shown.advance(len(scores))
    return found


def _copy(network: Network) -> torch.nn.Module:
    """The network for captum, which hangs hooks into it."""
    return copy.deepcopy(network.module).eval()


def _captum() -> Any:
    try:
        import captum.attr
    except ImportError as error:
        raise ImportError("attribution maps need captum, which is not installed; pip install captum") from error
    return captum.attr
