"""Save and load without pickle: a folder with a JSON manifest and one safetensors file.

`infopursuit.model_files` writes and reads the files. Loading runs no code from the folder, and believes nothing that it
has not checked.

Every part of a pursuit is saved by the entry of its class in one registry. `register` adds a class of your own; a part
whose class has no entry is refused at saving.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from infopursuit import beliefs, model_files
from infopursuit import queries as query_builders
from infopursuit.acquisition import (
    FixedOrder,
    LookAhead,
    MutualInformation,
    NetworkGain,
    NetworkQuerier,
    RandomOrder,
)
from infopursuit.answer_profile import AnswerProfile
from infopursuit.assessment import Assessment
from infopursuit.beliefs.opinion_pool import LogPool, OpinionPool
from infopursuit.beliefs.predictor import PredictorBelief
from infopursuit.calibration import CalibrationReport, TemperatureScaling
from infopursuit.checks import pursuit_of
from infopursuit.costs import Constraints, Costs
from infopursuit.engine import Pursuit
from infopursuit.model_card import training_data, write_model_card
from infopursuit.model_files import ModelFiles, read_model
from infopursuit.models.storing import model_from_parts, model_to_parts
from infopursuit.noise import AnswerNoise
from infopursuit.novelty import NoveltyReference
from infopursuit.queries.queryset import from_manifest, to_manifest
from infopursuit.stopping import AllOf, AnyOf, Confidence, InformationGain, MaxCost, MaxQueries, Rule
from infopursuit.tuning import Tuning
from infopursuit.types import ModelFormatError
from infopursuit.versions import check_provenance, differences, provenance, versions

if TYPE_CHECKING:  # it needs scikit-learn, which takes longer to import than all the rest; a pursuit does without
    from infopursuit.estimator import InformationPursuitClassifier

logger = logging.getLogger(__name__)

PLAIN = {"patience": 0, "n_novelty_queries": 0, "seed": 0, "memory_limit": 1, "learnt": bool, "label_name": str}
"""The plain fields of a pursuit: the least whole number, or a type."""
PLAIN_OF_CLASSIFIER = {
    "strategy": (str, None),
    "belief": (str, None),
    "patience": 0,
    "random_state": (0, None),
    "dtype": (str, None),
    "exact_gains": (bool, None),
    "time_limit": (float, int, None),
    "max_questions": (1, None),
    "n_features_in": (1, None),
}
PARTS = ("stopping", "noise", "costs", "constraints", "calibrator", "novelty")
"""The parts of a pursuit that are saved by their own entry, beside queries, belief and acquisition function."""

LABELS: dict[str, type] = {"int": int, "str": str, "bool": bool, "float": float}
"""The types of class labels that can be saved."""

Arrays = dict[str, Any]


# ---- the registry ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """How one class is saved: ``to_parts(object)`` gives JSON data and arrays, ``from_parts(spec, arrays, queries)``
    checks them and makes the object again."""

    kind: str
    to_parts: Callable[[Any], tuple[dict[str, Any], Arrays]]
    from_parts: Callable[[dict[str, Any], Arrays, Any], Any]


_by_class: dict[str, Entry] = {}
_by_kind: dict[str, Entry] = {}


def register(cls: Any, kind: str, to_parts: Any = None, from_parts: Any = None) -> None:
    """Let objects of a class be saved as parts of a pursuit: a belief, an acquisition function, a stopping rule, noise.

    Parameters
    ----------
    cls: the class; or its full name "module.Class", together with ``from_parts``, so that it need not be imported.
    kind: its name in files. Loading needs the same registration, so register where the class is defined.
    to_parts: object -> (JSON data, arrays). Without it, ``to_spec()`` of the object or the fields of a dataclass.
    from_parts: (data, arrays, queries) -> object; it must refuse data that cannot be. Without it, the class's
        ``from_spec(data)`` or its constructor.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Never(Rule):
    ...     name = "never"
    ...
    ...     def holds(self, check):
    ...         return np.zeros(len(check.n_asked), dtype=bool)
    >>> register(Never, "never")
    """
    name = cls if isinstance(cls, str) else _name(cls)
    entry = Entry(kind, to_parts or _plain_to_parts, from_parts or _plain_from_parts(cls))
    known = _by_kind.get(kind)
    if known is not None and _by_class.get(name) is not known:
        raise ValueError(f"kind={kind!r} is taken by another class; choose another name")
    _by_class[name], _by_kind[kind] = entry, entry


def encode(part: Any, role: str) -> tuple[dict[str, Any], Arrays]:
    """A part as JSON data with its kind, and arrays."""
    entry = _by_class.get(_name(type(part)))
    if entry is None:
        wrong = f"{role} is a {type(part).__name__}, which cannot be saved"
        raise TypeError(f"{wrong}; infopursuit.serialization.register({type(part).__name__}, ...) makes it possible")
    spec, arrays = entry.to_parts(part)
    return {"kind": entry.kind, **spec}, arrays


def decode(spec: dict[str, Any], arrays: Arrays, queries: Any) -> Any:
    """The part that `encode` took apart."""
    if spec["kind"] not in _by_kind:
        raise ModelFormatError(f"kind {spec['kind']!r} is not registered here; import the module that registers it")
    rest = {name: value for name, value in spec.items() if name != "kind"}
    return _by_kind[spec["kind"]].from_parts(rest, arrays, queries)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _plain_to_parts(part: Any) -> tuple[dict[str, Any], Arrays]:
    if hasattr(part, "to_spec") and not isinstance(part, Rule):
        return part.to_spec(), {}
    return {field.name: getattr(part, field.name) for field in fields(part)}, {}


def _plain_from_parts(cls: Any) -> Any:
    return lambda spec, arrays, queries: cls.from_spec(spec) if hasattr(cls, "from_spec") else cls(**spec)


def _belief_to_parts(belief: Any) -> tuple[dict[str, Any], Arrays]:
    """The model, the settings of a belief that has some, and what particles are drawn with."""
    spec, arrays = model_to_parts(belief.model)
    settings: Any = getattr(belief, "settings", None)
    if hasattr(settings, "check"):
        settings.check(belief.model)  # what could not be read again is refused now
    drawn = {name: getattr(belief, name) for name in ("seed", "noisy") if hasattr(belief, name)}
    return {"model": spec, "settings": {} if settings is None else asdict(settings), **drawn}, arrays


def _belief_from_parts(kind: str) -> Any:
    def from_parts(spec: dict[str, Any], arrays: Arrays, queries: Any) -> Any:
        model = model_from_parts(spec["model"], arrays)
        if kind == "exact":
            return beliefs.build_belief(model, queries, kind)
        if kind not in model.beliefs:
            raise ModelFormatError(f"belief {kind!r} does not suit a model of kind {model.kind!r}")
        given = {name: value for name, value in spec["settings"].items() if name != "pooled"}  # of older files
        settings = getattr(beliefs, beliefs.KINDS[kind])(**given)
        if hasattr(settings, "check"):
            settings.check(model)
        return settings.build(model, queries, int(spec.get("seed", 0)), noisy=bool(spec.get("noisy", False)))

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
    register(f"infopursuit.beliefs.{_class}", _kind, _belief_to_parts, _belief_from_parts(_kind))
register(PredictorBelief, "masked_networks", PredictorBelief.to_parts, PredictorBelief.from_parts)
for _pool in (LogPool, OpinionPool):
    register(_pool, _pool.kind, _pool_to_parts, _pool_from_parts)
register(
    "infopursuit.beliefs.network.NetworkBelief",
    "network",
    lambda belief: belief.to_parts(),
    lambda spec, arrays, queries: beliefs.NetworkBelief.from_parts(spec, arrays, queries),  # type: ignore[attr-defined]
)


# ---- saving ---------------------------------------------------------------------------------------------------------


def save(thing: InformationPursuitClassifier | Pursuit[Any], path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier or a pursuit to a folder.

    Several processes may save to one folder, and others load from it meanwhile: each model is
    written whole, and the last one stays.

    Parameters
    ----------
    thing : InformationPursuitClassifier or Pursuit
        What to save; a classifier must be fitted.
    path : str or path-like
        The folder, which is created where it is missing.

    Raises
    ------
    BlockingIOError
        If another process saves to the folder and does not finish within two minutes.
    """
    from infopursuit.estimator import InformationPursuitClassifier

    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"path={str(folder)!r} is a file; give a folder to write to")
    if not isinstance(thing, (InformationPursuitClassifier, Pursuit)):
        raise TypeError(f"cannot save a {type(thing).__name__}; expected a fitted classifier or a Pursuit")

    pursuit = thing if isinstance(thing, Pursuit) else getattr(thing, "pursuit_", None)
    if pursuit is None:
        raise ValueError("the classifier is not fitted yet; call fit before save")

    classifier = None if isinstance(thing, Pursuit) else _classifier_spec(thing)
    spec, arrays = _pursuit_spec(pursuit)
    payload = safetensors.numpy.save(arrays)
    entry = model_files.tensor_entry(payload)
    manifest: dict[str, Any] = {
        "format": model_files.FORMAT,
        "version": model_files.VERSION,
        "written_by": versions(),
        "provenance": getattr(thing, "provenance_", None) or provenance(pursuit.seed),
        "tensors": entry,
        "classes": _labels_to_spec(pursuit.classes),
        "pursuit": spec,
        "classifier": classifier,
    }
    manifest["sha256"] = model_files.own_checksum(manifest, default=_plain)
    text = json.dumps(manifest, ensure_ascii=False, indent=1, default=_plain)

    model_files.write_model(
        folder,
        manifest=text.encode(),
        tensors=payload,
        tensor_file=str(entry["file"]),
        card=write_model_card(thing).encode(),
    )
    if held := training_data(pursuit):
        logger.warning("%s contains %s", folder, held)


