"""Altered model folders: refused with a clear error, or right; in a process of its own, with little memory and time."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
import safetensors.numpy

import infopursuit
import infopursuit as ip
from benchmarks.hardening import alterations, manifest_damage, model_folders, trial
from benchmarks.hardening.folder import ModelFolder, own_checksum, read_tensors, write_tensors
from benchmarks.hardening.limits import MAX_MEMORY
from benchmarks.hardening.models import MODELS, write_models
from benchmarks.hardening.trial import ANOTHER, REFUSED, SAME, WRONG
from benchmarks.hardening.watched import Child
from infopursuit.saving import files as model_files
from isolated import run_alone

CLASSES = ["os.system", "builtins.eval", "infopursuit.models.networks.autoencoder.VAE", "__import__('os').abort()"]
PLACES = [
    ("pursuit", "belief", "model", "kind"),
    ("pursuit", "belief", "kind"),
    ("pursuit", "acquisition", "kind"),
    ("pursuit", "queries", "kind"),
    ("pursuit", "stopping", "kind"),
    ("classes", "kind"),
]
TWICE = manifest_damage._Raw('{"kind": "table", "kind": "table"}')
N = 2 * len(alterations.ALTERATIONS)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One of each kind of model, saved."""
    folder = tmp_path_factory.mktemp("small")
    write_models(folder)
    return folder


@pytest.fixture(scope="module")
def tried():
    """Every alteration twice, as the command does it a dozen times."""
    return model_folders.try_folders(N, seed=3, progress=False)


# ---- the run itself -------------------------------------------------------------------------------------------------


def test_every_altered_folder_is_refused_clearly_or_right(tried):
    assert [each for each in tried if each["outcome"] == WRONG] == []
    found = Counter(each["outcome"] for each in tried)
    assert found[REFUSED] > N / 2, "hardly anything was refused: are the folders altered?"
    assert found[SAME] + found[ANOTHER] > 5, "hardly anything was ever run"


def test_all_kinds_and_both_ways_of_checksums_are_tried(tried):
    assert {each["alteration"] for each in tried} == set(alterations.ALTERATIONS)
    assert {each["model"] for each in tried} == set(MODELS)
    sealed = sum(each["sealed"] for each in tried)
    assert 0.5 * N <= sealed <= 0.6 * N
    assert all(each["outcome"] != ANOTHER for each in tried if not each["sealed"])


def test_memory_is_measured_and_stays_small(tried):
    assert 0 < max(each["grown"] for each in tried) < MAX_MEMORY / 2
    assert max(each["peak"] for each in tried) < 2 * MAX_MEMORY


def test_the_summary_counts_every_folder_once(tried):
    result = model_folders.summary(tried)
    assert sum(result["outcomes"].values()) == result["folders"] == N
    assert sum(n for counts in result["alterations"].values() for key, n in counts.items() if key != "group") == N
    table = model_folders.markdown(result)
    assert len(table.splitlines()) == len(alterations.ALTERATIONS) + 3
    assert "| paths: pipe in place of a file | 2 |" in table
    wrong = [{**tried[0], "outcome": WRONG}, *tried[1:]]
    assert model_folders.summary(wrong)["outcomes"][WRONG] == 1


def test_the_command_writes_a_result_and_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    from benchmarks.bench import main as run_bench  # which imports all that is ever measured

    def found(outcome):
        case = {"number": 0, "model": "vae", "alteration": "truncate", "sealed": False, "said": "what was said"}
        return lambda *_, **__: [{**case, "outcome": outcome, "seconds": 0.1, "grown": 2**20, "peak": 2**29}]

    for outcome, code in ((REFUSED, 0), (WRONG, 1)):
        monkeypatch.setattr(model_folders, "try_folders", found(outcome))
        assert run_bench(["hostile-models", "--number", "1", "--out", str(tmp_path)]) == code
        written = json.loads((tmp_path / "hostile-models.json").read_text())
        assert written["outcomes"][outcome] == 1
        assert written["command"] == "python -m benchmarks.bench hostile-models --number 1 --seed 0"
        assert ("WRONG: truncate (vae, case 0): what was said" in capsys.readouterr().out) == bool(code)


