"""The two files of a saved model, read as a stranger's: sizes before contents, checksums before meaning.

Nothing is taken into memory that the size of a file, or what it says of itself, does not allow.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from infopursuit.types import ModelFormatError

FORMAT, VERSION = "infopursuit.model", 3
"""Version 3 has a kind for each part; versions 1 and 2 are still read."""
MANIFEST = "manifest.json"
MAX_MANIFEST = 32 * 2**20
"""A manifest larger than this is refused before it is read: as objects of Python's it may take 25 times its size."""
MAX_TENSORS = 8 * 2**30
"""A file of tensors larger than this many bytes is refused before it is read."""
MAX_HEADER = 16 * 2**20
"""The same for the part of it that says where the tensors lie."""
MAX_MESSAGE = 300
"""Characters of what is wrong: an error may quote what it found, and that may be a megabyte."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
"""What a file of tensors may be called: no way out of the folder, on no system."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, of a version that is known, as it was written."""
    file = folder / MANIFEST
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}; give a folder that save() wrote")
    if file.stat().st_size > MAX_MANIFEST:
        raise ModelFormatError(
            f"{file} has {file.stat().st_size} bytes, more than {MAX_MANIFEST}; it is not a manifest"
        )
    try:
        manifest = json.loads(file.read_bytes(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{file} is not JSON, it may be cut off or altered: {shortened(error)}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"{file} is not a model of this package: it does not say format {FORMAT!r}")
    found = manifest.get("version")
    if type(found) is not int or found < 1:
        raise ModelFormatError(f"{file} has version {found!r:.80}; expected a whole number from 1 to {VERSION}")
    if found > VERSION:
        raise ModelFormatError(
            f"{file} has format version {found}, newer than {VERSION}; update infopursuit to read it"
        )
    try:
        agrees = manifest.get("sha256") == own_checksum(manifest)
    except RecursionError:
        raise ModelFormatError(f"{file} was altered: it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ModelFormatError(f"{file} is damaged: it has half a character (a lone surrogate) in a text") from None
    if not agrees:
        raise ModelFormatError(f"{file} was altered: its checksum does not agree with its content")
    return manifest


def read_tensors(folder: Path, entry: Any) -> dict[str, npt.NDArray[np.generic]]:
    """The tensors that a manifest names, with the size and the checksum that it gives."""
    if not isinstance(entry, dict):
        raise ModelFormatError(f"{folder / MANIFEST} has no entry that says where its tensors are")
    name = entry["file"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ModelFormatError(
            f"the manifest of {folder} names the tensor file {name!r:.80}, which is not a plain file name"
        )
    file = folder / name
    if not file.is_file():
        raise ModelFormatError(f"{file} is missing; copy the whole folder")
    with file.open("rb") as stream:
        _check_sizes(stream, file, entry["bytes"])
        digest = hashlib.file_digest(stream, "sha256").hexdigest()  # in pieces: only what is right is read whole
        if digest != entry["sha256"]:
            raise ModelFormatError(f"{file} was altered: its checksum does not agree with the manifest")
        stream.seek(0)
        payload = stream.read()
    try:
        return safetensors.numpy.load(payload)
    except KeyError as error:
        raise ModelFormatError(f"{file} has numbers of type {error}, which models do not have") from None
    except (SafetensorError, RuntimeError, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{file} is not a safetensors file: {shortened(error)}") from None


def own_checksum(manifest: dict[str, Any], **options: Any) -> str:
    """The checksum of a manifest but for the checksum itself; options: of `json.dumps`."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, **options)
    return hashlib.sha256(text.encode()).hexdigest()


def damaged(folder: Path, part: str, error: Exception) -> ModelFormatError:
    """The error for a folder one part of which makes no model."""
    where = f"{folder} is damaged, see {part!r} in its {MANIFEST}"
    if isinstance(error, KeyError):
        return ModelFormatError(f"{where}: {shortened(error)} is missing, or no name that is known here")
    if isinstance(error, ModelFormatError):
        return ModelFormatError(shortened(error))
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return ModelFormatError(f"{where}: something is of another kind than it must be ({shortened(error)})")
    return ModelFormatError(f"{where}: {shortened(error)}")


def shortened(error: object) -> str:
    """What an error says, in one line that somebody can read."""
    said = " ".join(str(error).split())
    return said if len(said) <= MAX_MESSAGE else f"{said[: MAX_MESSAGE - 4]} ..."


def _check_sizes(stream: BinaryIO, file: Path, stated: Any) -> None:
    """Whether a file is as long as the manifest says and as its own header says."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if type(stated) is not int or size != stated:
        raise ModelFormatError(f"{file} has {size} bytes instead of {stated!r:.80}; it was cut off or altered")
    if size > MAX_TENSORS:
        raise ModelFormatError(f"{file} has {size} bytes, more than {MAX_TENSORS}; models are smaller")
    length = int.from_bytes(stream.read(8), "little")
    if length > min(MAX_HEADER, size - 8):
        raise ModelFormatError(f"{file} is not a safetensors file: its header would have {length} bytes")
    try:
        header = json.loads(stream.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        fits = 8 + length + max(ends, default=0) == size
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise ModelFormatError(f"{file} is not a safetensors file: its header is damaged") from None
    if not fits:
        raise ModelFormatError(f"{file} is not a safetensors file: its tensors would not end where the file does")
    stream.seek(0)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of JSON whose keys all differ: of two that are alike, readers would take one or the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice!r:.80} stands there twice")
    return found
