"""The kill harness kills at the moments it says, sees what was lost, and finds nothing lost."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import environment
from benchmarks.hardening.dying import MOMENTS, die_at_write
from benchmarks.hardening.killed_tasks import TASKS, Task
from benchmarks.hardening.kills import bench_kills, kill

WRITES = """
import sys
from pathlib import Path
from infopursuit.support.files import write_atomically
from benchmarks.hardening.dying import die_at_write
die_at_write(int(sys.argv[2]), sys.argv[3])
for i in range(4):
    write_atomically(Path(sys.argv[1]) / "a", str(i).encode() * 10)
"""


@pytest.mark.parametrize(
    ("moment", "there", "beside"),
    [("half written", b"1" * 10, 5), ("before", b"1" * 10, 10), ("after", b"2" * 10, None)],
)
def test_it_dies_when_it_says(tmp_path, moment, there, beside):
    done = subprocess.run([sys.executable, "-c", WRITES, tmp_path, "3", moment], check=False, env=environment())
    assert done.returncode == -9
    assert (tmp_path / "a").read_bytes() == there
    assert [file.stat().st_size for file in tmp_path.glob(".a-*")] == ([] if beside is None else [beside])


def test_moments_that_are_none_are_refused():
    for n, moment in ((0, "before"), (1, "never")):
        with pytest.raises(ValueError, match="give a number from 1 on and one of half written, before, after"):
            die_at_write(n, moment)
    assert len(MOMENTS) == 3
    assert os.fsync.__module__ == "posix"  # nothing was arranged


@pytest.mark.slow
def test_what_is_lost_is_seen(tmp_path, monkeypatch):
    """A task that loses what it had when it is begun again is not the same in the end."""
    from benchmarks.hardening import kills

    code = """
import os, sys, time
from pathlib import Path
folder, careful = Path(sys.argv[1]), sys.argv[2] == "careful"
begun = folder / "begun"
if begun.exists() and not careful:
    (folder / "lost").write_text("x")
begun.write_text("")
time.sleep(0.3)
(folder / "result").write_text("1")
"""

    def start(command, n, moment):
        return subprocess.Popen([sys.executable, "-c", code, *command], stderr=subprocess.PIPE, text=True)

    monkeypatch.setattr(kills, "_start", start)
    monkeypatch.setattr(kills, "_run", lambda command: command == ["--version"] or start(command, 0, "").communicate())

    def result(folder):
        return sorted(file.name for file in Path(folder).iterdir())

    for how, same in (("careful", True), ("careless", False)):
        (tmp_path / how).mkdir()
        task = Task(how, "", lambda made, folder, how=how: [str(folder), how], result)
        # all kills from outside, soon after the start
        row = kill(task, tmp_path / how, 3, random.Random(4), lambda text: None)
        assert row["kills"] == 3
        assert row["brought to an end"] >= 1
        assert (row["same as undisturbed"] == row["brought to an end"]) == same


@pytest.mark.slow
def test_nothing_is_lost(tmp_path):
    """Two kills of the quickest task; the whole table is `python -m benchmarks.bench kills`."""
    quick = [task for task in TASKS if task.name == "explanation"]
    bench_kills(2, folder=tmp_path, say=lambda text: None, tasks=quick)
    told = json.loads((tmp_path / "kills.json").read_text())
    for row in told["tables"]["Processes killed with SIGKILL and started again"]:
        assert row["kills"] == 2
        assert row["same as undisturbed"] == row["brought to an end"] >= 1
        assert row["half-written files left over"] == 0
