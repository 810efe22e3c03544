"""Digits of 28 x 28 pixels: what the trained VAE draws, decoded beforehand, as the latent states of a finite model.

Decoding tens of thousands of latents takes many seconds, so it is done once and for all: the pictures come along, eight
shades of grey and compressed. No image of the data set is among them, and none is needed. They are blurred when they
are read, for the reason that `models.soften` gives: a decoder is surer of its edges than it can be.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from infopursuit import queries
from infopursuit.engine import Pursuit
from infopursuit.files import write_atomically
from infopursuit.models.empirical import Blur
from infopursuit.posteriors.states import States
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.types import DamagedModel

FILE = "pictures.safetensors"
SHAPE, N_CLASSES, N_DRAWS = (28, 28), 10, 3000
SHADES = 8
THRESHOLD = 127.5
"""A pixel above it is lit; pixels go from 0 to 255."""
BLUR = Blur((0.7,), (0.02,), (0.02,), SHAPE)
STOPPING = Confidence(0.01) | MaxQueries(14)
N_STATES, N_SCREENED = 1024, 64
BLURRED = 3000
"""Pictures that are blurred at a time."""


def save_pictures(lit: Any, folder: Path) -> None:
    """Write what was decoded, (states, pixels) between 0 and 1 and sorted by class."""
    levels = np.rint(np.asarray(lit) * (SHADES - 1)).astype(np.uint8)
    packed = np.frombuffer(lzma.compress(levels.tobytes(), preset=9), dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, safetensors.torch.save({"pictures": torch.as_tensor(packed.copy())}))


def read_pictures(folder: Path) -> npt.NDArray[np.uint8]:
    """(states, pixels) shades from 0 to 7, sorted by class."""
    n_states, n_pixels = N_CLASSES * N_DRAWS, SHAPE[0] * SHAPE[1]
    try:
        packed = safetensors.torch.load((folder / FILE).read_bytes())["pictures"].numpy().tobytes()
        levels = lzma.LZMADecompressor().decompress(packed, max_length=n_states * n_pixels + 1)
    except (KeyError, SafetensorError, lzma.LZMAError) as error:
        raise DamagedModel(f"{folder / FILE} is damaged: {error}; install infopursuit again") from None
    if len(levels) != n_states * n_pixels:
        raise DamagedModel(f"{folder / FILE} is damaged: it holds {len(levels)} pixels; install infopursuit again")
    return np.frombuffer(levels, dtype=np.uint8).reshape(n_states, n_pixels)


def load_mnist(folder: Path) -> Pursuit:
    """The pursuit of 28 x 28 digits; pixels go from 0 to 255, those above 127.5 are lit."""
    asked = queries.patches(SHAPE, size=3, threshold=THRESHOLD)
    n_states = N_CLASSES * N_DRAWS
    log_prior = torch.full((n_states,), -float(np.log(n_states)), dtype=torch.float64)
    model = States(asked.atoms, log_prior, np.arange(N_CLASSES + 1) * N_DRAWS, _blurred(read_pictures(folder)))
    return Pursuit(model, asked, "bank", STOPPING, n_states=N_STATES, n_screened=N_SCREENED)


def _blurred(levels: npt.NDArray[np.uint8]) -> Tensor:
    """(states, pixels) the probability that each pixel is lit."""
    table = torch.empty(levels.shape, dtype=torch.float32)
    for start in range(0, len(levels), BLURRED):
        some = torch.as_tensor(levels[start : start + BLURRED].T.astype(np.float32))
        table[start : start + BLURRED] = BLUR.lit(some.div_(SHADES - 1), 0).T
    return table
