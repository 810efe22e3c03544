"""``python -m benchmarks.train EXPERIMENT --out FILE``: train the VAE of an experiment with images.

Stopped and called again, it goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.program import run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, train_images


def run(args: argparse.Namespace) -> int:
    """Train, or go on with a training that was stopped."""
    train_images(args.experiment, args.out, say=say, progress=True)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.train", description="Train the generative model of an experiment."
    )
    parser.add_argument("experiment", choices=list(IMAGE_SETS), help="whose model to train")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the weights go")
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
