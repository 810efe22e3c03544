"""Make the shipped models: ``python -m benchmarks.make_shipped [NAME ...]``, from the root of the repository.

The animals need no making: their table is the model. The others are written into the package, and the same versions of
the libraries give the same files. ``mnist`` needs the data set, in the folder that ``INFOPURSUIT_DATA`` names, to
encode its training images; only samples of the VAE are kept.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

from benchmarks import WEIGHTS, datasets
from benchmarks.vae_files import load_vae
from infopursuit import queries, shipped
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import save
from infopursuit.models import latent_classes
from infopursuit.models.networks.aggregate import aggregate
from infopursuit.models.networks.masked import Training
from infopursuit.pursuit.stopping import Confidence, InformationGain
from infopursuit.saving.files import LOCK
from infopursuit.strategies.generative.particles import decode
from infopursuit.strategies.hybrid.hybrid import Hybrid
from infopursuit.support.files import write_atomically

N_LATENTS, LIT_ABOVE = 16, 8
"""Digits of 8 x 8: latent states of each class, and the grey value above which a pixel is lit; `demo` tries several."""


def make_digits(folder: Path) -> None:
    """The 8 x 8 digits as in ``infopursuit demo``, learnt from the training images alone."""
    data = datasets.digits()
    classifier = InformationPursuitClassifier(
        queries=queries.patches(data.x_train.shape[1:], size=3, threshold=LIT_ABOVE),
        strategy=latent_classes(N_LATENTS),
        stopping=Confidence(0.01) | InformationGain(1e-3),
        random_state=0,
    )
    save(classifier.fit(data.x_train, data.y_train), folder)


def make_tumours(folder: Path) -> None:
    """Some columns of scikit-learn's breast cancer data, learnt from rows that ``infopursuit demo`` does not show."""
    import pandas as pd

    rows, labels, _, _ = shipped.tumours()
    strategy = Hybrid(n_members=3, training=Training(n_units=48))
    table = pd.DataFrame(rows, columns=list(shipped.TUMOUR_COLUMNS.values()))
    classifier = InformationPursuitClassifier(strategy=strategy, random_state=0)
    save(classifier.fit(table, pd.Series(labels, name="tumour")), folder)


def make_mnist(folder: Path) -> None:
    """The 28 x 28 digits: samples of the trained VAE, its prior the aggregate posterior of the training images."""
    data = datasets.mnist()
    asked = queries.patches(shipped.SHAPE, size=3, threshold=shipped.THRESHOLD)
    model = aggregate(
        load_vae(WEIGHTS / "mnist-vae.safetensors"), asked.observe(data.x_train).astype(np.int8), data.y_train
    )
    labels = torch.arange(shipped.N_CLASSES).repeat_interleave(shipped.N_SAMPLES)
    latents = model.draw_prior(labels, torch.Generator().manual_seed(0))
    save_samples(decode(model, latents, labels.numpy()), folder)


def save_samples(lit: Any, folder: Path) -> None:
    """Write decoded images, (states, pixels) between 0 and 1 and sorted by class."""
    levels = np.rint(np.asarray(lit) * (shipped.SHADES - 1)).astype(np.uint8)
    packed = np.frombuffer(lzma.compress(levels.tobytes(), preset=9), dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / shipped.SAMPLES, safetensors.numpy.save({"pictures": packed}))


MAKERS = {"digits": make_digits, "tumours": make_tumours, "mnist": make_mnist}


def main(argv: Sequence[str] | None = None) -> int:
    """Make some of them, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_shipped", description="Make the shipped models.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MAKERS)}; all where none is named")
    parser.add_argument("--out", type=Path, default=shipped.FOLDER, metavar="DIR", help="default: the package")
    args = parser.parse_args(argv)
    unknown = [name for name in args.names if name not in MAKERS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(MAKERS)}")
    torch.set_num_threads(1)  # sums over one thread have one order
    for name in args.names or MAKERS:
        n_bytes = make(name, args.out / name)
        print(f"{args.out / name}: {n_bytes:,} bytes")
    return 0


def make(name: str, folder: Path) -> int:
    """Make one model and put it in place of the old one; returns the bytes of its files.

    It is made elsewhere first: saved over the old model, it would leave the old tensors for a while.
    """
    with tempfile.TemporaryDirectory() as place:
        made = Path(place) / name
        MAKERS[name](made)
        (made / LOCK).unlink(missing_ok=True)

        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)

    return sum(file.stat().st_size for file in folder.iterdir())


if __name__ == "__main__":
    sys.exit(main())
