"""CUB-200-2011: 312 yes/no attributes of birds of 200 species, as people answered them or as they might have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.files import check_array, data_folder, find_file, not_found, read_lines, read_names
from benchmarks.datasets.grouped import GroupedDataset
from infopursuit.app.datasets.dataset import parts
from infopursuit.estimator.table_files import read_arrays

ANSWERS = "image_attribute_labels.txt"
TABLE = "class_attribute_labels_continuous.txt"
TEXTS = ("attributes.txt", TABLE, "images.txt", "image_class_labels.txt", "train_test_split.txt")
PLACES = ("cub", "CUB_200_2011", "CUB_200_2011/attributes", "", "attributes")
"""As the archive unpacks, or everything in one folder."""
NPZ = "cub_attributes.npz"
KEYS = ("class_attr_pct", "attribute_names", "class_names", "image_paths", "image_class", "is_train")
PAGE = "https://www.vision.caltech.edu/datasets/cub_200_2011/"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Birds(GroupedDataset):
    """A `Dataset` of answers, with what is known about the species.

    class_percentages: (C, A) of the answers about a species, how many in a hundred were yes.
    """

    class_percentages: Any


@dataclass(frozen=True, eq=False)
class Tables:
    """What is known without anybody's answers about single images. N images, C species, A attributes.

    percentages: (C, A) from 0 to 100. attribute_names: (A,). class_names: (C,). image_paths: (N,). image_class: (N,)
    0 to C - 1. is_train: (N,) the official split.
    """

    percentages: Any
    attribute_names: tuple[str, ...]
    class_names: tuple[str, ...]
    image_paths: Any
    image_class: Any
    is_train: Any


def cub(*, seed: int = 0, answers: str = "auto") -> Birds:
    """CUB-200-2011 as answers: x is (B, 312) of 0 and 1, one row for each image, in the official split.

    From the official text files, as the archive unpacks them into the data folder, or else from ``cub_attributes.npz``.

    answers: ``"real"`` takes what people said about every single image (``image_attribute_labels.txt``);
    ``"simulated"`` draws each answer by itself from Bernoulli(percentage of the species / 100), the same ones for the
    same seed; ``"auto"`` takes the real ones where they are. Drawn answers are not data: ``simulated`` is True, and
    attributes that exclude each other are drawn as if they did not, so that a bird may get two bills. A model that
    takes answers to be independent given the species is then true by construction.

    ``class_percentages >= 50`` is the majority vote that the paper gives to every image of a species. All images of a
    species are then alike, so that high accuracy with it says nothing about new images.
    """
    if answers not in ("auto", "real", "simulated"):
        raise ValueError(f'answers is {answers!r}; say "auto", "real" or "simulated"')
    tables = _read_tables()
    path = find_file(ANSWERS, PLACES, ("", ".gz")) if answers != "simulated" else None
    if path is None and answers == "real":
        raise not_found(ANSWERS, _advice(ANSWERS))
    n_images, n_attributes = len(tables.image_paths), len(tables.attribute_names)
    if path is not None:
        x = read_answers(path, n_images, n_attributes)[0]
        text = 'Answers are what people said about each image; "not visible" counts as they marked it, mostly as no.'
    else:
        x = draw_answers(tables.percentages, tables.image_class, seed)
        text = (
            f"THE ANSWERS ARE SIMULATED (seed {seed}; {ANSWERS} is not used): each is drawn by itself from "
            f"Bernoulli(percentage of the species / 100). Results say nothing about real birds or real annotators."
        )
    return Birds(
        name="cub",
        **parts(~tables.is_train, x=x, y=tables.image_class, ids=tables.image_paths),
        class_names=tables.class_names,
        description=f"{n_attributes} yes/no attributes of birds of {len(tables.class_names)} species. {text}",
        licence="non-commercial research and education only (Caltech-UCSD Birds-200-2011)",
        feature_names=tables.attribute_names,
        simulated=path is None,
        class_percentages=tables.percentages,
    )


def draw_answers(percentages: Any, image_class: Any, seed: int) -> Any:
    """(N, A) 1 with the probability that the image's species has: simulated answers.

    >>> draw_answers(np.array([[100, 0], [0, 100]]), np.array([0, 1, 1]), seed=0).tolist()
    [[1, 0], [0, 1], [0, 1]]
    """
    uniform = np.random.default_rng(seed).random((len(image_class), percentages.shape[1]))
    return (100 * uniform < percentages[image_class]).astype(np.uint8)


def read_answers(path: Path, n_images: int, n_attributes: int) -> tuple[Any, Any]:
    """``image_attribute_labels.txt``: (N, A) answers 0 and 1, and (N, A) certainty, 1 (not visible) to 4 (definite).

    A line is image, attribute, answer, certainty and a time in seconds. Some lines of the official file have a field
    too many behind the first four, so that only those are read.
    """
    try:
        rows = np.loadtxt(read_lines(path), dtype=np.int32, usecols=(0, 1, 2, 3), ndmin=2, comments=None)
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} has a line that does not begin with four whole numbers ({error})") from None
    image, attribute, answer, certainty = rows.T
    if (image < 1).any() or (image > n_images).any() or (attribute < 1).any() or (attribute > n_attributes).any():
        raise ValueError(f"{path} speaks of images or attributes that are not among {n_images} and {n_attributes}")
    if not np.isin(answer, (0, 1)).all() or (certainty < 1).any() or (certainty > 4).any():
        raise ValueError(f"{path} has answers other than 0 and 1, or certainties that are not 1 to 4")
    answers = np.full((n_images, n_attributes), 2, dtype=np.uint8)
    certainties = np.zeros_like(answers)
    answers[image - 1, attribute - 1] = answer
    certainties[image - 1, attribute - 1] = certainty
    if (answers == 2).any() or len(rows) != answers.size:
        raise ValueError(
            f"{path} has {len(rows)} lines; expected one for each of {n_images} images and {n_attributes} attributes"
        )
    return answers, certainties


def _read_tables() -> Tables:
    """The official files if all are there, else the npz file."""
    found = {name: find_file(name, PLACES) for name in TEXTS}
    texts = {name: path for name, path in found.items() if path is not None}
    npz = find_file(NPZ)
    if len(texts) == len(TEXTS):
        return _from_texts(texts)
    if npz is not None:
        return _from_npz(npz)
    raise not_found(NPZ, _advice(", ".join(name for name in TEXTS if name not in texts)))


def _advice(files: str) -> str:
    return (
        f"Or unpack the official archive CUB_200_2011.tgz into {data_folder()}, or put these files of it into "
        f"{data_folder() / 'cub'}: {files}. It is at {PAGE}; benchmarks.datasets.download('cub') fetches it (1.1 GB) "
        f"and keeps the texts."
    )


def _from_npz(path: Path) -> Tables:
    arrays = read_arrays(path, KEYS)
    attributes, classes = (read_names(arrays[key], f"{key} of {path}") for key in ("attribute_names", "class_names"))
    paths = read_names(arrays["image_paths"], f"image_paths of {path}")
    n = (len(paths),)
    percentages = check_array(
        arrays["class_attr_pct"], (len(classes), len(attributes)), "iuf", f"class_attr_pct of {path}"
    )
    species = check_array(arrays["image_class"], n, "iu", f"image_class of {path}").astype(np.int64)
    is_train = check_array(arrays["is_train"], n, "iub", f"is_train of {path}")
    return _checked(path, percentages, attributes, classes, paths, species, is_train)


def _from_texts(texts: dict[str, Path]) -> Tables:
    attributes = tuple(_numbered(texts["attributes.txt"]))
    paths = _numbered(texts["images.txt"])
    species = np.array(_numbers(texts["image_class_labels.txt"]), dtype=np.int64) - 1
    is_train = np.array(_numbers(texts["train_test_split.txt"]), dtype=np.int64)
    table = texts[TABLE]
    try:
        percentages = np.loadtxt(read_lines(table), dtype=np.float64, ndmin=2, comments=None)
    except ValueError as error:
        raise ValueError(f"{table} is not a table of numbers ({error})") from None
    percentages = check_array(percentages, (None, len(attributes)), "iuf", str(table))
    for name, column in (("image_class_labels.txt", species), ("train_test_split.txt", is_train)):
        if len(column) != len(paths):
            raise ValueError(f"{texts[name]} has {len(column)} lines, but {texts['images.txt']} has {len(paths)}")
    # the folder of an image is called like its species
    folders = sorted({(int(c), path.split("/")[0]) for c, path in zip(species, paths, strict=True)})
    if [c for c, _ in folders] != list(range(len(percentages))):
        raise ValueError(
            f"{texts['images.txt']} and {texts['image_class_labels.txt']} do not have one folder for each of the "
            f"{len(percentages)} species of {table}"
        )
    classes = tuple(folder for _, folder in folders)
    return _checked(table.parent, percentages, attributes, classes, paths, species, is_train)


def _checked(
    where: Path,
    percentages: Any,
    attributes: tuple[str, ...],
    classes: tuple[str, ...],
    paths: Iterable[str],
    species: Any,
    is_train: Any,
) -> Tables:
    if not ((percentages >= 0) & (percentages <= 100)).all():
        raise ValueError(f"the percentages of {where} are not all from 0 to 100")
    if not len(species) or species.min() < 0 or species.max() >= len(classes):
        raise ValueError(f"{where} has images of species that are not among its {len(classes)}")
    if not np.isin(is_train, (0, 1)).all() or is_train.all() or not is_train.any():
        raise ValueError(f"the split of {where} is not made of 0 and 1, or leaves one part empty")
    ids = np.array(list(paths), dtype=object)
    return Tables(percentages.astype(np.float32), attributes, classes, ids, species, is_train.astype(bool))


def _numbered(path: Path) -> list[str]:
    """The second words of lines that begin with 1, 2, 3, ..."""
    rows = [line.split() for line in read_lines(path) if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or row[0] != str(number):
            raise ValueError(f"line {number} of {path} is {' '.join(row)!r}; expected {number} and one word")
    return [word for _, word in rows]


def _numbers(path: Path) -> list[int]:
    words = _numbered(path)
    for number, word in enumerate(words, start=1):
        if not word.isdecimal():
            raise ValueError(f"line {number} of {path} has {word!r}; expected a whole number")
    return [int(word) for word in words]
