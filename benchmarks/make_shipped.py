"""Make the models that come along: ``python -m benchmarks.make_shipped [NAME ...]``.

The animals need no making: their table is the model. The others are written into the package, and the same versions of
the libraries give the same files. ``mnist`` needs the data set, in the folder that ``INFOPURSUIT_DATA`` names, to
encode its training images; only what the VAE draws is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks import WEIGHTS
from benchmarks.program import say
from infopursuit import datasets, queries, storage
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.models import aggregate, latent_classes, load_vae
from infopursuit.posteriors.cloud import decode
from infopursuit.shipped import mnist
from infopursuit.shipped.catalog import FOLDER
from infopursuit.stopping import Confidence, InformationGain

WAYS, LIT_ABOVE = 16, 8
"""Digits of 8 x 8: latent states of each digit, and the grey value above which a pixel is lit; `demo` tries several."""


def make_digits(folder: Path) -> None:
    """The 8 x 8 digits as in ``infopursuit demo``, learnt from the training images alone."""
    data = datasets.digits()
    classifier = InformationPursuitClassifier(
        queries=queries.patches(data.x_train.shape[1:], size=3, threshold=LIT_ABOVE),
        model=latent_classes(WAYS),
        stopping=Confidence(0.01) | InformationGain(1e-3),
        random_state=0,
    )
    storage.save(classifier.fit(data.x_train, data.y_train), folder)


def make_mnist(folder: Path) -> None:
    """The 28 x 28 digits: draws of the trained VAE with the aggregate posterior of the training images as its prior."""
    data = datasets.mnist()
    asked = queries.patches(mnist.SHAPE, size=3, threshold=mnist.THRESHOLD)
    vae = load_vae(WEIGHTS / "mnist-vae.safetensors")
    model = aggregate(vae, asked.observe(data.x_train).astype(np.int8), data.y_train)
    labels = torch.arange(mnist.N_CLASSES).repeat_interleave(mnist.N_DRAWS)
    latents = model.draw_prior(labels, torch.Generator().manual_seed(0))
    mnist.save_pictures(decode(model, latents, labels).numpy(), folder)


MAKERS = {"digits": make_digits, "mnist": make_mnist}


def main(argv: Sequence[str] | None = None) -> int:
    """Make some of them, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_shipped", description="Make the shipped models.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MAKERS)}; all where none is named")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help="where they go (default: the package)")
    args = parser.parse_args(argv)
    unknown = [name for name in args.names if name not in MAKERS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(MAKERS)}")
    torch.set_num_threads(1)  # sums over one thread have one order
    for name in args.names or MAKERS:
        MAKERS[name](args.out / name)
        written = sum(file.stat().st_size for file in (args.out / name).iterdir())
        say(f"{args.out / name}: {written:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
