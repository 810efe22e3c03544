"""Where data files lie, and how they are read: as data, never as code, with an error that says what is wrong."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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


def find_file(name: str) -> Path:
    """The path of a data file, or an error that says where it was looked for and what to do."""
    folder = data_folder()
    path = folder / name
    if path.is_file():
        return path
    where = f"the folder that {VARIABLE} names" if os.environ.get(VARIABLE) else "the user's cache"
    missing = "" if folder.is_dir() else ", which does not exist"
    raise FileNotFoundError(
        f"{name} is not in {folder} ({where}{missing}). Put the file there, or set {VARIABLE} to the folder that "
        f"holds it; the data set 'digits' needs no file"
    )


def read_arrays(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Some arrays of an npz file; no pickles are read. A file that is broken or lacks an array is refused by name."""
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
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path} is not a readable npz file ({error}); fetch it again") from None
    except ValueError as error:
        if str(path) in str(error):
            raise
        # what numpy says about a file that is neither a zip nor an array speaks of pickles, which were never an option
        raise ValueError(f"{path} is not an npz file; fetch it again") from None


def _read(content: Any, key: str, path: Path) -> Any:
    try:
        return content[key]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"{path} is damaged at {key!r} ({error}); fetch it again") from None
    except ValueError as error:
        raise ValueError(f"{path} holds {key!r} in a form that is not read ({error})") from None
