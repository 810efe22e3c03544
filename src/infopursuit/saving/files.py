"""The files of a saved model: written by one process at a time, read as those of a stranger.

The tensors are written first, under a name that contains their checksum; then the manifest is
replaced in one step. A crash at any moment leaves the old manifest with the old tensors. Tensors that
no manifest names any more stay for a while, for whoever has read the old manifest.

Sizes are checked before contents, and checksums before meaning. Nothing is taken into memory that the
size of a file, or what it says of itself, does not allow.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from infopursuit.support.files import locked, sweep_leftovers, write_atomically
from infopursuit.support.types import ModelFormatError

FORMAT, VERSION = "infopursuit.model", 4
"""Only this version is read."""
MANIFEST = "manifest.json"
CARD = "CARD.md"
LOCK = ".lock"
TENSORS = "tensors-*.safetensors"
"""The names of tensor files that may be removed."""
LOCK_SECONDS = 120.0
"""How long a process waits while another one saves to the same folder."""
GRACE_SECONDS = 60.0
"""How long tensors stay after the manifest that named them was replaced."""
MAX_READS = 5
"""How often a model is read that is replaced in the meantime."""
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
DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the parts of a model raise when the content of the files is not valid."""

Manifest = dict[str, Any]
Tensors = dict[str, npt.NDArray[np.generic]]


# ---- writing --------------------------------------------------------------------------------------------------------


def tensor_entry(payload: bytes) -> dict[str, str | int]:
    """Describe a tensor file for the manifest: its name, its checksum and its size."""
    digest = hashlib.sha256(payload).hexdigest()
    return {
        "file": f"tensors-{digest[:16]}.safetensors",
        "sha256": digest,
        "bytes": len(payload),
    }


def write_model(
    folder: Path,
    *,
    manifest: bytes,
    tensors: bytes,
    tensor_file: str,
    card: bytes,
    wait: float = LOCK_SECONDS,
) -> None:
    """Write the files of a model to a folder, which is created where it is missing.

    One process at a time writes to a folder. The tensors of the model that is replaced stay for
    `GRACE_SECONDS` and are removed by the next call after that. Tensors that contain training data
    are removed at once: nobody should pass them on with the new model.

    Parameters
    ----------
    folder : Path
        The folder of the model.
    manifest, tensors, card : bytes
        The contents of the three files.
    tensor_file : str
        The name of the tensor file, as the manifest has it.
    wait : float, default=LOCK_SECONDS
        Seconds to wait for another process that saves to the same folder.

    Raises
    ------
    BlockingIOError
        If another process still saves to the folder after ``wait`` seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    busy = (
        f"another process is saving a model to {folder} and has not finished within {wait:g} s; "
        f"wait until it has ended, or save to another folder"
    )
    with locked(folder / LOCK, busy, wait=wait):
        sweep_leftovers(folder)
        replaced = _manifest_if_valid(folder)
        write_atomically(folder / tensor_file, tensors)
        write_atomically(folder / CARD, card)

        # Just before they lose their name, so that their age counts from then on.
        _touch(folder, _tensor_file(replaced))
        write_atomically(folder / MANIFEST, manifest)

        training_data = _tensor_file(replaced) if _contains_training_data(replaced) else ""
        _sweep_tensors(folder, named=tensor_file, training_data=training_data)


def _manifest_if_valid(folder: Path) -> Manifest:
    """Read the manifest of a folder; an empty one where there is none, or a damaged one."""
    try:
        return read_manifest(folder)
    except (OSError, ModelFormatError):
        return {}


def _tensor_file(manifest: Manifest) -> str:
    """Return the name of the tensor file in a manifest; empty where there is none."""
    entry = manifest.get("tensors")
    name = entry.get("file") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _touch(folder: Path, name: str) -> None:
    """Let the age of a tensor file count from now; files of another user keep their age."""
    for file in folder.glob(TENSORS):
        if file.name == name:
            with suppress(OSError):
                os.utime(file)


def _sweep_tensors(folder: Path, *, named: str, training_data: str) -> None:
    """Remove tensors that lost their name long ago, and training data that has just lost it."""
    # The clock of the file system, which may be that of another machine.
    now = (folder / MANIFEST).stat().st_mtime
    for file in folder.glob(TENSORS):
        if file.name == named:
            continue

        # Windows does not remove a file that somebody reads; the next call tries again.
        with suppress(OSError):
            if file.name == training_data or now - file.lstat().st_mtime > GRACE_SECONDS:
                file.unlink()


def _contains_training_data(manifest: Manifest) -> bool:
    """Whether a model in a manifest says that it contains its training data."""
    entries: list[object] = [manifest]
    while entries:
        entry = entries.pop()
        if isinstance(entry, dict):
            if entry.get("contains_training_data") is True:
                return True
            entries.extend(entry.values())
        elif isinstance(entry, list):
            entries.extend(entry)

    return False


# ---- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelFiles:
    """The content of a saved model, all of it written by one call of `write_model`.

    Attributes
    ----------
    folder : Path
        Where it was read.
    manifest : dict
        The manifest as it was written; its format, version and checksum are valid.
    tensors : dict of str to ndarray
        The tensors by name.
    checksum : str
        The SHA-256 of the manifest file, which contains that of the tensors.
    """

    folder: Path
    manifest: Manifest
    tensors: Tensors
    checksum: str


def read_model(folder: Path) -> ModelFiles:
    """Read the manifest of a folder and the tensors that it names.

    A model that is replaced while it is read is read again.

    Raises
    ------
    FileNotFoundError
        If the folder has no manifest.
    ModelFormatError
        If a file is missing, damaged or altered.
    """
    for _ in range(MAX_READS):
        before = _state_of_manifest(folder)
        manifest, checksum = _read_manifest(folder)
        try:
            tensors = read_tensors(folder, manifest["tensors"])
        except (*DAMAGE, OSError) as error:
            if _state_of_manifest(folder) != before:
                continue
            if isinstance(error, OSError):
                raise
            raise damaged(folder, "tensors", error) from error

        return ModelFiles(folder, manifest, tensors, checksum)

    raise ModelFormatError(
        f"{folder} was replaced {MAX_READS} times while it was read; load it when nobody saves to it"
    )


def _state_of_manifest(folder: Path) -> tuple[int, int, int] | None:
    """Tell one manifest from the next, also from one with the same content; None where there is none."""
    try:
        state = (folder / MANIFEST).stat()
    except OSError:
        return None

    return state.st_ino, state.st_mtime_ns, state.st_size


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; its format, version and checksum are valid."""
    manifest, _ = _read_manifest(folder)
    return manifest


