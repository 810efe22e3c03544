"""Shipped models: everything can be tried at once, without data and without the network.

>>> from infopursuit.app import shipped
>>> shipped.names()
('animals', 'tumours', 'digits', 'mnist')

``animals``: ``animals.csv`` has a row for each animal and a column for each question; a cell is *yes*, *no* or
*sometimes*. It was written by hand, from common knowledge. The model is naive Bayes: *sometimes* is a probability of
one half, *yes* and *no* are wrong with probability `ERROR`. ``tumours``: a saved classifier of some columns of
scikit-learn's breast cancer data, for demonstration. ``digits``: a saved classifier of scikit-learn's digits.
``mnist``: samples of a VAE, decoded beforehand and stored in eight shades of grey, are the latent states of a finite
model; they are blurred when they are read, since a decoder is overconfident about edges. The last three
are written by ``benchmarks/make_shipped.py``.
"""

from __future__ import annotations

import csv
import hashlib
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from infopursuit import queries
from infopursuit.estimator import storage
from infopursuit.models.table import TableModel
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.saving import files as model_files
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.lazy import is_installed
from infopursuit.support.types import FloatArray, ModelFormatError

__all__ = ["fingerprint", "is_shipped", "is_usable", "load", "names", "open_model", "summary", "tumours", "version"]

FOLDER = Path(__file__).parent
VERSION_DIGITS = 12

# animals
TABLE, WORDING = "animals.csv", "animals-questions.csv"
CELLS = {"yes": 1.0, "no": 0.0, "sometimes": 0.5}
ERROR = 0.05
"""Probability that an answer differs from what the table of animals states."""

# tumours
TUMOUR_COLUMNS = {
    "mean radius": "radius", "mean texture": "texture", "mean smoothness": "smoothness", "mean symmetry": "symmetry",
    "mean compactness": "compactness", "mean concavity": "concavity", "radius error": "spread of the radius",
    "worst texture": "highest texture", "worst smoothness": "highest smoothness",
}  # fmt: skip

# mnist
SAMPLES = "pictures.safetensors"
SHAPE, N_CLASSES, N_SAMPLES, SHADES = (28, 28), 10, 3000, 8
THRESHOLD = 127.5
"""A pixel above it is lit; pixels go from 0 to 255."""


# ---- catalogue ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shipped:
    """A shipped model: one sentence, how it is read, the files that define it, and optional packages that it needs."""

    summary: str
    read: Callable[[], Any]
    files: tuple[str, ...]
    needs: tuple[str, ...] = ()


MODELS = {
    "animals": Shipped(
        "Think of an animal and answer yes or no: about a hundred animals, told apart by questions anybody can answer.",
        lambda: load_animals(),
        (TABLE, WORDING),
    ),
    "tumours": Shipped(
        "Breast tumours, described by measurements of their cell nuclei. A demonstration on scikit-learn's data: not "
        "medical advice.",
        lambda: storage.load(FOLDER / "tumours"),
        (f"tumours/{model_files.MANIFEST}",),
    ),
    "digits": Shipped(
        "Handwritten digits of 8 x 8 pixels, told apart by asking what is in 3 x 3 patches of the image.",
        lambda: storage.load(FOLDER / "digits"),
        (f"digits/{model_files.MANIFEST}",),
    ),
    "mnist": Shipped(
        "Handwritten digits of 28 x 28 pixels, as a trained VAE draws them, told apart by asking about 3 x 3 patches.",
        lambda: load_mnist(),
        (f"mnist/{SAMPLES}",),
        needs=("numba",),
    ),
}


def names() -> tuple[str, ...]:
    """The names of the shipped models."""
    return tuple(MODELS)


def is_shipped(name: Any) -> bool:
    """Whether there is a shipped model of this name."""
    return isinstance(name, str) and name in MODELS


def is_usable(name: str) -> bool:
    """Whether the optional packages that a shipped model needs are installed."""
    return all(is_installed(package) for package in _find(name).needs)


def summary(name: str) -> str:
    """What a shipped model is for, in one sentence."""
    return _find(name).summary


def fingerprint(name: str) -> str:
    """The sha256 of the files that define a shipped model."""
    return hashlib.sha256(b"".join((FOLDER / file).read_bytes() for file in _find(name).files)).hexdigest()


def load(name: str) -> Any:
    """A shipped model, read anew: a fitted classifier or a `Pursuit`, as `infopursuit.load` returns it."""
    return _find(name).read()


def open_model(name_or_path: Any) -> Any:
    """A shipped model by its name, or a saved one by its folder.

    A folder that has the name of a shipped model is meant by writing it as a path, such as ``./animals``.
    """
    if is_shipped(name_or_path):
        return load(name_or_path)
    return storage.load_for_command(check_folder(name_or_path))


def check_folder(path: Any) -> Path:
    """The folder of a saved model; `FileNotFoundError` where there is none."""
    folder = Path(path)
    if not (folder / model_files.MANIFEST).is_file():
        wrong = "a folder without a saved model" if folder.is_dir() else "a file" if folder.exists() else "not there"
        raise FileNotFoundError(
            f"model {str(path)!r} is {wrong}; give the name of a shipped model ({', '.join(MODELS)}), or a "
            f"folder that save() wrote"
        )
    return folder