def _pursuit_spec(pursuit: Pursuit[Any]) -> tuple[dict[str, Any], Arrays]:
    queries = pursuit.queries
    if queries.kind not in query_builders.KINDS:
        kinds = ", ".join(sorted(query_builders.KINDS))
        raise TypeError(f"queries of kind {queries.kind!r} cannot be saved; the kinds that can are {kinds}")
    belief, arrays = encode(pursuit.belief, "belief")
    spec: dict[str, Any] = {
        "queries": to_manifest(queries),
        "belief": belief,
        "acquisition": encode(pursuit.acquisition, "acquisition")[0],
        **{name: getattr(pursuit, name) for name in PLAIN},
    }
    for role in PARTS:
        part = getattr(pursuit, role)
        spec[role] = None if part is None else encode(part, role)[0]
    return spec, {name: np.asarray(array, order="C") for name, array in arrays.items()}


def _tuning_to_spec(tuning: Tuning | None) -> dict[str, Any] | None:
    """What was chosen on held-out rows as JSON data; the assessment is an entry of its own."""
    if tuning is None:
        return None
    return {
        "strategy": tuning.strategy,
        "candidates": tuning.candidates,
        "rule": encode(tuning.rule, "stopping")[0],
        "calibrator": asdict(tuning.calibrator),
        "p_value": tuning.p_value,
    }


