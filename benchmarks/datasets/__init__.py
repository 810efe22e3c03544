"""The data sets of the experiments: those of the package, from their official files too, and larger ones.

The files are looked for in the folder that ``INFOPURSUIT_DATA`` names, or else in ``infopursuit`` in the user's cache.
A missing file is an error that says where it can be had; `download` fetches some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.datasets.bird_images import cub_images
from benchmarks.datasets.birds import Birds, cub
from benchmarks.datasets.download import REMOTES, fetch
from benchmarks.datasets.files import data_folder
from benchmarks.datasets.folds import folds
from benchmarks.datasets.grouped import GroupedDataset
from benchmarks.datasets.images import fashion_mnist, kmnist, mnist
from benchmarks.datasets.news import clean_headline, huffpost
from benchmarks.datasets.small_tables import diseases, zoo
from infopursuit.app.datasets import Dataset, breast_cancer, digits, fold_numbers

__all__ = [
    "NAMES",
    "Birds",
    "Dataset",
    "GroupedDataset",
    "breast_cancer",
    "clean_headline",
    "cub",
    "cub_images",
    "data_folder",
    "digits",
    "diseases",
    "download",
    "fashion_mnist",
    "fold_numbers",
    "folds",
    "huffpost",
    "kmnist",
    "load",
    "mnist",
    "zoo",
]

LOADERS: Mapping[str, Callable[..., Dataset]] = MappingProxyType(
    {
        "breast_cancer": breast_cancer,
        "cub": cub,
        "digits": digits,
        "diseases": diseases,
        "fashion_mnist": fashion_mnist,
        "huffpost": huffpost,
        "kmnist": kmnist,
        "mnist": mnist,
        "zoo": zoo,
    }
)
NAMES = tuple(LOADERS)
"""What `load` knows."""
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fashion": "fashion_mnist",
        "fashionmnist": "fashion_mnist",
        "kuzushiji_mnist": "kmnist",
        "birds": "cub",
        "cub_200_2011": "cub",
        "disease_symptoms": "diseases",
        "news": "huffpost",
    }
)


def load(name: str, *, download: bool = False, **options: Any) -> Dataset:
    """A data set by its name.

    download: True fetches the official files if there are none (see `download`); False never touches the network.
    options: those of the loader of that name, such as ``load("cub", seed=1)``.
    """
    known = _known(name)
    try:
        return LOADERS[known](**options)
    except FileNotFoundError:
        if not download or known not in REMOTES:
            raise
    fetch(REMOTES[known], data_folder() / known)
    return LOADERS[known](**options)


def download(name: str, *, progress: bool | None = None) -> Path:
    """Fetch the official files of a data set into the data folder, and say where they went.

    Needs a network and pooch. Offered for MNIST, Fashion-MNIST, KMNIST and CUB (1.1 GB, of
    which the texts are kept); every file must have the checksum that is known for it. The official files are used
    before any npz file. progress: True shows a bar, None does on a terminal only.
    """
    known = _known(name)
    if known in REMOTES:
        fetch(REMOTES[known], data_folder() / known, progress=progress)
        return data_folder() / known
    if known in ("breast_cancer", "digits"):
        raise ValueError(f"{known!r} comes along with scikit-learn; there is nothing to fetch")
    try:
        LOADERS[known]()
    except FileNotFoundError as error:
        raise ValueError(f"{known!r} cannot be fetched by this package. {error}") from None
    raise ValueError(f"{known!r} cannot be fetched by this package, but is in {data_folder()} already")


def _known(name: str) -> str:
    plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    known = ALIASES.get(plain, plain)
    if known not in LOADERS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    return known
