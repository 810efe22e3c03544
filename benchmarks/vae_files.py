"""The weights of one VAE in one safetensors file, with a checksum."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors.numpy
from safetensors import SafetensorError, safe_open

from infopursuit.models.finite import Array
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.models.parts import model_from_parts, model_to_parts
from infopursuit.support.files import write_atomically
from infopursuit.support.types import ModelFormatError

FORMAT, VERSION = "infopursuit.vae", 1
KEY = "infopursuit"
"""The one entry of the metadata: with several, the order in the file would not be the same every time."""


def save_vae(model: VAE, file: Any) -> None:
    """Write a VAE to one safetensors file; an old one stays until the new one is whole.

    The encoder is written in half precision, the decoder as it is: a pursuit with what `load_vae` reads asks the same.
    """
    if not isinstance(model, VAE):
        raise TypeError(f"model is {type(model).__name__}; expected an ip.models.VAE")
    path = Path(file)
    if path.is_dir():
        raise ValueError(f"file={str(path)!r} is a folder; give the name of a file in it")
    spec, arrays = model_to_parts(model)
    about = {"format": FORMAT, "version": VERSION, "model": spec, "sha256": _checksum(spec, arrays)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.numpy.save(arrays, metadata={KEY: json.dumps(about)}))


def load_vae(file: Any, *, device: Any = None) -> VAE:
    """Read what `save_vae` wrote; nothing is believed that has not been checked."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that save_vae() wrote")
    try:
        with safe_open(str(path), framework="np") as stored:
            about = json.loads((stored.metadata() or {}).get(KEY, "null"))
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFormatError(f"{path} cannot be read, it may be cut off or altered: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFormatError(f"{path} is no VAE of this package: its metadata does not say format {FORMAT!r}")
    if about.get("version") != VERSION:
        raise ModelFormatError(f"{path} has format version {about.get('version')!r}; this infopursuit reads {VERSION}")
    try:
        altered = about["sha256"] != _checksum(about["model"], arrays)
        model: Any = None if altered else model_from_parts(about["model"], arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        raise ModelFormatError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    if altered:
        raise ModelFormatError(f"{path} was altered: its checksum does not agree with its content")
    if not isinstance(model, VAE):
        raise ModelFormatError(f"{path} holds a model of kind {model.kind!r}, which is no VAE")
    found: VAE = model if device is None else model.to(device)
    return found


def _checksum(spec: dict[str, Any], arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} torch.{array.dtype} {array.shape}".encode())  # as version 1 has always named the types
        digest.update(array.tobytes())
    return digest.hexdigest()