def _tuning_from_spec(spec: dict[str, Any] | None, assessment: Assessment | None) -> Tuning | None:
    """What `_tuning_to_spec` wrote.

    Earlier versions wrote figures of the rows on which it was chosen. They were too good, and are not read.
    """
    if spec is None:
        return None
    calibrator = spec.get("calibrator") or {"temperature": spec["temperature"]}
    return Tuning(
        strategy=spec["strategy"],
        candidates=spec["candidates"],
        rule=decode(spec["rule"], {}, None),
        calibrator=TemperatureScaling.from_spec(calibrator),
        p_value=spec.get("p_value", 0.0),
        assessment=assessment,
    )


def _assessment_from_spec(spec: dict[str, Any] | None, n_classes: int) -> Assessment | None:
    """What was measured on rows on which nothing was chosen; refused where it is about other classes."""
    if spec is None:
        return None
    assessment = Assessment.from_spec(spec)
    if len(assessment.by_class.recall) != n_classes:
        raise ModelFormatError(f"the assessment is about {len(assessment.by_class.recall)} classes, not {n_classes}")
    return assessment


def _classifier_spec(classifier: InformationPursuitClassifier) -> dict[str, Any]:
    from infopursuit.estimator import LEARNERS

    seed, given, names = classifier.random_state, classifier.stopping, getattr(classifier, "feature_names_in_", None)
    strategy = classifier.strategy
    if hasattr(strategy, "build"):  # settings of one that has a name
        strategy = strategy.kind if getattr(strategy, "kind", None) in LEARNERS else None
    learnt = {name: getattr(classifier, f"{name}_", None) for name in ("calibration", "profile")}
    assessment = getattr(classifier, "assessment_", None)
    return {
        **{name: None if part is None else part.to_spec() for name, part in learnt.items()},
        "stopping": None if isinstance(given, str) else encode(given, "stopping")[0],
        "max_questions": classifier.max_questions,
        "tuning": _tuning_to_spec(getattr(classifier, "tuning_", None)),
        "assessment": None if assessment is None else asdict(assessment),
        "strategy": strategy if isinstance(strategy, str) else None,
        "belief": classifier.belief if isinstance(classifier.belief, str) else None,
        "patience": int(classifier.patience),
        "random_state": int(seed) if isinstance(seed, (int, np.integer)) else None,
        "dtype": None if classifier.dtype is None else str(np.dtype(classifier.dtype)),
        "exact_gains": classifier.exact_gains,
        "time_limit": None if classifier.time_limit is None else float(classifier.time_limit),
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "feature_names_in": None if names is None else [str(name) for name in names],
    }


