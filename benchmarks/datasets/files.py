"""The files of the data sets: where they are looked for, and their texts, bytes and arrays."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.estimator import table_files as tables

VARIABLE = "INFOPURSUIT_DATA"
"""The environment variable that names the data folder."""
ENVIRONMENT: Mapping[str, str] = os.environ
"""Where the data folder is looked up."""


def data_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The folder that ``INFOPURSUIT_DATA`` names, or else ``infopursuit`` in the user's cache."""
    variables = ENVIRONMENT if environment is None else environment
    named = variables.get(VARIABLE)
    if named:
        return Path(named).expanduser()

    if platform == "win32":
        cache = variables.get("LOCALAPPDATA") or "~/AppData/Local"
    elif platform == "darwin" and not variables.get("XDG_CACHE_HOME"):
        cache = "~/Library/Caches"
    else:
        cache = variables.get("XDG_CACHE_HOME") or "~/.cache"

    return Path(cache).expanduser() / "infopursuit"


def find_file(name: str, places: Sequence[str] = ("",), endings: Sequence[str] = ("",)) -> Path | None:
    """The first that exists of a file's places under the data folder; endings such as ".gz" are tried in each."""
    candidates = (data_folder() / place / f"{name}{ending}" for place in places for ending in endings)
    return next((path for path in candidates if path.is_file()), None)


def not_found(name: str, advice: str) -> FileNotFoundError:
    """The error for a missing file: which one, where it was looked for, and where it can be had (``advice``)."""
    folder = data_folder()
    where = f"the folder that {VARIABLE} names" if ENVIRONMENT.get(VARIABLE) else "the user's cache"
    missing = "" if folder.is_dir() else ", which does not exist"
    return FileNotFoundError(
        f"{name} is not in {folder} ({where}{missing}). Put the file there, or set {VARIABLE} to the folder that "
        f"holds it. {advice} The data sets 'digits' and 'breast_cancer' need no file"
    )


def read_names(names: Any, what: str) -> tuple[str, ...]:
    """The texts of an array, with single blanks."""
    if names.dtype.kind != "U" or names.ndim != 1:
        raise ValueError(f"{what} has shape {names.shape} and dtype {names.dtype}; expected a list of texts")
    return tuple(" ".join(str(name).split()) for name in names)


def check_array(array: Any, shape: Sequence[int | None], kinds: str, what: str) -> Any:
    """The array, or an error; None in the shape stands for any length, kinds are numpy's letters such as "iu"."""
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in kinds:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        kind = "numbers" if "f" in kinds else "whole numbers"
        raise ValueError(f"{what} has shape {array.shape} and dtype {array.dtype}; expected ({wanted}) of {kind}")
    return array


def read_bytes(path: Path) -> bytes:
    """All of a file, decompressed if its name ends in ``.gz``."""
    tables.check_size(tables.check_file(path), path.stat().st_size)
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(tables.MAX_BYTES + 1)
    except tables.BAD_GZIP as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); fetch it again") from None
    tables.check_size(path, len(content))
    return content


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text with their ends, decompressed if its name ends in ``.gz``."""
    try:
        with tables.open_text(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8 ({error})") from None
