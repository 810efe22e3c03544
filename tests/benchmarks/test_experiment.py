"""Parts of experiments are made once, and anew when what they depend on has changed."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from benchmarks import machine
from benchmarks.experiment import PARTS, Experiment
from benchmarks.reproduce import build_parser


@dataclass(frozen=True)
class Settings:
    epochs: int = 3
    rates: tuple[float, ...] = (0.1, 0.01)


class Make:
    """Something that takes long, and counts how often it was done."""

    def __init__(self, result=None):
        self.calls, self.result = 0, {"accuracy": 0.9} if result is None else result

    def __call__(self):
        self.calls += 1
        return self.result


@pytest.fixture
def make():
    return Make()


@pytest.fixture
def said():
    return []


@pytest.fixture
def run(tmp_path, said):
    """An experiment in a folder of its own, as a command makes it anew each time."""

    def new(**changed):
        return Experiment(**{"name": "birds", "folder": tmp_path, "say": said.append, **changed})

    return new


def test_a_part_is_made_once_and_kept_for_later_runs(run, make, said):
    first = run().part("the tree", Settings(), make)
    make.result = {"accuracy": 0.1}
    assert run().part("the tree", Settings(), make) == first == {"accuracy": 0.9}
    assert make.calls == 1
    assert len(said) == 1
    assert said[0].startswith("the tree: kept from 20")


def test_parts_are_kept_apart_by_name_and_by_experiment(run, make):
    run().part("tree", 1, make)
    run().part("box", 1, make)
    run(name="words").part("tree", 1, make)
    assert make.calls == 3
    run().part("tree", 1, make)
    assert make.calls == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Settings(), Settings(epochs=4)),
        (Settings(), Settings(rates=(0.1,))),
        ([Settings(), 0.1], [Settings(), 0.2]),
        ({"weights": np.zeros(3)}, {"weights": np.ones(3)}),
        (Path("a"), Path("b")),
        (None, 0),
    ],
)
def test_other_settings_make_it_anew(run, make, before, after):
    for settings in (before, after, after):
        run().part("tree", settings, make)
    assert make.calls == 2


@pytest.mark.parametrize("changed", [{"seed": 1}, {"n_inputs": 50}])
def test_another_seed_or_number_of_inputs_makes_it_anew(run, make, changed):
    run().part("tree", 1, make)
    for _ in range(2):
        run(**changed).part("tree", 1, make)
    assert make.calls == 2


def test_settings_that_say_the_same_are_the_same(run, make):
    run().part("tree", {"a": 1, "b": (np.float64(0.5), Settings())}, make)
    run().part("tree", {"b": [0.5, asdict(Settings())], "a": 1}, make)
    run(say=print, progress=True).part("tree", {"b": [0.5, Settings()], "a": np.int64(1)}, make)
    assert make.calls == 1


def kept_file(folder):
    (file,) = (folder / PARTS).rglob("*.json")
    return file


def damaged(content):
    """Ways in which a file of a part can be of no use."""
    yield b""
    yield content[: len(content) // 2]
    yield b"\xff\xfe\x00"
    yield b"[]"
    yield b"null"
    for name in ("key", "when", "seconds", "result"):
        yield json.dumps({k: v for k, v in json.loads(content).items() if k != name}).encode()


@pytest.mark.parametrize("which", range(9))
def test_a_damaged_part_is_made_anew(run, make, tmp_path, which):
    run().part("tree", 1, make)
    file = kept_file(tmp_path)
    file.write_bytes(list(damaged(file.read_bytes()))[which])
    for _ in range(2):
        assert run().part("tree", 1, make) == {"accuracy": 0.9}
    assert make.calls == 2


def test_what_is_returned_is_the_same_at_once_and_later(run):
    """JSON has no tuples and no arrays: not even the run that makes a part may see them."""
    made = Make({"right": np.array([True, False]), "pair": (1, 2), "settings": Settings(), "file": Path("a/b")})
    results = [run().part("tree", 1, made) for _ in range(2)]
    plain = {"right": [True, False], "pair": [1, 2], "settings": {"epochs": 3, "rates": [0.1, 0.01]}, "file": "a/b"}
    assert results == [plain, plain]
    assert made.calls == 1


def test_what_cannot_be_kept_is_refused(run, tmp_path):
    with pytest.raises(TypeError, match="is no JSON data"):
        run().part("tree", 1, lambda: {"model": object()})
    with pytest.raises(TypeError, match="is no JSON data"):
        run().part("tree", Settings, lambda: 1)
    assert not list(tmp_path.rglob("*.json"))


def test_a_part_that_fails_leaves_nothing_and_the_one_before_stays(run, make, tmp_path):
    def fail():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        run().part("tree", 1, fail)
    assert not list(tmp_path.rglob("*.json"))
    run().part("tree", 1, make)
    with pytest.raises(RuntimeError, match="out of memory"):
        run().part("tree", 2, fail)
    run().part("tree", 1, make)
    assert make.calls == 1


def test_a_file_tells_what_it_was_made_of_and_when(run, make, tmp_path):
    ticks = count(0.0, 3.0)
    begin = datetime.now(UTC)
    run(seed=3, n_inputs=20, clock=lambda: next(ticks)).part("black box", Settings(), make)
    file = kept_file(tmp_path)
    assert file == run().file("black-box.json") == tmp_path / PARTS / "birds" / "black-box.json"
    content = json.loads(file.read_text())
    assert content["settings"] == [3, 20, {"epochs": 3, "rates": [0.1, 0.01]}]
    assert content["result"] == {"accuracy": 0.9}
    assert content["seconds"] == 3.0
    written = datetime.strptime(content["when"], "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    assert begin.replace(second=0, microsecond=0) <= written <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        ({}, "python -m benchmarks.reproduce birds"),
        ({"n_inputs": 40}, "python -m benchmarks.reproduce birds --inputs 40"),
        ({"seed": 2}, "python -m benchmarks.reproduce birds --seed 2"),
        ({"n_inputs": 40, "seed": 2}, "python -m benchmarks.reproduce birds --inputs 40 --seed 2"),
    ],
)
def test_the_result_says_how_and_where_it_was_taken(run, said, tmp_path, changed, command):
    whole = run(**changed).finish({"rows": [1, 2]})
    content = json.loads((tmp_path / "birds.json").read_text())
    assert content["command"] == command
    assert content["experiment"] == "birds"
    assert content["seed"] == changed.get("seed", 0)
    assert content["rows"] == [1, 2]
    assert {name: content["machine"][name] for name in ("processor", "cores", "python", "numpy")} == {
        name: machine.describe()[name] for name in ("processor", "cores", "python", "numpy")
    }
    assert {"when", "commit", "torch"} <= content["machine"].keys()
    assert whole == {name: content[name] for name in ("experiment", "seed", "seconds", "rows")}
    assert said == [f"written to {tmp_path / 'birds.json'}"]


def test_the_command_is_one_that_there_is(run, tmp_path):
    run(name="mnist", n_inputs=40, seed=2).finish({})
    *program, experiment, inputs, n, seed, m = json.loads((tmp_path / "mnist.json").read_text())["command"].split()
    assert program == ["python", "-m", "benchmarks.reproduce"]
    read = build_parser().parse_args([experiment, inputs, n, seed, m])
    assert (read.experiment, read.inputs, read.seed) == ("mnist", 40, 2)


def test_the_time_of_parts_that_were_kept_counts(run, tmp_path):
    """A run that goes on where another was stopped says what the whole of it took."""
    now = 100.0

    def clock():
        return now

    def slow(seconds):
        def work():
            nonlocal now
            now += seconds
            return seconds

        return work

    run(clock=clock, _begin=now).part("tree", 1, slow(50))
    now = 1000.0
    again = run(clock=clock, _begin=now)
    for name, seconds in (("tree", 50), ("tree", 50), ("box", 7), ("box", 7)):  # asked for twice, counted once
        again.part(name, 1, slow(seconds))
    assert now == 1007
    assert again.finish({})["seconds"] == 57