def _plain(value: Any) -> Any:
    """A number of numpy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be saved")


def _labels_to_spec(classes: Any) -> dict[str, Any]:
    values = [c.item() if isinstance(c, np.generic) else c for c in np.asarray(classes)]
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= set(LABELS.values()):
        found = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"classes of type {found} cannot be saved; use strings, whole numbers or booleans")
    return {"kind": kinds.pop().__name__, "values": values}


# ---- loading --------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], *, functions: Any = None) -> Any:
    """Read what `save` wrote: a classifier, or a pursuit.

    Parameters
    ----------
    path : str or path-like
        The folder. A model that is replaced while it is read is read again.
    functions : dict of str to callable, optional
        The callables of a query set made by ``ip.queries.functions``, which are code and not saved.

    Returns
    -------
    InformationPursuitClassifier or Pursuit
    """
    return from_files(read_model(Path(path)), functions)


def from_files(files: ModelFiles, functions: Any = None) -> Any:
    """Build the classifier or the pursuit of a saved model; ``functions`` as in `load`."""
    part = "pursuit"
    try:
        manifest = _upgraded(files.manifest)
        spec = manifest["pursuit"]

        part = "queries"
        queries = from_manifest(spec["queries"], functions)

        part = "classes"
        classes = _labels_from_spec(manifest["classes"])

        part = "belief"
        belief = decode(spec["belief"], files.tensors, queries)
        model = getattr(belief, "model", None)
        if model is not None and queries.variables != model.variables:
            raise ModelFormatError("the queries and the model are about different variables")

        part = "pursuit"
        learnt = bool((manifest["classifier"] or {}).get("strategy"))
        pursuit: Pursuit[Any] = Pursuit(
            queries,
            belief,
            decode(spec["acquisition"], {}, queries),
            classes=classes,
            **_checked({"learnt": learnt, "label_name": "", **spec}, PLAIN),
            **{role: decode(spec[role], {}, queries) for role in PARTS if spec[role] is not None},
        )

        part = "provenance"
        made_with = check_provenance(manifest["provenance"])
        changed = "; ".join(differences(made_with))
        if changed:
            logger.info("%s was made with %s; its last digits may differ", files.folder, changed)

        part = "classifier"
        if manifest["classifier"] is None:
            return pursuit
        classifier = _classifier(manifest["classifier"], pursuit)
        classifier.provenance_ = made_with
        return classifier
    except model_files.DAMAGE as error:
        if isinstance(error, ValueError) and part == "queries" and str(error).startswith("functions "):
            raise
        raise model_files.damaged(files.folder, part, error) from error


def load_for_command(path: str | os.PathLike[str]) -> InformationPursuitClassifier | Pursuit[Any]:
    """Load a model for a command, which has no functions to give."""
    return from_files_for_command(read_model(Path(path)))


def from_files_for_command(files: ModelFiles, instead: str = "") -> InformationPursuitClassifier | Pursuit[Any]:
    """Build a saved model for a command; ``instead``: what to do where the queries are functions."""
    try:
        thing: InformationPursuitClassifier | Pursuit[Any] = from_files(files)
    except ValueError as error:
        if "functions are not saved" not in str(error):
            raise

        path = files.folder
        reason = f"the queries of {path} are functions, which are code and not saved with it"
        instead = instead or f"its folder has a CARD.md; or from Python: ip.load({str(path)!r}, functions=...)"
        raise ValueError(f"{reason}; {instead}") from None

    return thing


def load_pursuit(path: str | os.PathLike[str]) -> Pursuit[Any]:
    """Load a pursuit for a command."""
    pursuit: Pursuit[Any] = pursuit_of(load_for_command(path))
    return pursuit


def _checked(spec: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Plain fields, refused where they are not what ``fields`` says: the least whole number, or a type; null for None
    among several."""
    for name, expected in fields.items():
        value, kinds = spec[name], expected if isinstance(expected, tuple) else (expected,)
        whole = type(value) is int and any(type(kind) is int and value >= kind for kind in kinds)
        if not whole and type(value) not in kinds and not (value is None and None in kinds):
            names = " or ".join(
                f"a whole number from {k}" if type(k) is int else "null" if k is None else k.__name__ for k in kinds
            )
            raise ModelFormatError(f"{name} is {value!r}; expected {names}")
    return {name: spec[name] for name in fields}


