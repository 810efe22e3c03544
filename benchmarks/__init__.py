"""The paper's experiments, speed and load benches, crash harnesses and trained weights; run from the repository root.

``python -m benchmarks.reproduce``, ``python -m benchmarks.bench``, ``python -m benchmarks.startup``,
``python -m benchmarks.compare_commits``, ``python -m benchmarks.tables``, ``python -m benchmarks.train``,
``python -m benchmarks.make_shipped``.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
WEIGHTS = ROOT / "benchmarks" / "weights"


def environment(*paths: Path, **more: str) -> dict[str, str]:
    """The environment of a child process that imports from ``paths``, then from here, then as this one does."""
    inherited = os.environ.get("PYTHONPATH", "")
    found = [*(str(path) for path in paths), str(ROOT), str(ROOT / "src"), *filter(None, inherited.split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found), **more}
