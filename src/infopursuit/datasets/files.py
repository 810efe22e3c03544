"""Where data files lie, and how they are read: as data, never as code, with an error that says what is wrong."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.datasets import guarded
from infopursuit.datasets.guarded import PACKED, check_file, check_npy, check_size, open_text

BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, lzma.LZMAError)
"""What is raised where a zip file is damaged, has a password, or is packed in a way that nobody knows."""
VARIABLE = "INFOPURSUIT_DATA"
"""The environment variable that names the data folder."""


def data_folder() -> Path:
    """The folder that ``INFOPURSUIT_DATA`` names, or else ``infopursuit`` in the user's cache."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin" and not os.environ.get("XDG_CACHE_HOME"):
        cache = "~/Library/Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "infopursuit"


def find_file(name: str, places: Sequence[str] = ("",), endings: Sequence[str] = ("",)) -> Path | None:
    """The first that exists of a file's places under the data folder; endings such as ".gz" are tried in each."""
    for place in places:
        for ending in endings:
            path = data_folder() / place / f"{name}{ending}"
            if path.is_file():
                return path
    return None


def not_found(name: str, advice: str) -> FileNotFoundError:
    """The error for a missing file: which one, where it was looked for, and where it can be had (``advice``)."""
    folder = data_folder()
    where = f"the folder that {VARIABLE} names" if os.environ.get(VARIABLE) else "the user's cache"
    missing = "" if folder.is_dir() else ", which does not exist"
    return FileNotFoundError(
        f"{name} is not in {folder} ({where}{missing}). Put the file there, or set {VARIABLE} to the folder that "
        f"holds it. {advice} The data sets 'digits' and 'breast_cancer' need no file"
    )


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked if its name ends in ``.gz``."""
    check_size(check_file(path), path.stat().st_size)
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(guarded.MOST_BYTES + 1)
    except PACKED as error:
        raise _bad_gzip(path, error) from None
    check_size(path, len(content))
    return content


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text, with their ends; unpacked if its name ends in ``.gz``."""
    try:
        # utf-8-sig passes over the mark that some programs put in front; csv wants the line ends as they are
        with open_text(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8 ({error})") from None


def read_arrays(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Some arrays of an npz file; no pickles are read. A file that is broken or lacks an array is refused by name."""
    _check_npz(path, (*needed, *optional))
    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                raise ValueError(f"{path} holds a single array; expected an npz file with {', '.join(needed)}")
            absent = [key for key in needed if key not in content.files]
            if absent:
                raise ValueError(
                    f"{path} has no array {' and no '.join(repr(key) for key in absent)}; "
                    f"expected {', '.join(needed)}, found {', '.join(content.files) or 'nothing'}"
                )
            wanted = [*needed, *(key for key in optional if key in content.files)]
            return {key: _read(content, key, path) for key in wanted}
    except BAD_ZIP as error:
        raise ValueError(f"{path} is not a readable npz file ({error}); fetch it again") from None
    except ValueError as error:
        if str(path) in str(error):
            raise
        # what numpy says about a file that is neither a zip nor an array speaks of pickles, which were never an option
        raise ValueError(f"{path} is not an npz file; fetch it again") from None


def read_names(names: Any, what: str) -> tuple[str, ...]:
    """The texts of an array, without blanks at their ends and double ones inside."""
    if names.dtype.kind != "U" or names.ndim != 1:
        raise ValueError(f"{what} has shape {names.shape} and dtype {names.dtype}; expected a list of texts")
    return tuple(" ".join(str(name).split()) for name in names)


def check_array(array: Any, shape: Sequence[int | None], kinds: str, what: str) -> Any:
    """The array, or an error; None in the shape stands for any length, kinds are numpy's letters such as "iu"."""
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in kinds:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        kind = {"iu": "whole numbers", "iub": "whole numbers", "iuf": "numbers"}[kinds]
        raise ValueError(f"{what} has shape {array.shape} and dtype {array.dtype}; expected ({wanted}) of {kind}")
    return array


def _check_npz(path: Path, wanted: Sequence[str]) -> None:
    """Refuse an npz file that would not fit, or whose arrays claim more than it has; other files are left to numpy."""
    if not zipfile.is_zipfile(check_file(path)):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(path, sum(entry.file_size for entry in archive.infolist()))
            names = set(archive.namelist())
            for key in wanted:
                if f"{key}.npy" in names:
                    check_npy(path, archive, key)
    except (*BAD_ZIP, OSError) as error:
        raise ValueError(f"{path} is not a readable npz file ({error}); fetch it again") from None


def _read(content: Any, key: str, path: Path) -> Any:
    try:
        return content[key]
    except (*BAD_ZIP, OSError) as error:
        raise ValueError(f"{path} is damaged at {key!r} ({error}); fetch it again") from None
    except ValueError as error:
        raise ValueError(f"{path} holds {key!r} in a form that is not read ({error})") from None


def _bad_gzip(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not a whole gzip file ({error}); fetch it again")