def _classifier(spec: dict[str, Any], pursuit: Pursuit[Any]) -> InformationPursuitClassifier:
    from infopursuit.estimator import InformationPursuitClassifier

    plain = _checked({"max_questions": None, **spec}, PLAIN_OF_CLASSIFIER)
    settings, width = getattr(pursuit.belief, "settings", "auto"), plain.pop("n_features_in")
    plain["strategy"] = pursuit.model if plain["strategy"] is None else plain["strategy"]
    plain["belief"] = settings if plain["belief"] is None else plain["belief"]
    classifier = InformationPursuitClassifier(
        queries=pursuit.queries,
        stopping="auto" if spec["stopping"] is None else decode(spec["stopping"], {}, pursuit.queries),
        noise=pursuit.noise,
        costs=pursuit.costs,
        constraints=pursuit.constraints,
        n_novelty_queries=pursuit.n_novelty_queries,
        **plain,
    )
    classifier.classes_, classifier.queries_ = pursuit.classes, pursuit.queries
    classifier.model_, classifier.pursuit_, classifier.selection_ = pursuit.model, pursuit, []
    classifier.assessment_ = _assessment_from_spec(spec.get("assessment"), len(pursuit.classes))
    classifier.tuning_ = _tuning_from_spec(spec.get("tuning"), classifier.assessment_)
    if spec["calibration"] is not None:
        classifier.calibration_ = _calibration(spec["calibration"], pursuit)
    names = spec["feature_names_in"]
    if width is not None:
        classifier.n_features_in_ = width
    if names is not None:
        if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
            raise ModelFormatError(f"feature_names_in is not a list of {width} names")
        classifier.feature_names_in_ = np.array(names, dtype=object)
    if spec["profile"] is not None:  # models that were saved before there were profiles have none
        classifier.profile_ = AnswerProfile.from_spec(spec["profile"], pursuit.queries.variables, len(pursuit.classes))
    return classifier


