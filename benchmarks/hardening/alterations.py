"""All alterations of a model folder, by name, and the order in which they are tried."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.hardening import bytes_damage, manifest_damage, paths_damage, tensors_damage
from benchmarks.hardening.folder import ModelFolder

GROUPS: dict[str, Sequence[Callable[[ModelFolder, np.random.Generator], None]]] = {
    "bytes": bytes_damage.ALTERATIONS,
    "tensors": tensors_damage.ALTERATIONS,
    "manifest": manifest_damage.ALTERATIONS,
    "paths": paths_damage.ALTERATIONS,
}
ALTERATIONS = {alter.__name__.replace("_", " "): alter for group in GROUPS.values() for alter in group}
GROUP_OF = {alter.__name__.replace("_", " "): name for name, group in GROUPS.items() for alter in group}


@dataclass(frozen=True)
class Case:
    """One altered folder: which model, how it was altered, and whether the checksums were computed again."""

    number: int
    model: str
    alteration: str
    sealed: bool


def plan(n: int, models: Sequence[str]) -> list[Case]:
    """n cases: all alterations in turn, each round with other models, three of five sealed.

    Not one half: where what was a file is none any more there is nothing to seal, and half of all are to be sealed.
    """
    kinds = list(ALTERATIONS)
    cases = []
    for number in range(n):
        turn, kind = divmod(number, len(kinds))
        sealed = (turn + kind) % 5 not in (0, 2)
        model = models[(kind + turn // 2) % len(models)]
        cases.append(Case(number, model, kinds[kind], sealed))
    return cases


def altered(case: Case, seed: int, models: Path, folder: Path) -> tuple[Path, bool]:
    """Make one altered folder of a plan, from saved models in ``models``, and say whether its checksums are right.

    The same one for the same seed and case. Checksums of what is no file, or no JSON, cannot be computed again.
    """
    names = sorted(each.name for each in models.iterdir() if each.is_dir())
    other = names[(names.index(case.model) + 1 + case.number % (len(names) - 1)) % len(names)]
    copy = ModelFolder.copy(models / case.model, folder / f"{case.number}", models / other)
    ALTERATIONS[case.alteration](copy, np.random.default_rng([seed, case.number]))
    return copy.path, case.sealed and copy.seal()


def remove(folder: Path) -> None:
    """Take an altered folder away again, with what it may have left beside it."""
    shutil.rmtree(folder, ignore_errors=True)
    for beside in _beside(folder):
        beside.unlink(missing_ok=True)


def _beside(folder: Path) -> Iterator[Path]:
    return (folder.parent / f"{folder.name}-{what}" for what in ("outside", "moved"))
