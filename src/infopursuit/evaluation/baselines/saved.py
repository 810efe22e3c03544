"""A trained black box in one file, so that a comparison does not train it again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from safetensors import SafetensorError, safe_open

from infopursuit.evaluation.baselines.inputs import Inputs
from infopursuit.evaluation.baselines.network import Network, NetworkEpoch, NetworkSettings, build_network
from infopursuit.files import write_atomically
from infopursuit.models.training import RandomAffine
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import DamagedModel

KEY = "infopursuit.black-box"


def save_network(network: Network, file: Any) -> None:
    """Write a network to one file; an old one stays until the new one is whole."""
    path = Path(file)
    about = {
        "classes": np.asarray(network.classes).tolist(),
        "settings": asdict(network.settings),
        "history": [asdict(epoch) for epoch in network.history],
        "seconds": network.seconds,
    }
    weights = {name: tensor.contiguous() for name, tensor in network.module.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.torch.save(weights, metadata={KEY: json.dumps(about)}))


def load_network(file: Any, query_set: QuerySet) -> Network:
    """Read what `save_network` wrote, for the query set that the network was trained on."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that save_network() wrote")
    try:
        with safe_open(str(path), framework="pt") as stored:
            about = json.loads((stored.metadata() or {})[KEY])
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        given = about["settings"]
        moves = None if given["moves"] is None else RandomAffine(**given["moves"])
        settings = NetworkSettings(**{**given, "widths": tuple(given["widths"]), "moves": moves})
        inputs = Inputs(query_set)
        module = build_network(inputs, len(about["classes"]), settings)
        module.load_state_dict(weights)
        history = tuple(NetworkEpoch(**epoch) for epoch in about["history"])
        classes, seconds = np.asarray(about["classes"]), float(about["seconds"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedModel(
            f"file={str(path)!r} holds no black box for these {len(query_set)} queries, or is damaged: {error}"
        ) from None
    return Network(module.eval(), inputs, classes, settings, history, seconds)
