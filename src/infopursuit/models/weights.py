"""One trained `VAE` in one file: safetensors, with all that is needed to build it again in the metadata."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from infopursuit.files import write_atomically
from infopursuit.models.storing import model_from_parts, model_to_parts
from infopursuit.models.vae import VAE
from infopursuit.types import DamagedModel

FORMAT, VERSION = "infopursuit.vae", 1
KEY = "infopursuit"
"""The one entry of the metadata: with several, the order in the file would not be the same every time."""


def save_vae(model: VAE, file: Any) -> None:
    """Write a VAE to one file; an old one stays until the new one is whole.

    The encoder is written in half precision: it only proposes latents, and what is proposed is weighed afterwards.
    The decoder is written as it is, so that a pursuit with the model that `load_vae` reads asks the same questions.
    """
    if not isinstance(model, VAE):
        raise TypeError(f"model is {type(model).__name__}; expected an ip.models.VAE")
    path = Path(file)
    if path.is_dir():
        raise ValueError(f"file={str(path)!r} is a folder; give the name of a file in it")
    spec, tensors = model_to_parts(model)
    about = {"format": FORMAT, "version": VERSION, "model": spec, "sha256": _checksum(spec, tensors)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.torch.save(tensors, metadata={KEY: json.dumps(about)}))


def load_vae(file: Any, *, device: Any = None) -> VAE:
    """Read what `save_vae` wrote; nothing is believed that has not been checked."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that save_vae() wrote")
    try:
        with safe_open(str(path), framework="pt") as stored:
            about = json.loads((stored.metadata() or {}).get(KEY, "null"))
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise DamagedModel(f"{path} cannot be read, it may be cut off or altered: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DamagedModel(f"{path} is no VAE of this package: its metadata does not say format {FORMAT!r}")
    if about.get("version") != VERSION:
        raise DamagedModel(f"{path} has format version {about.get('version')!r}; this infopursuit reads {VERSION}")
    try:
        if about["sha256"] != _checksum(about["model"], tensors):
            raise DamagedModel(f"{path} was altered: its checksum does not agree with its content")
        model = model_from_parts(about["model"], tensors)
        if not isinstance(model, VAE):
            raise DamagedModel(f"{path} holds a model of kind {model.kind!r}, which is no VAE")
    except DamagedModel:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        raise DamagedModel(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return model if device is None else model.to(device)


def _checksum(spec: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
