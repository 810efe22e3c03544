"""``python -m benchmarks.hardening.concurrent_saves``: models that two processes save to one folder at once.

Two processes save different models to the same folder, the second one some milliseconds after the first. Afterwards the
folder must hold one of the two models, whole. Then both save as fast as they can while a third one loads: each load
must give a model that somebody saved.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import environment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.estimator.card import write_model_card
from infopursuit.estimator.storage import load, save
from infopursuit.models import Sample, empirical
from infopursuit.models.empirical import EmpiricalModel, Flip
from infopursuit.models.table import TableModel
from infopursuit.pursuit.loop import Pursuit
from infopursuit.queries import concepts
from infopursuit.saving.files import CARD, LOCK
from infopursuit.strategies.generative.build import generative_pursuit

NAME = "concurrent-saves"
COMMAND = "python -m benchmarks.hardening.concurrent_saves"
OFFSETS_MS = (0, 1, 3, 10, 20, 30, 50, 100, 200, 300)
N_PAIRS = 200
N_LOADS = 1_000
BURST = 25
"""Models that each process saves before it is asked for more."""
TABLE = "table"
EMPIRICAL = "empirical"
"""The two kinds of models: one whose replaced tensors stay for a while, and one whose tensors do not."""

CONCEPTS = [f"mark {i}" for i in range(6)]
Row = dict[str, str | int]


def build_model(seed: int, kind: str = TABLE) -> Pursuit[TableModel] | Pursuit[EmpiricalModel]:
    """Build a small model whose tensors and classes tell its seed."""
    generator = np.random.default_rng(seed)
    queries = concepts(CONCEPTS)
    classes = [f"a{seed}", f"b{seed}", f"c{seed}"]
    if kind == TABLE:
        table = TableModel([0.5, 0.3, 0.2], None, generator.uniform(0.05, 0.95, (3, 6)))
        return generative_pursuit(table, queries, classes=classes)

    values = generator.integers(2, size=(12, 6))
    sample = Sample.of(queries.variables, queries.observe(values), np.arange(12) % 3)
    return generative_pursuit(empirical(Flip((0.1,))).fit(sample), queries, classes=classes)


def seed_of(pursuit: Pursuit[TableModel] | Pursuit[EmpiricalModel]) -> int:
    """Return the seed that a model was built from."""
    return int(str(pursuit.classes[0])[1:])


def is_intact(folder: Path, seeds: Sequence[int], *, check_card: bool) -> bool:
    """Whether a folder holds one of the models that were saved to it, with the card of that model."""
    try:
        pursuit = load(folder)
    except (OSError, ValueError):
        return False
    if seed_of(pursuit) not in seeds:
        return False

    return not check_card or (folder / CARD).read_text() == write_model_card(pursuit)


# ---- a process that saves -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saver:
    """A process that saves models when it is told to."""

    process: subprocess.Popen[str]

    def begin(self, folder: Path, seed: int, *, offset_ms: int = 0, n: int = 1, kind: str = TABLE) -> None:
        """Let it save ``n`` models, of which the first has a seed, after an offset."""
        assert self.process.stdin is not None
        print(offset_ms, seed, n, kind, folder, file=self.process.stdin, flush=True)

    def finish(self) -> str:
        """Wait until the models are saved; returns the error, empty where there is none."""
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        return answer.removeprefix("saved").strip() if answer else "the process has ended"


@contextmanager
def savers(n: int = 2) -> Iterator[list[Saver]]:
    """Start processes that save models; they end with the block."""
    command = [sys.executable, "-m", "benchmarks.hardening.concurrent_saves", "--saver"]
    with ExitStack() as stack:
        started = []
        for _ in range(n):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            stack.enter_context(process)
            started.append(Saver(process))

        # Each process has imported the package before the first offset counts.
        for saver in started:
            saver.finish()
        yield started


def run_saver() -> int:
    """Save the models that the lines of standard input name."""
    import infopursuit.estimator.classifier  # noqa: F401, it is needed by the first save

    say("saved")
    for line in sys.stdin:
        offset_ms, seed, n, kind, folder = line.rstrip("\n").split(" ", 4)
        pursuits = [build_model(int(seed) + i, kind) for i in range(int(n))]
        time.sleep(int(offset_ms) / 1000)
        try:
            for pursuit in pursuits:
                save(pursuit, folder)
        except (OSError, ValueError) as error:
            say(f"saved {type(error).__name__}: {error}")
        else:
            say("saved")
    return 0


# ---- the measurements -----------------------------------------------------------------------------------------------


def save_in_pairs(pair: Sequence[Saver], folder: Path, offset_ms: int, n: int, *, locks: bool = True) -> Row:
    """Save two models at once, again and again, and count the folders that hold none of them.

    Parameters
    ----------
    pair : sequence of two Saver
        The processes that save.
    folder : Path
        The folder, which need not exist.
    offset_ms : int
        Milliseconds between the beginnings of the two saves.
    n : int
        The number of pairs.
    locks : bool, default=True
        Whether the folder can be locked.
    """
    if not locks:
        folder.mkdir(parents=True)
        (folder / LOCK).symlink_to("nowhere")

    first, second = pair
    n_refused = 0
    n_lost = 0
    for seed in range(0, 2 * n, 2):
        first.begin(folder, seed)
        second.begin(folder, seed + 1, offset_ms=offset_ms)
        n_refused += sum(1 for saver in pair if saver.finish())
        n_lost += not is_intact(folder, (seed, seed + 1), check_card=locks)

    title = f"{offset_ms} ms" if locks else f"{offset_ms} ms, without locks"
    return {"offset": title, "pairs of saves": n, "saves refused": n_refused, "models lost": n_lost}


def load_during_saves(
    pair: Sequence[Saver],
    folder: Path,
    n_loads: int,
    read: Callable[[Path], int],
    *,
    title: str,
    kind: str = TABLE,
    burst: int = BURST,
) -> Row:
    """Load a model again and again while two processes save, and count the loads that fail.

    Parameters
    ----------
    pair : sequence of two Saver
        The processes that save.
    folder : Path
        The folder, which need not exist.
    n_loads : int
        The least number of loads.
    read : callable
        What loads the model of a folder and returns its seed.
    title : str
        What the row of the table is called.
    kind : {"table", "empirical"}
        The kind of the models.
    burst : int, default=BURST
        The number of models that each process saves before it is asked for more.
    """
    save(build_model(0, kind), folder)
    n_done = 0
    n_refused = 0
    n_saves = 0
    seeds_read = set()
    seeds = itertools.count(1, burst)
    while n_done < n_loads:
        for saver in pair:
            saver.begin(folder, next(seeds), n=burst, kind=kind)
        for saver in pair:
            with _watched(saver) as is_saving:
                while is_saving():
                    n_done += 1
                    try:
                        seeds_read.add(read(folder))
                    except (OSError, ValueError):
                        n_refused += 1
        n_saves += len(pair) * burst

    return {
        "what loads": title,
        "loads": n_done,
        "saves meanwhile": n_saves,
        "different models loaded": len(seeds_read),
        "loads refused": n_refused,
    }


@contextmanager
def _watched(saver: Saver) -> Iterator[Callable[[], bool]]:
    """Within it, tell whether a process still saves; an error of it is raised at the end."""
    with selectors.DefaultSelector() as selector:
        assert saver.process.stdout is not None
        selector.register(saver.process.stdout, selectors.EVENT_READ)
        yield lambda: not selector.select(timeout=0)

    error = saver.finish()
    if error:
        raise ValueError(f"a process that saves has failed: {error}")


def measure(n_pairs: int, n_loads: int, report: Callable[[str], None]) -> dict[str, object]:
    """Measure all pairs of saves and all loads."""
    from infopursuit.app.server.registry import load_folder

    begin = time.perf_counter()
    n_each = -(-n_pairs // len(OFFSETS_MS))
    loaders: dict[str, tuple[Callable[[Path], int], str]] = {
        "ip.load": (lambda folder: seed_of(load(folder)), TABLE),
        "ip.load, models that contain training data": (lambda folder: seed_of(load(folder)), EMPIRICAL),
        "the server": (lambda folder: seed_of(load_folder("model", folder).pursuit), TABLE),
    }
    with tempfile.TemporaryDirectory(prefix="saves-") as name, savers() as pair:
        place = Path(name)
        saved = []
        for offset_ms in OFFSETS_MS:
            saved.append(save_in_pairs(pair, place / f"{offset_ms}", offset_ms, n_each))
            report(f"{saved[-1]}")
        saved.append(save_in_pairs(pair, place / "unlocked", 0, n_each, locks=False))
        report(f"{saved[-1]}")

        loaded = []
        for title, (read, kind) in loaders.items():
            loaded.append(load_during_saves(pair, place / title, n_loads, read, title=title, kind=kind))
            report(f"{loaded[-1]}")

    failures = [row[column] for row in saved for column in ("saves refused", "models lost")]
    failures += [row["loads refused"] for row in loaded]
    return {
        "experiment": NAME,
        "passed": not any(failures),
        "seed": 0,
        "seconds": round(time.perf_counter() - begin, 1),
        "tables": {
            "Two processes that save to one folder": saved,
            "Loads while two processes save": loaded,
        },
    }


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    # Each save of an empirical model warns that it contains training data.
    logging.getLogger("infopursuit.estimator.saving").setLevel(logging.ERROR)
    if args.saver:
        return run_saver()

    result = measure(args.pairs, args.loads, say)
    tables = result["tables"]
    assert isinstance(tables, dict)
    for title, rows in tables.items():
        say("", title, "", plain_table(rows))

    command = f"{COMMAND} --pairs {args.pairs} --loads {args.loads}"
    say("", f"written to {write_result(args.out, NAME, command, result)}")
    if args.page is not None:
        update_page(args.page, args.out)
    return 0 if result["passed"] else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; the exit code is 1 where a model was lost, or a save or a load was refused."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Models that several processes save and load at once.")
    add_out(parser)
    add = parser.add_argument
    add("--pairs", type=positive, default=N_PAIRS, metavar="N", help=f"pairs of saves ({N_PAIRS})")
    add("--loads", type=positive, default=N_LOADS, metavar="N", help=f"loads of each kind ({N_LOADS:,})")
    add("--page", type=Path, metavar="FILE", help="a page whose tables are written again")
    add("--saver", action="store_true", help=argparse.SUPPRESS)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
