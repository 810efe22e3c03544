"""``infopursuit convert``: a saved model of an older format written in the current one, and tried before it is kept."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.checks import pursuit_of
from infopursuit.engine import Pursuit
from infopursuit.model_files import VERSION, read_manifest
from infopursuit.serialization import load, load_for_command, save
from infopursuit.terminal import Terminal
from infopursuit.types import History, ImpossibleAnswer

EXAMPLES = ("infopursuit convert old-model new-model",)
N_PROBES, MAX_STEPS, TOLERANCE = 16, 12, 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``convert``."""
    parser.add_argument("old", type=Path, metavar="OLD", help="folder of a saved model, of this format or an older one")
    parser.add_argument("new", type=Path, metavar="NEW", help="folder to write, which must not be there yet")


def run(args: argparse.Namespace) -> int:
    """Read, write, read again, compare."""
    if args.new.exists():
        raise FileExistsError(f"{args.new} is there already; name a new folder")
    before = read_manifest(args.old)["version"]
    model = load_for_command(args.old)
    args.new.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.new.parent, prefix=f".{args.new.name}-") as place:
        save(model, Path(place) / "model")
        n = compare(pursuit_of(model), pursuit_of(load(Path(place) / "model")))
        shutil.move(Path(place) / "model", args.new)  # on one file system: in one step
    Terminal().say(f"format {before} to {VERSION}: the same questions and posteriors after {n:,} random histories")
    Terminal().say(f"written to {args.new}")
    return 0


def compare(old: Pursuit[Any], new: Pursuit[Any]) -> int:
    """How many random histories were asked about; `ValueError` where two pursuits differ after one of them."""
    rng, seen = np.random.default_rng(0), set[History]()
    for _ in range(N_PROBES):
        history: History = ()
        for _ in range(MAX_STEPS):
            try:
                one, other = (pursuit.propose(pursuit.at(history)) for pursuit in (old, new))
            except ImpossibleAnswer:
                break
            query = int(one.choice.query[0])
            same = np.allclose(one.state.posterior, other.state.posterior, rtol=0, atol=TOLERANCE)
            if query != int(other.choice.query[0]) or one.reason[0] != other.reason[0] or not same:
                raise ValueError(f"the model asks otherwise once it is converted, after {len(history)} answers")
            seen.add(history)
            if query < 0:
                break
            choices = old.queries.choices(query)
            chosen = old.queries.to_answer(query, choices[int(rng.integers(len(choices)))])
            history = (*history, (query, chosen))
    return len(seen)