# ---- that it can fail -----------------------------------------------------------------------------------------------


@pytest.fixture
def judged(models, tmp_path):
    """Alter a small model in a way of our own and judge it here; returns the verdict."""

    def judge(name, alter, *, sealed=True):
        small = MODELS[name]()
        folder = ModelFolder.copy(models / name, tmp_path / "altered")
        alter(folder)
        if sealed:
            assert folder.seal()
        expected = trial.behaviour(small.thing, small.inputs)
        return trial.judge(folder.path, small, expected, sealed=sealed)

    return judge


def test_what_was_not_altered_is_right(judged):
    assert judged("concepts", lambda folder: None).outcome == SAME


def _other_probabilities(folder):
    probs = folder.tensors()["probs"].data
    other = (1 - np.frombuffer(probs)).tobytes()  # of yes/no variables: no and yes exchanged
    folder.payload_file.write_bytes(folder.payload_file.read_bytes().replace(probs, other))


@pytest.mark.parametrize(("sealed", "outcome"), [(True, ANOTHER), (False, REFUSED)])
def test_another_probability_is_another_model_only_with_right_checksums(sealed, outcome, judged):
    assert judged("words", _other_probabilities, sealed=sealed).outcome == outcome


def test_a_checksum_that_is_not_checked_is_found_out(judged, monkeypatch):
    """Breaking the reader must turn the verdict: else the run above would prove nothing."""
    monkeypatch.setattr(model_files, "_checksum", lambda stream: ANY)
    verdict = judged("words", _other_probabilities, sealed=False)
    assert verdict.outcome == WRONG
    assert "checksums should have told" in verdict.said


def test_a_check_that_is_missing_is_found_out(judged, monkeypatch):
    def nan(folder):
        tensors = folder.tensors()
        tensors["probs"].data = np.full(len(tensors["probs"].data) // 8, np.nan).tobytes()
        folder.write_tensors(tensors)

    from infopursuit.models import table

    monkeypatch.setattr(table, "check_probs", lambda probs, variables: None)
    assert judged("words", nan).outcome == WRONG


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (KeyError("x"), True),
        (MemoryError(), True),
        (RecursionError("too deep"), True),
        (ip.ModelFormatError("two\nlines of it, which nobody wants"), True),
        (ip.ModelFormatError("short"), True),
        (ip.ModelFormatError("x" * 2000), True),
        (ip.ModelFormatError("half a character \ud800 in the text"), True),
        (ValueError("not damaged but something else"), True),
        (ip.ModelFormatError("manifest.json says what it should not"), False),
    ],
)
def test_only_a_clear_error_counts_as_one(error, wrong, judged, monkeypatch):
    def load(folder):
        raise error

    monkeypatch.setattr(trial, "load", load)
    assert judged("concepts", lambda folder: None).outcome == (WRONG if wrong else REFUSED)


