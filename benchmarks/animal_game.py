"""How well the animals that come along are found: answered as the table says, and with some answers wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write_result
from infopursuit.app.shipped import ERROR, AnimalTable, load_animals, read_animals
from infopursuit.pursuit.loop import Pursuit

SEEDS, FLIPPED = 20, 0.05
"""Games of each animal, and the share of the answers that are turned round in the second measurement."""


def play(pursuit: Pursuit[Any], table: AnimalTable, n_seeds: int, flipped: float = 0.0) -> dict[str, Any]:
    """All animals, ``n_seeds`` games each: every *sometimes* is drawn as yes or no, and a share of all answers flipped.

    >>> table = read_animals()
    >>> play(load_animals(), table, n_seeds=1)["games"] == len(table.animals)
    True
    """
    right, lengths, confused, stopped = [], [], [], []
    for seed in range(n_seeds):
        generator = np.random.default_rng(seed)
        answers = generator.random(table.cells.shape) < table.cells
        answers ^= generator.random(table.cells.shape) < flipped
        trace = pursuit.run(answers.astype(float))
        found = trace.predictions == np.array(table.animals)
        right.append(found)
        lengths.append(trace.length)
        stopped += list(trace.stop_reason)
        confused += [f"{table.animals[i]} taken for {trace.predictions[i]}" for i in np.flatnonzero(~found)]
    asked = np.concatenate(lengths)
    hits = np.stack(right)
    mistakes = sorted(set(confused), key=lambda pair: (-confused.count(pair), pair))
    return {
        "games": hits.size,
        "flipped": flipped,
        "accuracy": float(hits.mean()),
        "worst_animal_accuracy": float(hits.mean(axis=0).min()),
        "mean_length": float(asked.mean()),
        "most_questions": int(asked.max()),
        "stopped_by_confidence": float(np.mean([why == "confidence" for why in stopped])),
        "most_common_mistakes": {pair: confused.count(pair) for pair in mistakes[:5]},
    }


def bench_animals(*, folder: Path, say: Callable[[str], None], n_seeds: int = SEEDS) -> dict[str, Any]:
    """Play, tell, and write ``animals.json``."""
    table, pursuit = read_animals(), load_animals()
    result: dict[str, Any] = {
        "animals": len(table.animals),
        "questions": len(table.names),
        "error": ERROR,
        "stopping": str(pursuit.stopping),
        "seeds": n_seeds,
        "truthful": play(pursuit, table, n_seeds),
        "flipped": play(pursuit, table, n_seeds, FLIPPED),
    }
    for how, words in (("truthful", "answered truthfully"), ("flipped", f"{100 * FLIPPED:.0f} % of the answers wrong")):
        game = result[how]
        say(
            f"{words}: {100 * game['accuracy']:.1f} % of {game['games']} games end with the right animal, after "
            f"{game['mean_length']:.2f} questions on average (at the most {game['most_questions']})"
        )
    say(f"written to {write_result(folder, 'animals', 'python -m benchmarks.bench animals', result)}")
    return result
