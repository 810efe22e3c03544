"""Which models come along, and how they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit import storage
from infopursuit.shipped.animals import load_animals
from infopursuit.shipped.mnist import FILE as PICTURES
from infopursuit.shipped.mnist import load_mnist

FOLDER = Path(__file__).parent
"""Where they lie: the animals as a table, the others as ``python -m benchmarks.make_shipped`` writes them."""


@dataclass(frozen=True)
class Shipped:
    """A model that comes along: what it is in one sentence, how it is read, and the files that decide what it is."""

    summary: str
    read: Callable[[], Any]
    files: tuple[str, ...]


MODELS = {
    "animals": Shipped(
        "Think of an animal and answer yes or no: about a hundred animals, told apart by questions anybody can answer.",
        lambda: load_animals(FOLDER),
        ("animals.csv", "animals-questions.csv"),
    ),
    "digits": Shipped(
        "Handwritten digits of 8 x 8 pixels, told apart by asking what is in 3 x 3 patches of the image.",
        lambda: storage.load(FOLDER / "digits"),
        (f"digits/{storage.MANIFEST}",),
    ),
    "mnist": Shipped(
        "Handwritten digits of 28 x 28 pixels, as a trained VAE draws them, told apart by asking about 3 x 3 patches.",
        lambda: load_mnist(FOLDER / "mnist"),
        (f"mnist/{PICTURES}",),
    ),
}


def names() -> tuple[str, ...]:
    """The models that come along."""
    return tuple(MODELS)


def is_shipped(name: Any) -> bool:
    """Whether a model of this name comes along."""
    return isinstance(name, str) and name in MODELS


def summary(name: str) -> str:
    """What a model is for, in one sentence."""
    return _find(name).summary


def fingerprint(name: str) -> str:
    """The sha256 of the files that decide what a model is."""
    return hashlib.sha256(b"".join((FOLDER / file).read_bytes() for file in _find(name).files)).hexdigest()


def load(name: str) -> Any:
    """A model that comes along: a fitted classifier or a `Pursuit`, as `infopursuit.load` gives it. Read anew each
    time."""
    return _find(name).read()


def open_model(name_or_path: Any) -> Any:
    """A model that comes along, by its name, or one that was saved, by its folder.

    A folder that has the name of a model that comes along is meant by writing it as a path, such as ``./animals``.
    """
    if is_shipped(name_or_path):
        return load(name_or_path)
    folder = Path(name_or_path)
    if not (folder / storage.MANIFEST).is_file():
        wrong = "a folder without a saved model" if folder.is_dir() else "a file" if folder.exists() else "not there"
        raise FileNotFoundError(
            f"model {str(name_or_path)!r} is {wrong}; give the name of one that comes along ({', '.join(MODELS)}), or "
            f"a folder that save() wrote"
        )
    return storage.load(folder)


def _find(name: str) -> Shipped:
    if name not in MODELS:
        raise ValueError(f"name={name!r} is no model that comes along; those are {', '.join(MODELS)}")
    return MODELS[name]
