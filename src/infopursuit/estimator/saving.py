"""Write a model without pickle: a folder with a JSON manifest and one safetensors file."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from infopursuit.estimator.candidates import LEARNERS
from infopursuit.estimator.card import training_data, write_model_card
from infopursuit.estimator.tuning import Tuning
from infopursuit.pursuit.loop import Pursuit
from infopursuit.saving import files as model_files
from infopursuit.saving.provenance import provenance, versions
from infopursuit.saving.pursuits import labels_to_spec, pursuit_spec
from infopursuit.saving.registry import encode
from infopursuit.strategies.strategy import Strategy

if TYPE_CHECKING:
    from infopursuit.estimator.classifier import InformationPursuitClassifier

logger = logging.getLogger(__name__)


def write_folder(
    path: str | os.PathLike[str],
    pursuit: Pursuit[Any],
    classifier: InformationPursuitClassifier | None = None,
) -> None:
    """Write a pursuit, and the fitted classifier that it belongs to, to a folder.

    Parameters
    ----------
    path : str or path-like
        The folder, which is created where it is missing.
    pursuit : Pursuit
    classifier : InformationPursuitClassifier, optional
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"path={str(folder)!r} is a file; give a folder to write to")

    spec, arrays = pursuit_spec(pursuit)
    payload = safetensors.numpy.save(arrays)
    entry = model_files.tensor_entry(payload)
    made_with = None if classifier is None else classifier.provenance_
    manifest: dict[str, Any] = {
        "format": model_files.FORMAT,
        "version": model_files.VERSION,
        "written_by": versions(),
        "provenance": made_with or provenance(pursuit.seed),
        "tensors": entry,
        "classes": labels_to_spec(pursuit.classes),
        "pursuit": spec,
        "classifier": None if classifier is None else _classifier_spec(classifier),
    }
    manifest["sha256"] = model_files.own_checksum(manifest, default=_plain)
    text = json.dumps(manifest, ensure_ascii=False, indent=1, default=_plain)

    model_files.write_model(
        folder,
        manifest=text.encode(),
        tensors=payload,
        tensor_file=str(entry["file"]),
        card=write_model_card(pursuit if classifier is None else classifier).encode(),
    )
    held = training_data(pursuit)
    if held:
        logger.warning("%s contains %s", folder, held)


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


def _classifier_spec(classifier: InformationPursuitClassifier) -> dict[str, Any]:
    seed = classifier.random_state
    given = classifier.stopping
    names = getattr(classifier, "feature_names_in_", None)
    strategy = classifier.strategy
    if isinstance(strategy, Strategy):  # settings of one that has a name
        strategy = strategy.kind if strategy.kind in LEARNERS else None
    calibration = getattr(classifier, "calibration_", None)
    class_count = getattr(classifier, "class_count_", None)
    assessment = getattr(classifier, "assessment_", None)
    return {
        "calibration": None if calibration is None else calibration.to_spec(),
        "class_count": None if class_count is None else class_count.tolist(),
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
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "feature_names_in": None if names is None else [str(name) for name in names],
    }


def _plain(value: Any) -> Any:
    """A number of numpy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be saved")