class _Slow(Child):
    """A child that does something else than judging."""

    def __init__(self, code, seconds):
        super().__init__(seconds=seconds)
        self.code = code

    def _start(self):
        import subprocess
        import sys

        self._process = subprocess.Popen(
            [sys.executable, "-c", self.code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self._process


@pytest.mark.parametrize(
    ("code", "seconds", "said"),
    [
        ("import time; time.sleep(600)", 1.0, "took longer than 1 s"),
        ("import os; os.abort()", 300.0, "the process died (-6)"),
    ],
)
def test_a_child_that_hangs_or_dies_is_wrong_and_replaced(code, seconds, said):
    with _Slow(code, seconds) as child:
        verdict = child.ask({})
        assert (verdict["outcome"], verdict["said"]) == (WRONG, said)
        assert child._process is None
        assert child.n_lost == 1


# ---- the tools ------------------------------------------------------------------------------------------------------


def test_sealing_gives_the_checksums_of_the_package(models, tmp_path):
    folder = ModelFolder.copy(models / "vae", tmp_path / "copy")
    manifest = folder.manifest()
    assert manifest["sha256"] == own_checksum(manifest) == model_files.own_checksum(manifest)
    manifest["written_by"] = {"somebody": "else"}
    folder.write_manifest(manifest)
    with pytest.raises(ip.ModelFormatError, match="checksum does not agree"):
        ip.load(folder.path)
    assert folder.seal()
    ip.load(folder.path)


def test_tensors_are_taken_apart_and_put_together_as_the_library_does(models):
    payload = next((models / "columns").glob("*.safetensors")).read_bytes()
    tensors = read_tensors(payload)
    theirs = safetensors.numpy.load(payload)
    assert {name: tuple(each.shape) for name, each in theirs.items()} == {n: tuple(t.shape) for n, t in tensors.items()}
    again = safetensors.numpy.load(write_tensors(tensors))
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(again[name], tensor)


def test_a_plan_is_the_same_for_the_same_seed(models, tmp_path):
    for case in alterations.plan(N, list(MODELS))[:: len(MODELS)]:
        contents = []
        for run in "ab":
            (tmp_path / run).mkdir(exist_ok=True)
            folder, sealed = alterations.altered(case, 5, models, tmp_path / run)
            files = (f for f in sorted(folder.iterdir()) if f.is_file() and not f.is_symlink())
            contents.append((sealed, [f.read_bytes() if f.stat().st_size < 2**24 else f.stat().st_size for f in files]))
            alterations.remove(folder)
        assert contents[0] == contents[1], case


# ---- single mends ---------------------------------------------------------------------------------------------------


def _set(*path_and_value):
    *path, last, value = path_and_value

    def alter(folder):
        manifest = folder.manifest()
        inner = manifest
        for key in path:
            inner = inner[key]
        inner[last] = value
        manifest_damage._write(folder, manifest)

    return alter


@pytest.mark.parametrize(
    ("model", "alter", "message"),
    [
        ("columns", _set("pursuit", "queries", "spec", "fields", 0, "name", "gone"), "each called like a column"),
        ("columns", _set("pursuit", "queries", "spec", "fields", 0, "name", []), "name is []; expected a text"),
        (
            "columns",
            _set("pursuit", "queries", "spec", "fields", 0, "thresholds", [3.0, 2.0]),
            "not in ascending order",
        ),
        (
            "columns",
            _set("pursuit", "queries", "spec", "fields", 0, "thresholds", [float("nan")]),
            "expected a list of finite numbers",
        ),
        ("columns", _set("pursuit", "queries", "spec", "fields", 1, "categories", ["a", "a", "b"]), "has a text twice"),
        ("columns", _set("pursuit", "queries", "spec", "sentences", 1, []), "sentences is ["),
        ("columns", _set("pursuit", "queries", "spec", "named", 1), "named is 1; expected true or false"),
        (
            "concepts",
            _set("pursuit", "queries", "spec", "names", "abcdef"),
            "names is 'abcdef'; expected a list of texts",
        ),
        ("concepts", _set("pursuit", "queries", "spec", "sentences", 0, [1]), "expected a list of texts"),
        ("words", _set("pursuit", "queries", "spec", "forms", [["a"]]), "stems and forms do not fit"),
        ("words", _set("pursuit", "queries", "spec", "stem", "no"), "stem is 'no'; expected true or false"),
        (
            "patches",
            _set("pursuit", "queries", "spec", "shape", [10**9, 10**9]),
            "more than 1048576; use smaller images",
        ),
        ("patches", _set("pursuit", "queries", "spec", "threshold", float("nan")), "threshold is nan"),
        ("patches", _set("pursuit", "queries", "spec", "stride", [1.0, 1]), "expected 2 whole numbers from 1 on"),
        (
            "panels",
            _set("pursuit", "queries", "spec", "groups", [[7, ["age"]]]),
            "names is [7]; expected a list of texts",
        ),
        ("vae", _set("pursuit", "belief", "settings", "n_moves", 10**9), "n_moves=1000000000 is more than 10,000"),
        ("chains", _set("pursuit", "belief", "settings", "burn_in", 10**9), "burn_in=1000000000 is more than 10,000"),
        ("words", _set("classes", "values", 0, "\ud800"), "half a character"),
        ("words", _set("pursuit", "belief", "model", "dtype", "x" * 100_000), "see 'belief' in its manifest.json"),
        ("words", _set("version", True), "version True; expected 4"),
        (
            "words",
            _set("pursuit", "belief", "model", TWICE),
            "'kind' stands there twice",
        ),
    ],
)
def test_what_once_went_through(model, alter, message, models, tmp_path):
    folder = ModelFolder.copy(models / model, tmp_path / "copy")
    alter(folder)
    folder.seal()
    with pytest.raises(ip.ModelFormatError) as caught:
        ip.load(folder.path)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_file_that_is_longer_than_its_header_says_is_not_read(models, tmp_path, monkeypatch):
    folder = ModelFolder.copy(models / "words", tmp_path / "copy")
    content = folder.payload_file.read_bytes()
    manifest = folder.manifest()
    manifest["tensors"]["bytes"] = 2**40
    folder.write_manifest(manifest)
    with folder.payload_file.open("r+b") as stream:
        stream.truncate(2**40)
    folder.seal()  # that of the manifest; nobody computes the checksum of a terabyte
    with pytest.raises(ip.ModelFormatError, match="models are smaller"):
        ip.load(folder.path)
    monkeypatch.setattr(model_files, "MAX_TENSORS", 2**41)
    with pytest.raises(ip.ModelFormatError, match="would not end where the file does"):
        ip.load(folder.path)
    assert len(content) < 10_000


READ_ONLY = """
import builtins
import importlib
import sys
from pathlib import Path

import infopursuit as ip

original, *altered = map(Path, sys.argv[1:])
ip.load(original)  # what is imported where it is needed is there now


def refuse(*arguments, **options):
    raise AssertionError(f"reading a model imports or runs something: {arguments[:1]}")


def watched(name, *arguments, real=builtins.__import__, **options):
    assert name.split(".")[0] not in ("subprocess", "ctypes", "pickle"), name
    return real(name, *arguments, **options)


importlib.import_module = refuse
builtins.__import__ = watched
builtins.eval = builtins.exec = builtins.compile = refuse
for folder in altered:
    try:
        ip.load(folder)
    except ip.ModelFormatError:
        print(folder.name)
"""


def test_a_manifest_cannot_name_a_class_or_a_module(models, tmp_path):
    """Names are looked up in tables of this package, nowhere else: nothing is imported while a folder is read."""
    kinds = (
        "os.system",
        "builtins.eval",
        "infopursuit.models.networks.autoencoder.VAE",
        "__import__('os').abort()",
    )
    altered = []
    for i, (place, kind) in enumerate(product(PLACES, kinds)):
        folder = ModelFolder.copy(models / "words", tmp_path / f"copy-{i}")
        _set(*place, kind)(folder)
        assert folder.seal()
        altered.append(folder.path)

    refused = run_alone(READ_ONLY, models / "words", *altered)
    assert refused.splitlines() == [path.name for path in altered]


def test_no_module_that_reads_models_imports_by_name_or_runs_text():
    """What reads a folder has no way to turn a text into code."""
    import ast

    root = Path(infopursuit.__file__).parent
    folders = ("models", "queries", "pursuit", "calibration", "strategies", "saving")
    alone = ("estimator/storage.py", "estimator/assessment.py", "estimator/tuning.py")
    files = [*(root / name for name in alone), *(file for name in folders for file in (root / name).rglob("*.py"))]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "__import__", "globals"), file
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert not names & {"importlib", "runpy", "subprocess"}, file
