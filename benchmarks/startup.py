"""``python -m benchmarks.startup``: start-up times as ratios, heavy imports, size of the wheel and of the source.

Times are the best of several runs, each in a process of its own and alternating, so that a busy moment hits all alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import ROOT, environment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from infopursuit import LAYERS

HEAVY = ("torch", "numba", "matplotlib", "pandas", "ray")
MAX_IMPORT_RATIO, MAX_HELP_RATIO, MAX_HELP_SECONDS, MAX_WHEEL_MB = 1.3, 1.5, 1.0, 5.0
COMMANDS = {
    "import infopursuit": ["-c", "import infopursuit"],
    "import the classifier": ["-c", "from infopursuit import InformationPursuitClassifier"],
    "import sklearn.ensemble": ["-c", "import sklearn.ensemble"],
    "infopursuit --help": ["-m", "infopursuit", "--help"],
    "import argparse, numpy": ["-c", "import argparse, numpy"],
}
ROOT_OF_PACKAGE = "root"
"""The modules of the package that are in no folder."""


def best_times(rounds: int) -> dict[str, float]:
    """Seconds of each command, the best of some alternating runs after one that does not count."""
    found = dict.fromkeys(COMMANDS, float("inf"))
    for k in range(rounds + 1):
        for name, arguments in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, *arguments], env=environment(), stdout=subprocess.DEVNULL, check=True)
            if k:
                found[name] = min(found[name], time.perf_counter() - begin)
    return found


def heavy_modules() -> list[str]:
    """Heavy libraries that the classifier loads and scikit-learn does not, which takes pandas where it is installed;
    the package itself loads nothing until a name is used."""
    code = (
        "import sys, json, sklearn.ensemble; before = set(sys.modules); import infopursuit.estimator.classifier; "
        f"print(json.dumps([m for m in {HEAVY!r} if m in set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def wheel_size() -> tuple[float, str]:
    """MB of the wheel, and how it was made: by hatchling, or where it is not installed by zipping the package."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "-q",
            "-w",
            place,
            str(ROOT),
        ]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return next(Path(place).glob("*.whl")).stat().st_size / 1e6, "pip wheel"
        file = Path(place) / "package.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path in package_files("*"):
                zipped.write(path, path.relative_to(ROOT / "src"))
        return file.stat().st_size / 1e6, "package zipped, hatchling is not installed"


def package_files(pattern: str) -> list[Path]:
    """Files of the package, without what Python has compiled."""
    found = (ROOT / "src" / "infopursuit").rglob(pattern)
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def source_sizes() -> list[dict[str, Any]]:
    """How many files and lines of Python each folder of the package has, and its longest file."""
    package = ROOT / "src" / "infopursuit"
    rows: dict[str, dict[str, Any]] = {
        name: {"folder": name, "files": 0, "lines": 0, "longest": "", "its lines": 0}
        for name in (ROOT_OF_PACKAGE, *LAYERS)
    }
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        row = rows[inside.parts[0] if len(inside.parts) > 1 else ROOT_OF_PACKAGE]
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        row["files"] += 1
        row["lines"] += n_lines
        if n_lines > row["its lines"]:
            row["longest"] = inside.as_posix()
            row["its lines"] = n_lines

    whole = {
        "folder": "all",
        "files": sum(row["files"] for row in rows.values()),
        "lines": sum(row["lines"] for row in rows.values()),
    }
    return [*rows.values(), whole]


def measure(rounds: int) -> dict[str, Any]:
    """Everything, with the bars."""
    seconds, heavy, (wheel, how), sizes = best_times(rounds), heavy_modules(), wheel_size(), source_sizes()
    package, classifier, sklearn, shown, plain = seconds.values()
    limit = MAX_HELP_RATIO * plain + MAX_HELP_SECONDS
    bars = [
        ("import infopursuit / import sklearn.ensemble", package / sklearn, MAX_IMPORT_RATIO),
        ("import the classifier / import sklearn.ensemble", classifier / sklearn, MAX_IMPORT_RATIO),
        ("infopursuit --help / (1.5 × import argparse, numpy + 1 s)", shown / limit, 1.0),
        ("heavy modules that the classifier loads", len(heavy), 0),
        (f"wheel, MB ({how})", wheel, MAX_WHEEL_MB),
    ]
    checks = [
        {"what": name, "measured": round(value, 3), "bar, at most": bar, "": "ok" if value <= bar else "MISSED"}
        for name, value, bar in bars
    ]
    return {
        "passed": all(check[""] == "ok" for check in checks),
        "rounds": rounds,
        "seconds_best": {name: round(value, 3) for name, value in seconds.items()},
        "heavy_modules": heavy,
        "checks": checks,
        "folders": sizes,
    }


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    result = measure(args.rounds)
    times = [{"command": name, "best, s": value} for name, value in result["seconds_best"].items()]
    say(plain_table(times), "", f"heavy modules: {', '.join(result['heavy_modules']) or 'none'}", "")
    say(plain_table(result["checks"]), "", plain_table(result["layers"]))
    say(f"written to {write_result(args.out, 'startup', 'python -m benchmarks.startup', result)}")
    return 0 if result["passed"] else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; the exit code is 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.startup", description="Start-up time, imports and size."
    )
    add_out(parser)
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="runs of each command (5)")
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
