"""`save` and `load`: models as folders of JSON and safetensors, without pickle.

Loading runs no code from the folder, and believes nothing that it has not checked.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from infopursuit.estimator.saving import write_folder
from infopursuit.saving.pursuits import PARTS, PLAIN, checked, labels_from_spec
from infopursuit.saving.registry import decode
from infopursuit.support.types import FloatArray

if TYPE_CHECKING:  # it needs scikit-learn, which takes longer to import than all the rest; a pursuit does without
    from infopursuit.estimator.classifier import InformationPursuitClassifier

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.calibration.temperature import CalibrationReport, TemperatureScaling
from infopursuit.estimator.assessment import Assessment
from infopursuit.estimator.tuning import Tuning
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.queries.queryset import from_manifest
from infopursuit.saving import files as model_files
from infopursuit.saving.files import ModelFiles, read_model
from infopursuit.saving.provenance import check_provenance, differences
from infopursuit.support.checks import pursuit_of
from infopursuit.support.types import ModelFormatError

logger = logging.getLogger(__name__)

PLAIN_OF_CLASSIFIER = {
    "strategy": (str, None),
    "belief": (str, None),
    "patience": 0,
    "random_state": (0, None),
    "dtype": (str, None),
    "exact_gains": (bool, None),
    "max_questions": (1, None),
    "n_features_in": (1, None),
}


def _tuning_from_spec(spec: dict[str, Any] | None, assessment: Assessment | None) -> Tuning | None:
    """What `saving` wrote of the tuning."""
    if spec is None:
        return None
    return Tuning(
        strategy=spec["strategy"],
        candidates=spec["candidates"],
        rule=decode(spec["rule"], {}, None),
        calibrator=TemperatureScaling.from_spec(spec["calibrator"]),
        p_value=spec["p_value"],
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
    if isinstance(thing, Pursuit):
        write_folder(path, thing)
        return

    from infopursuit.estimator.classifier import InformationPursuitClassifier

    if not isinstance(thing, InformationPursuitClassifier):
        raise TypeError(f"cannot save a {type(thing).__name__}; expected a fitted classifier or a Pursuit")
    thing.save(path)


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
        manifest = files.manifest
        spec = manifest["pursuit"]

        part = "queries"
        queries = from_manifest(spec["queries"], functions)

        part = "classes"
        classes = labels_from_spec(manifest["classes"])

        part = "belief"
        belief = decode(spec["belief"], files.tensors, queries)
        model = belief.model
        if model is not None and queries.variables != model.variables:
            raise ModelFormatError("the queries and the model are about different variables")

        part = "pursuit"
        pursuit: Pursuit[Any] = Pursuit(
            queries,
            belief,
            decode(spec["acquisition"], {}, queries),
            classes=classes,
            **checked(spec, PLAIN),
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


def _classifier(spec: dict[str, Any], pursuit: Pursuit[Any]) -> InformationPursuitClassifier:
    from infopursuit.estimator.classifier import InformationPursuitClassifier

    plain = checked(spec, PLAIN_OF_CLASSIFIER)
    settings = pursuit.belief.settings or "auto"
    width = plain.pop("n_features_in")
    plain["strategy"] = pursuit.model if plain["strategy"] is None else plain["strategy"]
    plain["belief"] = settings if plain["belief"] is None else plain["belief"]
    classifier = InformationPursuitClassifier(
        queries=pursuit.queries,
        stopping="auto" if spec["stopping"] is None else decode(spec["stopping"], {}, pursuit.queries),
        noise=pursuit.noise,
        costs=pursuit.costs,
        constraints=pursuit.constraints,
        **plain,
    )
    classifier.classes_, classifier.queries_ = pursuit.classes, pursuit.queries
    classifier.model_, classifier.pursuit_, classifier.selection_ = pursuit.model, pursuit, []
    classifier.assessment_ = _assessment_from_spec(spec["assessment"], len(pursuit.classes))
    classifier.tuning_ = _tuning_from_spec(spec["tuning"], classifier.assessment_)
    if spec["calibration"] is not None:
        classifier.calibration_ = _calibration(spec["calibration"], pursuit)
    names = spec["feature_names_in"]
    if width is not None:
        classifier.n_features_in_ = width
    if names is not None:
        if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
            raise ModelFormatError(f"feature_names_in is not a list of {width} names")
        classifier.feature_names_in_ = np.array(names, dtype=object)
    if spec["class_count"] is not None:
        classifier.class_count_ = _class_count(spec["class_count"], len(pursuit.classes))
    return classifier


def _class_count(counts: Any, n_classes: int) -> FloatArray:
    """The weight of the training rows of each class, refused where it cannot be."""
    valid = isinstance(counts, list) and len(counts) == n_classes
    if not valid or not all(type(n) in (int, float) and 0 <= n < math.inf for n in counts) or not sum(counts) > 0:
        raise ModelFormatError(f"class_count is not a list of {n_classes} numbers, none negative and not all 0")
    return np.array(counts, dtype=np.float64)


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
