"""What the kill harness kills: trainings, reproductions, explanations and the saving of models, all on the digits that
scikit-learn carries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.vae_files import save_vae
from infopursuit import datasets, queries
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import load, save
from infopursuit.models.networks.architectures import MLPArchitecture
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.models.networks.training import Training, train
from infopursuit.pursuit.stopping import Confidence
from infopursuit.support.files import write_atomically

TIMES = ("machine", "seconds", "when", "took")
"""Entries of results that tell when and where, and may differ."""


@dataclass(frozen=True)
class Task:
    """Something that may be killed.

    command: what to run, for a folder. result: what must be the same after any number of kills. endless: it never ends
    by itself, and is looked at after every kill. until: the share of an undisturbed run after which it is killed at the
    latest; a small one makes for many kills before the end. writes: it writes files itself, and may be killed then.
    """

    name: str
    about: str
    command: Callable[[Path, Path], list[str]]
    result: Callable[[Path], Any]
    endless: bool = False
    until: float = 1 / 6
    writes: bool = True


def prepare(folder: Path) -> None:
    """What the tasks start from: a saved model."""
    data = datasets.digits()
    questions = queries.patches((8, 8), size=2, threshold=8)
    for name, stopping in (("model", Confidence(0.05)), ("other", Confidence(0.2))):
        clf = InformationPursuitClassifier(questions, "table", stopping=stopping, random_state=0)
        save(clf.fit(data.x_train, data.y_train), folder / name)


# ---- tasks of its own -----------------------------------------------------------------------------------------------


def train_digits(folder: str) -> None:
    """Train a small VAE, going on from its checkpoint if there is one."""
    data = datasets.digits()
    questions = queries.patches((8, 8), size=2, threshold=8)
    values = questions.observe(data.x_train)
    model = VAE([2] * 64, np.full(10, 0.1), MLPArchitecture((64, 64)), latent_dim=6)
    settings = Training(epochs=60, batch_size=64, patience=60, checkpoint_every=0.2)
    model, history = train(model, values, data.y_train, settings, checkpoint=Path(folder) / "checkpoint")
    save_vae(model, Path(folder) / "vae.safetensors")
    told = [[epoch.epoch, epoch.train_loss, epoch.validation_loss, epoch.validation_accuracy] for epoch in history]
    write_atomically(Path(folder) / "history.json", json.dumps(told).encode())


def save_forever(folder: str) -> None:
    """Save one model and then another in the same place, again and again."""
    one, other = (load(Path(folder).parent / name) for name in ("model", "other"))
    while True:
        for each in (one, other):
            save(each, Path(folder) / "saved")


OWN: dict[str, Callable[[str], None]] = {"train": train_digits, "save": save_forever}


# ---- what they come to ----------------------------------------------------------------------------------------------


def _bytes(*names: str) -> Callable[[Path], dict[str, str]]:
    """Checksums of files, and of all files of folders."""

    def found(folder: Path) -> dict[str, str]:
        files = [file for name in names for file in sorted([folder / name, *(folder / name).rglob("*")])]
        return {
            file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
            if file.is_file()
        }

    return found


def _reproduced(folder: Path) -> Any:
    return _timeless(json.loads((folder / "calibration-digits.json").read_text()))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in TIMES}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


def _loads(folder: Path) -> bool:
    """Whether the model that is being saved is one of the two, whole; one of them was there before."""
    clf = load(folder / "saved")
    x = datasets.digits().x_test[:20]
    found = clf.explain(x).queries.tolist()
    return any(found == load(folder.parent / name).explain(x).queries.tolist() for name in ("model", "other"))


TASKS = (
    Task(
        "training",
        "a VAE of the digits, 60 epochs, a checkpoint five times a second",
        lambda made, folder: ["task", "train", str(folder)],
        _bytes("vae.safetensors", "history.json"),
    ),
    Task(
        "reproduction",
        "`python -m benchmarks.reproduce calibration-digits`",
        lambda made, folder: ["reproduce", "calibration-digits", "--out", str(folder)],
        _reproduced,
    ),
    Task(
        "explanation",
        "`infopursuit explain digits`, 360 inputs in 36 parts",
        lambda made, folder: [
            "explain", "digits", "--model", str(made / "model"), "--out", str(folder), "--part", "10",
        ],
        _bytes("traces.parquet", "traces.jsonl"),
    ),
    Task(
        "saving",
        "one model saved over another, again and again; what is there must load and be one of the two",
        lambda made, folder: ["task", "save", str(folder)],
        _loads,
        endless=True,
    ),
)  # fmt: skip

_LOCAL = next(task for task in TASKS if task.name == "explanation")
DRIVERS = (
    _LOCAL,
    Task(
        "explanation on Ray",
        "the same on two workers of Ray, whose driver is killed",
        lambda made, folder: [*_LOCAL.command(made, folder), "--engine", "ray", "--workers", "2"],
        _LOCAL.result,
        until=1.0,
        writes=False,
    ),
)
"""Jobs whose driver is killed, in one process and on Ray."""
