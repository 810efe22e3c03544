"""Save and load without pickle: a folder with a JSON manifest and one safetensors file.

The tensors are written first, under a name that contains their checksum; then the manifest is replaced in one step. A
crash at any moment leaves the old manifest with the old tensors. Loading runs no code from the folder, and believes
nothing that it has not checked.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch

from infopursuit import model_files
from infopursuit import queries as query_builders
from infopursuit.answer_profile import AnswerProfile
from infopursuit.answerers.reliability import Reliability
from infopursuit.engine import Pursuit, check_count
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.files import sweep_leftovers, write_atomically
from infopursuit.model_card import training_data, write_model_card
from infopursuit.model_files import FORMAT, VERSION, damaged, own_checksum, read_manifest, read_tensors
from infopursuit.models.finite import FiniteModel
from infopursuit.models.storing import model_from_parts, model_to_parts
from infopursuit.models.vae import VAE
from infopursuit.posteriors import Bank
from infopursuit.posteriors.storing import posterior_from_spec, posterior_to_spec
from infopursuit.queries.wording import words_from_spec, words_to_spec
from infopursuit.stopping import Confidence, MaxQueries, Rule, rule_from_spec
from infopursuit.temper import Temper
from infopursuit.terms import Terms
from infopursuit.trust.calibrate import Calibration
from infopursuit.trust.reference import Reference
from infopursuit.types import DamagedModel
from infopursuit.versions import check_made_with, made_with, say_differences, versions

logger = logging.getLogger(__name__)

MANIFEST, CARD = model_files.MANIFEST, "CARD.md"


def save(thing: InformationPursuitClassifier | Pursuit, path: Any) -> None:
    """Write a fitted classifier or a pursuit to a folder, which is made where it is missing."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"path={str(folder)!r} is a file; give a folder to write to")
    if isinstance(thing, InformationPursuitClassifier):
        if not hasattr(thing, "pursuit_"):
            raise ValueError("the classifier is not fitted yet; call fit before save")
        pursuit, extra = thing.pursuit_, _classifier_spec(thing)
    elif isinstance(thing, Pursuit):
        pursuit, extra = thing, None
    else:
        raise TypeError(f"cannot save a {type(thing).__name__}; expected a fitted classifier or a Pursuit")
    if pursuit.queries.kind not in query_builders.KINDS:
        raise ValueError(
            f"queries of kind {pursuit.queries.kind!r} could not be read again; the kinds that can are "
            f"{', '.join(sorted(query_builders.KINDS))}"
        )
    spec, tensors = model_to_parts(pursuit.model)
    payload = safetensors.torch.save(tensors)
    digest = hashlib.sha256(payload).hexdigest()
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION if _is_new(pursuit) else 1,
        "written_by": versions(),
        "made_with": getattr(thing, "made_with_", None) or made_with(pursuit.seed),
        "tensors": {"file": f"tensors-{digest[:16]}.safetensors", "sha256": digest, "bytes": len(payload)},
        "classes": _labels_to_spec(pursuit.classes),
        "queries": {"kind": pursuit.queries.kind, "spec": pursuit.queries.to_spec(), **words_to_spec(pursuit.queries)},
        "model": spec,
        "pursuit": {
            "stopping": pursuit.stopping.to_spec(),
            "patience": pursuit.patience,
            "seed": pursuit.seed,
            **asdict(pursuit.work),
            "budget": pursuit.budget,
            **_posterior_spec(pursuit),
            **({} if pursuit.reliability is None else {"reliability": pursuit.reliability.to_spec()}),
            **_terms_spec(pursuit),
            **({} if pursuit.temper is None else {"temper": pursuit.temper.to_spec()}),
            **_likeness_spec(pursuit),
        },
        "classifier": extra,
    }
    manifest["sha256"] = own_checksum(manifest, default=_plain)
    folder.mkdir(parents=True, exist_ok=True)
    sweep_leftovers(folder)
    write_atomically(folder / manifest["tensors"]["file"], payload)
    write_atomically(folder / CARD, write_model_card(thing).encode())
    write_atomically(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1, default=_plain).encode())
    for old in folder.glob("tensors-*.safetensors"):
        if old.name != manifest["tensors"]["file"]:
            old.unlink(missing_ok=True)
    if spec["contains_training_data"]:
        logger.warning("%s contains %s", folder, training_data(pursuit))