def version(name_or_path: Any) -> str:
    """The first digits of the checksum of a model: of the files of a shipped one, of the manifest of a saved one."""
    if is_shipped(name_or_path):
        return fingerprint(name_or_path)[:VERSION_DIGITS]
    manifest = (Path(name_or_path) / model_files.MANIFEST).read_bytes()
    return hashlib.sha256(manifest).hexdigest()[:VERSION_DIGITS]


def _find(name: str) -> Shipped:
    if name not in MODELS:
        raise ValueError(f"name={name!r} is no shipped model; those are {', '.join(MODELS)}")
    return MODELS[name]


# ---- animals --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnimalTable:
    """cells (animals, questions): 1 for yes, 0 for no and 0.5 for sometimes."""

    animals: tuple[str, ...]
    names: tuple[str, ...]
    sentences: tuple[str, ...]
    cells: FloatArray

    def probabilities(self, error: float = ERROR) -> FloatArray:
        """(animals, questions) the probability of "yes"; yes and no are wrong with probability ``error``."""
        return np.asarray(np.where(self.cells == 0.5, 0.5, np.where(self.cells == 1, 1 - error, error)))


def read_animals() -> AnimalTable:
    """The table and its wording."""
    head, *rows = _rows(TABLE)
    wording = dict(_rows(WORDING)[1:])
    cells = np.array([[CELLS[cell] for cell in row[1:]] for row in rows])
    names = tuple(head[1:])
    return AnimalTable(tuple(row[0] for row in rows), names, tuple(wording[name] for name in names), cells)


def load_animals() -> Pursuit[Any]:
    """The pursuit of animals."""
    table = read_animals()
    model = TableModel(np.full(len(table.animals), 1 / len(table.animals)), None, table.probabilities())
    asked = queries.concepts(table.names, sentences=table.sentences)
    return generative_pursuit(model, asked, stopping=Confidence(0.05) | MaxQueries(25), classes=table.animals)


def _rows(name: str) -> list[list[str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


# ---- tumours --------------------------------------------------------------------------------------------------------


def tumours() -> tuple[FloatArray, npt.NDArray[np.str_], FloatArray, npt.NDArray[np.str_]]:
    """Rows and labels that the model was fitted on, and those that it has not seen."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer()
    names = data.feature_names.tolist()
    rows, labels = data.data[:, [names.index(name) for name in TUMOUR_COLUMNS]], data.target_names[data.target]
    train, test, y_train, y_test = train_test_split(rows, labels, test_size=0.3, random_state=0, stratify=labels)
    return train, y_train, test, y_test


# ---- mnist ----------------------------------------------------------------------------------------------------------


def read_samples(folder: Path = FOLDER / "mnist") -> npt.NDArray[np.uint8]:
    """(states, pixels) shades from 0 to 7, sorted by class."""
    import safetensors.numpy
    from safetensors import SafetensorError

    n_states, n_pixels = N_CLASSES * N_SAMPLES, SHAPE[0] * SHAPE[1]
    try:
        packed = safetensors.numpy.load((folder / SAMPLES).read_bytes())["pictures"].tobytes()
        levels = lzma.LZMADecompressor().decompress(packed, max_length=n_states * n_pixels + 1)
    except (KeyError, SafetensorError, lzma.LZMAError) as error:
        raise ModelFormatError(f"{folder / SAMPLES} is damaged: {error}; install infopursuit again") from None
    if len(levels) != n_states * n_pixels:
        raise ModelFormatError(
            f"{folder / SAMPLES} is damaged: it holds {len(levels)} pixels; install infopursuit again"
        )
    return np.frombuffer(levels, dtype=np.uint8).reshape(n_states, n_pixels)


def load_mnist(folder: Path = FOLDER / "mnist") -> Pursuit[Any]:
    """The pursuit of 28 x 28 digits; pixels go from 0 to 255, those above 127.5 are lit."""
    from infopursuit.models.empirical import Blur
    from infopursuit.strategies.generative.pruned import States

    levels = read_samples(folder)
    blur = Blur((0.7,), (0.02,), (0.02,), SHAPE)
    lit = np.empty(levels.shape, dtype=np.float32)  # (states, pixels) the probability that each pixel is lit
    for start in range(0, len(levels), N_SAMPLES):
        some = levels[start : start + N_SAMPLES].T.astype(np.float32) / np.float32(SHADES - 1)
        lit[start : start + N_SAMPLES] = blur.lit(some, 0).T
    asked = queries.patches(SHAPE, size=3, threshold=THRESHOLD)
    log_prior = np.full(len(levels), -np.log(len(levels)))
    model = States(asked.variables, log_prior, np.arange(N_CLASSES + 1) * N_SAMPLES, lit)
    return generative_pursuit(model, asked, "pruned", Confidence(0.01) | MaxQueries(14), n_states=1024, n_screened=64)
