"""How the parts of this package are saved: beliefs, acquisition functions, rules, noise, costs and calibrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from infopursuit import strategies
from infopursuit.calibration.novelty import NoveltyReference
from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.models.parts import model_from_parts, model_to_parts
from infopursuit.pursuit.costs import Constraints, Costs
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.noise import AnswerNoise
from infopursuit.pursuit.stopping import AllOf, AnyOf, Confidence, InformationGain, MaxCost, MaxQueries
from infopursuit.saving.registry import Arrays, decode, encode, register
from infopursuit.strategies.amortized.querier import NetworkGain, NetworkQuerier
from infopursuit.strategies.generative.build import build_belief, settings_of
from infopursuit.strategies.generative.exact import LatentBelief
from infopursuit.strategies.hybrid.belief import PredictorBelief
from infopursuit.strategies.look_ahead import FixedOrder, LookAhead, RandomOrder
from infopursuit.strategies.opinion_pool import LogPool, OpinionPool
from infopursuit.support.types import ModelFormatError


def _belief_to_parts(belief: LatentBelief[Any]) -> tuple[dict[str, Any], Arrays]:
    """The model, the settings of a belief that has some, and what particles are drawn with."""
    spec, arrays = model_to_parts(belief.model)
    if belief.settings is None:
        return {"model": spec, "settings": {}}, arrays

    belief.settings.check(belief.model)  # what could not be read again is refused now
    return {"model": spec, "settings": asdict(belief.settings), "seed": belief.seed}, arrays


def _belief_from_parts(kind: str) -> Any:
    def from_parts(spec: dict[str, Any], arrays: Arrays, queries: Any) -> Any:
        model = model_from_parts(spec["model"], arrays)
        if kind == "exact":
            return build_belief(model, queries, kind)
        if kind not in model.beliefs:
            raise ModelFormatError(f"belief {kind!r} does not suit a model of kind {model.kind!r}")
        settings = settings_of(kind)(**spec["settings"])
        settings.check(model)
        return settings.build(model, queries, int(spec.get("seed", 0)))

    return from_parts


MEMBERS = ("generative", "other")
"""Of a pool; the arrays of each have its name before theirs."""


def _pool_to_parts(belief: LogPool) -> tuple[dict[str, Any], Arrays]:
    parts = {name: encode(getattr(belief, name), name) for name in MEMBERS}
    arrays = {f"{name}.{key}": array for name, (_, mine) in parts.items() for key, array in mine.items()}
    plain: dict[str, Any] = {"weights": list(belief.weights)}
    if isinstance(belief, OpinionPool):
        plain["reweight"] = belief.reweight
    return {**plain, **{name: spec for name, (spec, _) in parts.items()}}, arrays


def _pool_from_parts(spec: dict[str, Any], arrays: Arrays, queries: Any) -> LogPool:
    generative, other = (
        decode(spec[n], {k.removeprefix(f"{n}."): a for k, a in arrays.items() if k.startswith(f"{n}.")}, queries)
        for n in MEMBERS
    )
    one, two = spec["weights"]
    if "reweight" in spec:
        return OpinionPool(generative, other, (one, two), reweight=spec["reweight"])
    return LogPool(generative, other, (one, two))


for _rule in (Confidence, InformationGain, MaxQueries, MaxCost):
    register(_rule, _rule.name)
for _combined in (AnyOf, AllOf):
    register(
        _combined,
        _combined.name,
        lambda rule: ({"members": [encode(member, "stopping")[0] for member in rule.members]}, {}),
        lambda spec, arrays, queries, cls=_combined: cls(tuple(decode(m, {}, queries) for m in spec["members"])),
    )
for _function in (FixedOrder, LookAhead, MutualInformation, NetworkGain, NetworkQuerier, RandomOrder):
    register(_function, _function.kind)
for _part, _kind in (
    (AnswerNoise, "answer_noise"),
    (Constraints, "constraints"),
    (Costs, "costs"),
    (NoveltyReference, "novelty_reference"),
    (TemperatureScaling, "temperature_scaling"),
):
    register(_part, _kind)
for _class, _kind in (
    ("exact.Exact", "exact"),
    ("pruned.PrunedBelief", "pruned"),
    ("particles.SMCBelief", "smc"),
    ("particles.LangevinBelief", "langevin"),
):
    register(f"infopursuit.strategies.generative.{_class}", _kind, _belief_to_parts, _belief_from_parts(_kind))
register(PredictorBelief, "masked_networks", PredictorBelief.to_parts, PredictorBelief.from_parts)
for _pool in (LogPool, OpinionPool):
    register(_pool, _pool.kind, _pool_to_parts, _pool_from_parts)
register(
    "infopursuit.strategies.amortized.belief.NetworkBelief",
    "network",
    lambda belief: belief.to_parts(),
    lambda spec, arrays, queries: strategies.NetworkBelief.from_parts(spec, arrays, queries),
)
