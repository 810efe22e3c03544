"""Start-up and side-by-side speed: what is measured is compared with the bars, and ratios are of medians."""

import json
from pathlib import Path

import pytest

from benchmarks import ROOT, compare_commits, startup

SECONDS = {
    "import infopursuit": 0.1,
    "classifier": 1.2,
    "import sklearn.ensemble": 1.0,
    "infopursuit --help": 1.1,
    "plain": 0.1,
}


@pytest.mark.parametrize(("own", "heavy", "missed"), [(1.2, [], 0), (1.4, ["torch"], 2)])
def test_bars(tmp_path, monkeypatch, capsys, own, heavy, missed):
    monkeypatch.setattr(startup, "best_times", lambda rounds: {**SECONDS, "classifier": own})
    monkeypatch.setattr(startup, "heavy_modules", lambda: heavy)
    monkeypatch.setattr(startup, "wheel_size", lambda: (4.0, "made up"))
    monkeypatch.setattr(startup, "MAX_LINES", 10**6)
    monkeypatch.setattr(startup, "MAX_CORE_LINES", 10**6)
    monkeypatch.setattr(startup, "MAX_FILES", 10**6)
    monkeypatch.setattr(startup, "MAX_FILE_LINES", 10**6)
    assert startup.main(["--out", str(tmp_path)]) == bool(missed)
    result = json.loads((tmp_path / "startup.json").read_text())
    assert sum(check[""] == "MISSED" for check in result["checks"]) == missed
    assert capsys.readouterr().out.count("MISSED") == missed
    assert {"commit", "processor"} <= result["machine"].keys()


def test_every_file_is_in_one_layer():
    *layers, whole = startup.source_sizes()
    files = [path for path in (ROOT / "src").rglob("*.py") if "__pycache__" not in path.parts]
    assert whole["files"] == sum(row["files"] for row in layers) == len(files)
    assert whole["its lines"] == max(len(path.read_text().splitlines()) for path in files)


def test_ratios_are_of_medians_and_trees_take_turns(monkeypatch):
    calls = []

    def child(tree, case, table, repeats):
        calls.append(tree.name)
        return {"ms": [10.0, 12.0, 50.0] if tree.name == "old" else [6.0, 5.0, 7.0]}

    monkeypatch.setattr(compare_commits, "_child", child)
    (row,) = compare_commits.compare({"base": Path("old"), "here": Path("new")}, ["mnist"], "vote", 2, 3)
    assert calls == ["old", "new", "new", "old"]
    assert (row["base"], row["here"], row["ratio"]) == (12.0, 6.0, 0.5)