def _calibration(spec: dict[str, Any], pursuit: Pursuit[Any]) -> CalibrationReport:
    """What was chosen, which must be what the pursuit does."""
    found = CalibrationReport.from_spec(spec)
    rule = Confidence(found.epsilon) | MaxQueries(found.max_queries)
    if (found.calibrator, rule, found.patience) != (pursuit.calibrator, pursuit.stopping, pursuit.patience):
        raise ModelFormatError("the calibration and the pursuit do not agree about when to stop")
    for each in found.sets:
        for rows in (each.after, each.anytime):
            if len(rows) not in (1, len(pursuit.classes)):
                raise ModelFormatError(f"a prediction set has {len(rows)} rows; expected 1 or {len(pursuit.classes)}")
    return found


def _labels_from_spec(spec: dict[str, Any]) -> Any:
    kind, values = LABELS[spec["kind"]], spec["values"]
    listed = isinstance(values, list) and all(type(value) is kind for value in values)
    if not listed or len(set(values)) != len(values):
        raise ModelFormatError(f"the classes are not a list of different values of type {spec['kind']}")
    return np.array(values)


# ---- versions 1 and 2 -----------------------------------------------------------------------------------------------


def _upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest of version 1 or 2 as version 3 has it."""
    if manifest["version"] >= 3:
        return manifest
    old, given = manifest["pursuit"], manifest["classifier"]
    posterior = old.get("posterior", "exact")
    settings = dict(posterior) if isinstance(posterior, dict) else {}
    kind = settings.pop("kind", posterior)
    if "least_ess" in settings:
        settings["min_ess"] = settings.pop("least_ess")
    terms = old.get("terms")
    belief = {"kind": "pruned" if kind == "bank" else kind, "model": manifest["model"], "settings": settings}
    pursuit = {
        "queries": manifest["queries"],
        "belief": {**belief, "seed": old["seed"], "noisy": "reliability" in old},
        "acquisition": {
            "kind": "mutual_information",
            "exact": _checked(old, {"exact_gains": bool})["exact_gains"],
            **{name: old[name] for name in ("n_states", "n_screened", "seed")},
            "memory_limit": old["budget"],
        },
        "patience": old["patience"],
        "n_novelty_queries": old.get("checks", 0),
        "seed": old["seed"],
        "memory_limit": old["budget"],
        "stopping": _old_rule(old["stopping"]),
        "noise": {"kind": "answer_noise", **old["reliability"]} if "reliability" in old else None,
        "costs": {"kind": "costs", "cost": terms["cost"]} if terms and terms["cost"] else None,
        "constraints": {"kind": "constraints", "requires": terms["requires"], "forbidden": terms["forbidden"]}
        if terms
        else None,
        "calibrator": {"kind": "temperature_scaling", **old["temper"]} if "temper" in old else None,
        "novelty": {"kind": "novelty_reference", **old["reference"]} if "reference" in old else None,
    }
    classifier = None
    if given is not None:
        calibrated = "calibration" in given
        stopping = given.get("stopping") if calibrated else old["stopping"] if given["stopping_given"] else None
        names = ("patience", "random_state", "dtype", "exact_gains", "n_features_in", "feature_names_in")
        classifier = {
            **{name: given[name] for name in names},
            "calibration": given.get("calibration"),
            "stopping": None if stopping is None else _old_rule(stopping),
            "strategy": given["model"],
            "belief": {"bank": "pruned"}.get(given["posterior"], given["posterior"]),
            "time_limit": old.get("seconds"),
            "profile": given.get("profile"),
        }
    made = manifest.get("made_with", manifest.get("written_by", {}))
    return {**manifest, "pursuit": pursuit, "classifier": classifier, "provenance": made}


def _old_rule(spec: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in spec.items() if name != "rule"}
    if "members" in rest:
        rest["members"] = [_old_rule(member) for member in rest["members"]]
    return {"kind": spec["rule"], **rest}
