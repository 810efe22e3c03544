"""Animals, told apart by questions that anybody can answer.

``animals.csv`` has a row for each animal and a column for each question; a cell is *yes*, *no* or *sometimes*. It was
written by hand, from common knowledge, and is meant to be edited by hand. ``animals-questions.csv`` has the wording.

The model is naive Bayes: *sometimes* is a probability of a half, and *yes* and *no* are wrong with a probability of
`ERROR`, so that one wrong answer does not rule an animal out.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infopursuit import queries
from infopursuit.engine import Pursuit
from infopursuit.models.table import TableModel
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.types import FloatArray

TABLE, WORDING = "animals.csv", "animals-questions.csv"
CELLS = {"yes": 1.0, "no": 0.0, "sometimes": 0.5}
ERROR = 0.05
"""How probable it is that an answer is not what the table says."""
STOPPING = Confidence(0.05) | MaxQueries(25)


@dataclass(frozen=True)
class AnimalTable:
    """What is known: cells (animals, questions) are 1 for yes, 0 for no and 0.5 for sometimes."""

    animals: tuple[str, ...]
    names: tuple[str, ...]
    sentences: tuple[str, ...]
    cells: FloatArray

    def probabilities(self, error: float = ERROR) -> FloatArray:
        """(animals, questions) the probability of "yes"; firm answers are wrong with a probability of ``error``."""
        return np.asarray(np.where(self.cells == 0.5, 0.5, np.where(self.cells == 1, 1 - error, error)))


def read_animals(folder: Path) -> AnimalTable:
    """The table and the wording, checked; an error names the file and the line."""
    head, *rows = _rows(folder / TABLE)
    names = tuple(head[1:])
    for n, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise ValueError(f"{folder / TABLE}, line {n}: {len(row)} cells, but the first line has {len(head)}")
        wrong = [cell for cell in row[1:] if cell not in CELLS]
        if wrong:
            raise ValueError(f"{folder / TABLE}, line {n}: {wrong[0]!r} is none of {', '.join(CELLS)}")
    wording = dict(row for row in _rows(folder / WORDING)[1:] if len(row) == 2)
    missing = [name for name in names if name not in wording]
    if missing:
        raise ValueError(f"{folder / WORDING} has no wording for {missing[0]!r}; add a line")
    cells = np.array([[CELLS[cell] for cell in row[1:]] for row in rows])
    return AnimalTable(tuple(row[0] for row in rows), names, tuple(wording[name] for name in names), cells)


def load_animals(folder: Path) -> Pursuit:
    """The pursuit of animals."""
    table = read_animals(folder)
    n = len(table.animals)
    model = TableModel(np.full(n, 1 / n), None, table.probabilities())
    asked = queries.concepts(table.names, sentences=table.sentences)
    return Pursuit(model, asked, stopping=STOPPING, classes=table.animals)


def _rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))
