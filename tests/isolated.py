"""Code in a process of its own, where it may replace and change what belongs to the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
WARNINGS = [
    "-W", "error",
    "-W", "ignore:no column tells anything about the label:UserWarning",
]  # fmt: skip
"""As `pyproject.toml` has them for tests."""
BLOCK = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Missing())
"""


def run_alone(
    code: str,
    *arguments: object,
    without: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run code in a process of its own and return what it prints.

    Parameters
    ----------
    code : str
        Python code; an assertion that fails in it fails the test.
    arguments : object
        What the code finds in ``sys.argv[1:]``.
    without : sequence of str, default=()
        Packages that cannot be imported there.
    environment : mapping of str to str, optional
        Variables that differ from those of this process.
    folder : Path, optional
        The working folder.
    """
    paths = [str(ROOT / "src"), str(ROOT), str(ROOT / "tests")]
    block = BLOCK.format(names=tuple(without)) if without else ""
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-c", block + code, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONIOENCODING": "utf-8",
            **(environment or {}),
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