def load(path: Any, *, functions: Any = None, device: Any = None) -> Any:
    """Read what `save` wrote: a classifier, or a pursuit.

    ``functions``: the callables of a query set made by ``ip.queries.functions``, which are code and therefore not
    saved.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    part = "tensors"
    try:
        tensors = read_tensors(folder, manifest["tensors"])
        part = "model"
        model = model_from_parts(manifest["model"], tensors)
        part = "queries"
        queries = query_builders.from_spec(manifest["queries"]["kind"], manifest["queries"]["spec"], functions)
        queries = words_from_spec(queries, manifest["queries"].get("wording", {}))
        part = "classes"
        classes = _labels_from_spec(manifest["classes"])
        part = "pursuit"
        pursuit = Pursuit(
            model if device is None else model.to(device),
            queries,
            posterior=_posterior(manifest["pursuit"], model),
            stopping=rule_from_spec(manifest["pursuit"]["stopping"]),
            classes=classes,
            reliability=_reliability(manifest["pursuit"]),
            checks=check_count(manifest["pursuit"].get("checks", 0)),
            **_settings(manifest["pursuit"]),
        )
        pursuit.seconds = _seconds(manifest["pursuit"])  # the work was fitted to it when the pursuit was built
        if "temper" in manifest["pursuit"]:
            pursuit = pursuit.with_temper(Temper.from_spec(manifest["pursuit"]["temper"]))
        if "reference" in manifest["pursuit"]:
            pursuit = pursuit.with_reference(Reference.from_spec(manifest["pursuit"]["reference"]))
        part = "made_with"
        made = check_made_with(manifest.get("made_with", manifest.get("written_by", {})))
        say_differences(folder, made)
        part = "classifier"
        if manifest["classifier"] is None:
            return pursuit
        classifier = _classifier(manifest["classifier"], pursuit)
        classifier.made_with_ = made
        return classifier
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RuntimeError) as error:
        asked = manifest.get("queries")
        named = isinstance(asked, dict) and asked.get("kind") == "functions"
        if named and isinstance(error, ValueError) and "functions" in str(error):
            raise
        raise damaged(folder, part, error) from error


# ---- reading
# -----------------------------------------------------------------------------------------------------------


def load_for_command(path: Any, instead: str) -> InformationPursuitClassifier | Pursuit:
    """What is in a folder, for a command, which has no functions to give; ``instead``: what to do from Python where
    the queries are functions."""
    try:
        thing: InformationPursuitClassifier | Pursuit = load(path)
    except ValueError as error:
        if "functions is missing" not in str(error):
            raise
        raise ValueError(
            f"the queries of {path} are functions, which are code and not saved with it; {instead}"
        ) from None
    return thing


def load_pursuit(path: Any, instead: str) -> Pursuit:
    """The pursuit in a folder, for a command; see `load_for_command`."""
    thing = load_for_command(path, instead)
    return thing if isinstance(thing, Pursuit) else thing.pursuit_


def _settings(spec: dict[str, Any]) -> dict[str, Any]:
    """The options of a pursuit, of the right kinds."""
    if type(spec["exact_gains"]) is not bool:
        raise DamagedModel(f"exact_gains is {spec['exact_gains']!r}; expected true or false")
    for name, least in (("patience", 0), ("seed", 0), ("n_states", 1), ("n_screened", 1), ("budget", 1)):
        if type(spec[name]) is not int or spec[name] < least:
            raise DamagedModel(f"{name} is {spec[name]!r}; expected a whole number from {least} on")
    found = {name: spec[name] for name in ("exact_gains", "patience", "seed", "n_states", "n_screened", "budget")}
    return {**found, "terms": Terms.from_spec(spec["terms"])} if "terms" in spec else found


def _seconds(spec: dict[str, Any]) -> float | None:
    seconds = spec.get("seconds")
    if seconds is not None and (type(seconds) is not float or not 0 < seconds < float("inf")):
        raise DamagedModel(f"seconds is {seconds!r}; expected a number above 0")
    return seconds


def _posterior(spec: dict[str, Any], model: FiniteModel | VAE) -> Any:
    """The settings of the sampler that a VAE has; folders with finite models have none."""
    return posterior_from_spec(spec["posterior"], model) if isinstance(model, VAE) else spec.get("posterior", "exact")


def _is_new(pursuit: Pursuit) -> bool:
    """Whether it has what readers of format 1 would pass over, and then ask, weigh or stop otherwise."""
    ways = (pursuit.temper, pursuit.reliability, pursuit.terms or None, pursuit.checks or None)
    return any(way is not None for way in ways)


def _reliability(spec: dict[str, Any]) -> Reliability | None:
    """How often answers are right, where somebody has said so."""
    return Reliability.from_spec(spec["reliability"]) if "reliability" in spec else None


def _classifier(spec: dict[str, Any], pursuit: Pursuit) -> InformationPursuitClassifier:
    posterior = spec["posterior"]
    if posterior is not None and not isinstance(posterior, str):
        raise DamagedModel(f"posterior is {posterior!r}; expected the name of one, or null for the pursuit's")
    classifier = InformationPursuitClassifier(
        queries=pursuit.queries,
        model=spec["model"] if spec["model"] is not None else pursuit.model,
        posterior=pursuit.posterior_settings if posterior is None else posterior,
        stopping=_given_stopping(spec, pursuit),
        reliability=pursuit.reliability,
        terms=pursuit.terms if pursuit.terms else None,
        seconds=pursuit.seconds,
        checks=pursuit.checks,
        **{name: spec[name] for name in ("patience", "random_state", "dtype", "exact_gains")},
    )
    classifier.classes_, classifier.queries_ = pursuit.classes, pursuit.queries
    classifier.model_, classifier.pursuit_, classifier.selection_ = pursuit.model, pursuit, []
    if "calibration" in spec:
        classifier.calibration_ = _calibration(spec["calibration"], pursuit)
    width, names = spec["n_features_in"], spec["feature_names_in"]
    if width is not None:
        if type(width) is not int or width < 1:
            raise DamagedModel(f"n_features_in is {width!r}; expected a whole number from 1 on")
        classifier.n_features_in_ = width
    if names is not None:
        if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
            raise DamagedModel(f"feature_names_in is not a list of {width} names")
        classifier.feature_names_in_ = np.array(names, dtype=object)
    if "profile" in spec:  # models that were saved before there were profiles have none
        classifier.profile_ = AnswerProfile.from_spec(spec["profile"], pursuit.queries.atoms, len(pursuit.classes))
    return classifier


def _given_stopping(spec: dict[str, Any], pursuit: Pursuit) -> Rule | None:
    """The rule that the classifier was made with; calibration has put another into its pursuit."""
    if not spec["stopping_given"]:
        return None
    return rule_from_spec(spec["stopping"]) if "calibration" in spec else pursuit.stopping


def _calibration(spec: dict[str, Any], pursuit: Pursuit) -> Calibration:
    """What was chosen, which must be what the pursuit does."""
    found = Calibration.from_spec(spec)
    rule = Confidence(found.epsilon) | MaxQueries(found.budget)
    if (found.temper, rule, found.patience) != (pursuit.temper, pursuit.stopping, pursuit.patience):
        raise DamagedModel("the calibration and the pursuit do not agree about when to stop")
    for each in found.sets:
        for rows in (each.after, each.anytime):
            if len(rows) not in (1, len(pursuit.classes)):
                raise DamagedModel(f"a prediction set has {len(rows)} rows; expected 1 or {len(pursuit.classes)}")
    return found


# ---- writing
# -----------------------------------------------------------------------------------------------------------


def _classifier_spec(classifier: InformationPursuitClassifier) -> dict[str, Any]:
    seed = classifier.random_state
    calibrated: dict[str, Any] = {}
    if hasattr(classifier, "calibration_"):
        given = classifier.stopping
        calibrated = {
            "calibration": classifier.calibration_.to_spec(),
            "stopping": None if given is None else given.to_spec(),
        }
    return {
        **calibrated,
        "model": classifier.model if isinstance(classifier.model, str) else None,
        "posterior": classifier.posterior if isinstance(classifier.posterior, str) else None,
        "stopping_given": classifier.stopping is not None,
        "patience": int(classifier.patience),
        "random_state": int(seed) if isinstance(seed, (int, np.integer)) else None,
        "dtype": None if classifier.dtype is None else str(classifier.dtype).removeprefix("torch."),
        "exact_gains": classifier.exact_gains,
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "feature_names_in": [str(n) for n in classifier.feature_names_in_]
        if hasattr(classifier, "feature_names_in_")
        else None,
        **({"profile": classifier.profile_.to_spec()} if hasattr(classifier, "profile_") else {}),
    }


def _terms_spec(pursuit: Pursuit) -> dict[str, Any]:
    """The terms, if there are any, and the limit of time that the work was fitted to."""
    terms = {"terms": pursuit.terms.to_spec()} if pursuit.terms else {}
    return terms if pursuit.seconds is None else {**terms, "seconds": float(pursuit.seconds)}


def _posterior_spec(pursuit: Pursuit) -> dict[str, Any]:
    model, settings = pursuit.model, pursuit.posterior_settings
    if isinstance(settings, Bank):
        return {"posterior": Bank.kind}
    return {"posterior": posterior_to_spec(settings, model)} if isinstance(model, VAE) and settings is not None else {}


def _likeness_spec(pursuit: Pursuit) -> dict[str, Any]:
    """Checks and what is usual, where there is something to say."""
    spec: dict[str, Any] = {"checks": pursuit.checks} if pursuit.checks else {}
    return {**spec, "reference": pursuit.reference.to_spec()} if isinstance(pursuit.reference, Reference) else spec


def _plain(value: Any) -> Any:
    """A number of numpy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be saved")


def _labels_to_spec(classes: Any) -> dict[str, Any]:
    values = [c.item() if isinstance(c, np.generic) else c for c in np.asarray(classes)]
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= {int, str, bool, float}:
        raise ValueError(
            f"classes of type {sorted(k.__name__ for k in kinds)} cannot be saved; "
            f"use strings, whole numbers or booleans"
        )
    return {"kind": kinds.pop().__name__, "values": values}


def _labels_from_spec(spec: dict[str, Any]) -> Any:
    kind = {"int": int, "str": str, "bool": bool, "float": float}[spec["kind"]]
    values = spec["values"]
    if (
        not isinstance(values, list)
        or not all(type(value) is kind for value in values)
        or len(set(values)) != len(values)
    ):
        raise DamagedModel(f"the classes are not a list of different values of type {spec['kind']}")
    return np.array(values)