def _read_manifest(folder: Path) -> tuple[Manifest, str]:
    """Read the manifest of a folder, and compute the checksum of the file."""
    file = folder / MANIFEST
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}; give a folder that save() wrote")

    size = file.stat().st_size
    if size > MAX_MANIFEST:
        raise ModelFormatError(f"{file} has {size} bytes, more than {MAX_MANIFEST}; it is not a manifest")

    content = file.read_bytes()
    try:
        manifest = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{file} is not JSON, it may be cut off or altered: {shortened(error)}") from None

    _check_manifest(file, manifest)
    return manifest, hashlib.sha256(content).hexdigest()


def _check_manifest(file: Path, manifest: object) -> None:
    """Refuse a manifest of another format or version, and one that was altered."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"{file} is not a model of this package: it does not say format {FORMAT!r}")

    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"{file} has version {version!r:.80}; expected {VERSION}")
    if version > VERSION:
        raise ModelFormatError(
            f"{file} has format version {version}, newer than {VERSION}; update infopursuit to read it"
        )
    if version < VERSION:
        raise ModelFormatError(
            f"{file} has format version {version}, older than {VERSION}, which is not read any more; fit and save the "
            f"model again, or load it with the version of infopursuit that wrote it"
        )

    try:
        agrees = manifest.get("sha256") == own_checksum(manifest)
    except RecursionError:
        raise ModelFormatError(f"{file} was altered: it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ModelFormatError(f"{file} is damaged: it has half a character (a lone surrogate) in a text") from None
    if not agrees:
        raise ModelFormatError(f"{file} was altered: its checksum does not agree with its content")


def read_tensors(folder: Path, entry: Any) -> Tensors:
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
        if _checksum(stream) != entry["sha256"]:  # in pieces: only what is right is read whole
            raise ModelFormatError(f"{file} was altered: its checksum does not agree with the manifest")
        stream.seek(0)
        payload = stream.read()
    try:
        return safetensors.numpy.load(payload)
    except KeyError as error:
        raise ModelFormatError(f"{file} has numbers of type {error}, which models do not have") from None
    except (SafetensorError, RuntimeError, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{file} is not a safetensors file: {shortened(error)}") from None


def _checksum(stream: BufferedReader) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()


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
