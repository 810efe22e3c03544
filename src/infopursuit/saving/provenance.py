"""Provenance: the versions, machine, seed and number of rows that a model was made with, saved with it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import starmap
from typing import Any

from infopursuit.support.types import ModelFormatError

PACKAGES = ("numpy", "torch", "scikit-learn", "scipy", "numba", "safetensors")
MOST_ENTRIES, LONGEST = 100, 200
"""Entries of what a folder says it was made with, and characters of each."""


def versions() -> dict[str, str]:
    """The versions of everything that numbers come from."""
    from infopursuit import __version__  # also known where the package runs from a checkout

    found = {"python": platform.python_version(), "infopursuit": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def provenance(
    seed: int | None = None, n_rows: int | None = None, n_threads: int | None = None
) -> dict[str, str | int]:
    """Versions, platform and machine, now; with the seed and the rows that something is fitted with, and the threads
    where they matter, as for the weights of a network.

    There is no date in it: the same fit saved twice gives the same bytes.
    """
    found: dict[str, str | int] = {**versions(), "platform": platform.platform(), "machine": platform.machine()}
    for name, value in (("seed", seed), ("rows", n_rows), ("threads", n_threads)):
        if value is not None:
            found[name] = int(value)
    return found


def check_provenance(entry: Any) -> dict[str, str | int]:
    """What a folder says it was made with, refused where it is not a list of words and whole numbers."""
    if not isinstance(entry, Mapping) or len(entry) > MOST_ENTRIES or not all(starmap(_is_plain, entry.items())):
        raise ModelFormatError("provenance is not a mapping from names to short texts and whole numbers")
    return dict(entry)


def _is_plain(name: Any, value: Any) -> bool:
    words = (name,) if type(value) is int else (name, value)
    return all(isinstance(word, str) and len(word) <= LONGEST and word.isprintable() for word in words)


def differences(entry: Mapping[str, Any]) -> list[str]:
    """What is not as it was when a model was made, in words: versions and machine.

    >>> differences({**versions(), "numpy": "1.0"})[0].startswith("numpy 1.0, now ")
    True
    """
    now = provenance()
    return [f"{name} {entry[name]}, now {now[name]}" for name in now if entry.get(name, now[name]) != now[name]]


def in_words(entry: Mapping[str, Any]) -> str:
    """What something was made with, on one line.

    >>> in_words({"python": "3.12.1", "threads": 2, "rows": 1500, "seed": 0})
    'python 3.12.1, 2 threads, 1,500 rows, seed 0'
    """
    said = []
    for name, value in entry.items():
        if name in ("threads", "rows") and isinstance(value, int):
            said.append(f"{value:,} {name if value != 1 else name[:-1]}")
        else:
            said.append(str(value) if name == "platform" else f"{name} {value}")
    return ", ".join(said)
