"""Altered model folders, by the hundreds: each is refused with a clear error or loads as a right model. The table."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.hardening.alterations import GROUP_OF, Case, altered, plan, remove
from benchmarks.hardening.limits import MAX_MEMORY, MAX_SECONDS
from benchmarks.hardening.models import MODELS, write_models
from benchmarks.hardening.trial import ANOTHER, REFUSED, SAME, WRONG
from benchmarks.hardening.watched import Child
from benchmarks.machine import write_result
from infopursuit.support.progress import Progress

NAME = "hostile-models"
OUTCOMES = (REFUSED, SAME, ANOTHER, WRONG)


def try_folders(n: int, seed: int = 0, *, progress: bool | None = None) -> list[dict[str, Any]]:
    """n altered folders, each loaded in a child process: what was done to each, and what came of it."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name, Child() as child:
        models, work = Path(name) / "models", Path(name) / "altered"
        work.mkdir()
        write_models(models)
        with Progress("altered model folders", n, show=progress) as line:
            found = []
            for case in plan(n, list(MODELS)):
                found.append(_try(case, seed, models, work, child))
                line.advance()
        return found


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many came to what, by alteration; the most memory, and the longest."""
    kinds = {name: dict.fromkeys(OUTCOMES, 0) for name in GROUP_OF}
    for each in found:
        kinds[each["alteration"]][each["outcome"]] += 1
    largest, slowest = (max(found, key=lambda each: each[name]) for name in ("grown", "seconds"))
    return {
        "folders": len(found),
        "checksums_recomputed": sum(each["sealed"] for each in found),
        "outcomes": {outcome: sum(each["outcome"] == outcome for each in found) for outcome in OUTCOMES},
        "outcomes_with_checksums_recomputed": {
            outcome: sum(each["outcome"] == outcome and each["sealed"] for each in found) for outcome in OUTCOMES
        },
        "memory_limit_mib": MAX_MEMORY / 2**20,
        "memory_most_grown_mib": round(largest["grown"] / 2**20, 1),
        "memory_most_grown_by": f"{largest['alteration']} ({largest['model']})",
        "memory_peak_mib": round(max(each["peak"] for each in found) / 2**20, 1),
        "seconds_limit": MAX_SECONDS,
        "seconds_longest": round(slowest["seconds"], 3),
        "seconds_longest_by": f"{slowest['alteration']} ({slowest['model']})",
        "models": dict(Counter(each["model"] for each in found)),
        "alterations": {name: {"group": GROUP_OF[name], **counts} for name, counts in kinds.items()},
        "wrong": [each for each in found if each["outcome"] == WRONG],
        "tables": {"Altered model folders": [*_by_group(found), _counts("all", found)]},
    }


def _by_group(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    groups = dict.fromkeys(GROUP_OF.values())
    rows = [_counts(group, [each for each in found if GROUP_OF[each["alteration"]] == group]) for group in groups]
    return [*rows, _counts("with checksums computed again", [each for each in found if each["sealed"]])]


def _counts(what: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"altered": what, "folders": len(found), **{o: sum(e["outcome"] == o for e in found) for o in OUTCOMES}}


def markdown(result: dict[str, Any]) -> str:
    """The summary as a table: a row for each alteration."""
    rows = [f"| alteration | folders | {' | '.join(OUTCOMES)} |", f"| --- | {' | '.join(['--:'] * 5)} |"]
    for name, counts in result["alterations"].items():
        numbers = [counts[outcome] for outcome in OUTCOMES]
        rows.append(f"| {counts['group']}: {name} | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    total = [result["outcomes"][outcome] for outcome in OUTCOMES]
    rows.append(f"| **all** | **{result['folders']}** | {' | '.join(f'**{n}**' for n in total)} |")
    return "\n".join(rows)


def bench_folders(n: int, seed: int, *, folder: Path, say: Callable[[str], None] = print) -> bool:
    """Try, tell, and write ``hostile-models.json`` to a folder; whether nothing was wrong."""
    say(f"{n} altered model folders, seed {seed}; each may take {MAX_MEMORY / 2**20:g} MiB and {MAX_SECONDS:g} s")
    begin = time.perf_counter()
    result = summary(try_folders(n, seed, progress=True))
    result["seconds"] = round(time.perf_counter() - begin, 1)
    say("")
    for line in markdown(result).splitlines():
        say(line)
    say("")
    say(
        f"{result['checksums_recomputed']} with checksums computed again; at most {result['memory_most_grown_mib']:g} "
        f"MiB more memory ({result['memory_most_grown_by']}), {result['memory_peak_mib']:g} MiB in all; the longest "
        f"took {result['seconds_longest']:.2f} s ({result['seconds_longest_by']})"
    )
    for each in result["wrong"]:
        say(f"WRONG: {each['alteration']} ({each['model']}, case {each['number']}): {each['said']}")
    command = f"python -m benchmarks.bench hostile-models --number {n} --seed {seed}"
    say(f"written to {write_result(folder, NAME, command, {'seed': seed, **result})}")
    return not result["wrong"]


def _try(case: Case, seed: int, models: Path, work: Path, child: Child) -> dict[str, Any]:
    folder, sealed = altered(case, seed, models, work)
    told = child.ask({"folder": str(folder), "model": case.model, "sealed": sealed})
    remove(folder)
    return {"number": case.number, "model": case.model, "alteration": case.alteration, "sealed": sealed, **told}
