"""Saved models: the same traces, the old model after a crash, and nothing believed without a check."""

import ast
import copy
import hashlib
import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

import infopursuit as ip
from infopursuit.models import Blur, Flip, empirical, latent_classes, naive_bayes
from infopursuit.pursuit.protocols import Acquisition, Belief
from infopursuit.pursuit.stopping import Rule
from infopursuit.saving import files as model_files
from infopursuit.saving import registry
from infopursuit.support import files

TESTS = Path(__file__).parent
SOURCES = Path(ip.__file__).parent


# ---- one of everything that can be saved ----------------------------------------------------------------------------


def table(n=80, seed=0):
    """A frame with numbers, categories, yes/no and dates, and unknown values among them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.uniform(20, 80, n), 1),
            "bill": rng.choice(["hooked", "dagger", "cöne"], n),
            "smoker": rng.random(n) < 0.4,
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    y = np.where((frame["age"] > 50) ^ (frame["bill"] == "dagger"), "ill", "well")
    return frame.mask(rng.random(frame.shape) < 0.1), y


def marks(n=60, seed=0):
    """A 0/1 matrix with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = (
        rng.random((n, 9)) < np.array([[0.9] * 3 + [0.2] * 6, [0.2] * 3 + [0.9] * 3 + [0.2] * 3, [0.5] * 9])[y]
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def pictures(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = np.zeros((n, 5, 6))
    for image, side in zip(X, y, strict=True):
        image[1:4, 3 * side : 3 * side + 3] = 1
    return np.abs(X - (rng.random(X.shape) < 0.1)), y


def texts(n=40):
    words = [["trailer", "film", "actor"], ["senate", "votes", "law"]]
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    return [" ".join(rng.permutation(words[c])[:2]) if i % 9 else None for i, c in enumerate(y)], y


def classifier(queries, model, **options):
    options = {"stopping": ip.Confidence(0.05), **options}
    return lambda X, y: ip.InformationPursuitClassifier(queries=queries, strategy=model, **options).fit(X, y)


def named(y):
    return np.array(["no", "yes, 'ß'", "☃"])[y]


def gappy_pictures():
    X, y = pictures()
    return np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X), y.astype(float)


FUNCTIONS = {
    "sum is large": lambda X: np.nansum(X, axis=1) > 4,
    "first": lambda X: [None if np.isnan(x[0]) else ("low", "high")[int(x[0])] for x in X],
}
CHOICES = {"first": ["low", "high", "never"]}
NAMES = [f"mark {i}" for i in range(9)]


def pursuit_alone(X, y):
    model = naive_bayes(1.0).fit(
        ip.models.Sample.of(ip.queries.concepts(NAMES).variables, ip.queries.concepts(NAMES).observe(X), y)
    )
    rule = ip.Confidence(0.1, patience=2) | ip.InformationGain(0.001) | ip.MaxQueries(7)
    options = {"n_states": 2, "n_screened": 3, "memory_limit": 2**20, "exact_gains": False}
    return ip.generative_pursuit(
        model, ip.queries.concepts(NAMES), stopping=rule, patience=1, seed=5, classes=["a", "b", "c"], **options
    )


# name: (inputs and labels, how to fit, functions)
THINGS = {
    "columns, naive Bayes": (table, classifier(None, naive_bayes(1.0)), None),
    "columns, yes/no, mixture": (table, classifier(ip.queries.columns(yes_no=True, bins=4), latent_classes(3)), None),
    "columns, examples": (table, classifier(None, empirical(Flip())), None),
    "concepts, mixture": (
        lambda: (marks()[0], named(marks()[1])),
        classifier(ip.queries.concepts(NAMES), latent_classes(2)),
        None,
    ),
    "concepts, examples": (marks, classifier(ip.queries.concepts(NAMES), empirical(Flip((0.1,)))), None),
    "concepts, chosen": (
        lambda: (marks()[0], marks()[1] > 0),
        classifier(ip.queries.concepts(NAMES), "auto", patience=1),
        None,
    ),
    "concepts, other prior": (
        marks,
        lambda X, y: ip.InformationPursuitClassifier(ip.queries.concepts(NAMES), "empirical").fit(
            X, y, class_prior=[0.7, 0.3, 0.0]
        ),
        None,
    ),
    "patches, float32": (pictures, classifier(None, naive_bayes(1.0), dtype="float32"), None),
    "patches, blur": (pictures, classifier(None, empirical(Blur((0.6,), (0.02,)))), None),
    "patches, blur, gaps": (gappy_pictures, classifier(ip.queries.patches((5, 6), size=2), empirical("blur")), None),
    "patches, blur, float64": (
        gappy_pictures,
        classifier(None, empirical(Blur((0.5, 1.0), (0.02, 0.1))), dtype="float64"),
        None,
    ),
    "words": (texts, classifier(ip.queries.words(min_count=1, stop_words=["law"]), "table", random_state=3), None),
    "functions": (marks, classifier(ip.queries.functions(FUNCTIONS, choices=CHOICES), naive_bayes(1.0)), FUNCTIONS),
    "one function": (
        marks,
        classifier(ip.queries.functions(np.nan_to_num, names=NAMES, threshold=0.5), naive_bayes(1.0)),
        np.nan_to_num,
    ),
    "pursuit": (marks, pursuit_alone, None),
}


def explain(thing, X):
    return thing.run(X) if isinstance(thing, ip.Pursuit) else thing.explain(X)


def arrays(trace):
    names = (
        "queries",
        "answers",
        "gains",
        "gain_errors",
        "posteriors",
        "length",
        "settled_at",
        "stop_reason",
        "classes",
    )
    return {name: getattr(trace, name) for name in names}


def assert_same(one, other, tolerance=1e-9):
    """The same queries, answers, lengths and reasons, and numbers that agree."""
    for name, array in arrays(one).items():
        found = arrays(other)[name]
        if array.dtype.kind == "f":
            np.testing.assert_allclose(found, array, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(found, array, err_msg=name)


def plain(trace):
    """What a trace says, as JSON has it."""
    return {name: getattr(trace, name).tolist() for name in ("queries", "answers", "length", "posterior")}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every thing fitted and saved once: name to (folder, thing, inputs, functions)."""
    root = tmp_path_factory.mktemp("models")
    found = {}
    for number, (name, (make, fit, functions)) in enumerate(THINGS.items()):
        X, y = make()
        thing = fit(X, y)
        ip.save(thing, root / f"{number}")
        found[name] = (root / f"{number}", thing, X, functions)
    return found


@pytest.fixture
def model(tmp_path):
    """A small classifier of the tests below, its folder and its inputs."""
    X, y = marks()
    clf = classifier(ip.queries.concepts(NAMES), latent_classes(2))(X, y)
    clf.save(tmp_path / "model")
    return clf, tmp_path / "model", X


# ---- round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THINGS)
def test_what_comes_back_gives_the_same_trace(name, saved):
    folder, thing, X, functions = saved[name]
    again = ip.load(folder, functions=functions)
    assert type(again) is type(thing)
    assert_same(explain(thing, X), explain(again, X))


def test_another_process_gives_the_same_traces(saved):
    script = (
        "import sys, json\n"
        "import infopursuit as ip, test_serialization as t\n"
        "found = {}\n"
        "for name, folder in json.loads(sys.stdin.read()).items():\n"
        "    make, _, functions = t.THINGS[name]\n"
        "    found[name] = t.plain(t.explain(ip.load(folder, functions=functions), make()[0]))\n"
        "print(json.dumps(found))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES.parent), str(TESTS)])}
    folders = json.dumps({name: str(folder) for name, (folder, *_) in saved.items()})
    run = subprocess.run(
        [sys.executable, "-c", script], input=folders, capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    for name, found in json.loads(run.stdout).items():
        expected = plain(explain(saved[name][1], saved[name][2]))
        np.testing.assert_allclose(found.pop("posterior"), expected.pop("posterior"), atol=1e-9, err_msg=name)
        assert found == expected, name


@pytest.mark.parametrize("name", THINGS)
def test_saving_what_came_back_writes_the_same_files(name, saved, tmp_path):
    folder, _, _, functions = saved[name]
    ip.save(ip.load(folder, functions=functions), tmp_path)
    one, two = (json.loads((f / "manifest.json").read_text()) for f in (folder, tmp_path))
    assert one["tensors"] == two["tensors"]
    for part in ("classes", "pursuit"):
        assert one[part] == two[part]
    assert (tmp_path / "CARD.md").read_text() == (folder / "CARD.md").read_text()


def test_a_classifier_that_came_back_is_a_classifier(saved):
    folder, clf, X, _ = saved["columns, naive Bayes"]
    again = ip.load(str(folder))
    assert again.feature_names_in_.tolist() == ["age", "bill", "smoker", "since"]
    assert again.n_features_in_ == 4
    assert again.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    prior = {"ill": 0.9, "well": 0.1}
    np.testing.assert_array_equal(again.predict_proba(X, class_prior=prior), clf.predict_proba(X, class_prior=prior))
    with pytest.raises(ValueError, match="Feature names"):
        again.predict(X.rename(columns={"age": "years"}))
    session, other = clf.session([("bill", "cöne")]), again.session([("bill", "cöne")])
    assert session.question == other.question
    np.testing.assert_array_equal(session.posterior, other.posterior)
    again.fit(X, table()[1])
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_settings_come_back(saved):
    folder, pursuit, _, _ = saved["pursuit"]
    again = ip.load(folder)
    assert again.stopping == pursuit.stopping
    assert (again.patience, again.seed, again.memory_limit) == (1, 5, 2**20)
    assert again.acquisition == pursuit.acquisition
    assert (again.acquisition.exact, again.acquisition.n_states, again.acquisition.n_screened) == (False, 2, 3)
    again = ip.load(saved["concepts, chosen"][0])
    assert (again.strategy, again.patience, again.stopping) == ("auto", 1, ip.Confidence(0.05))
    again = ip.load(saved["words"][0])
    assert (again.random_state, again.pursuit_.seed, again.dtype) == (3, 3, None)
    assert ip.load(saved["patches, float32"][0]).dtype == "float32"
    assert ip.load(saved["concepts, other prior"][0]).stopping == "auto"
    np.testing.assert_allclose(
        ip.load(saved["concepts, other prior"][0]).model_.class_prior, [0.7, 0.3, 0.0], atol=1e-12
    )


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-5, 2**40], ["", 'Ω \\ " \n'], [False, True], [0.0, 2.0]],
    ids=["int", "large", "str", "bool", "float"],
)
def test_labels_come_back_in_their_type(labels, tmp_path):
    X = np.array([[0.0], [1.0]] * 10)
    clf = ip.InformationPursuitClassifier(strategy=naive_bayes(1.0)).fit(X, labels * 10)
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    assert again.classes_.tolist() == labels
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in labels]
    assert again.predict(X).tolist() == labels * 10


def test_functions_are_code_and_must_be_given_again(saved):
    folder, _, _, functions = saved["functions"]
    with pytest.raises(ValueError, match=r"functions is None; functions are not saved; give functions=\.\.\."):
        ip.load(folder)
    with pytest.raises(ValueError, match="functions has no entry 'first'"):
        ip.load(folder, functions={"sum is large": functions["sum is large"]})
    with pytest.raises(ValueError, match="functions is 5"):
        ip.load(folder, functions=5)
    assert "lambda" not in (folder / "manifest.json").read_text()


def test_numbers_of_numpy_are_numbers(tmp_path):
    X, y = marks()
    rule = ip.MaxQueries(np.int32(4)) | ip.Confidence(np.float32(0.25))
    ip.InformationPursuitClassifier(
        strategy="table", stopping=rule, patience=np.int64(1), random_state=np.int64(2)
    ).fit(X, y).save(tmp_path)
    again = ip.load(tmp_path)
    assert again.stopping == ip.MaxQueries(4) | ip.Confidence(0.25)
    assert again.random_state == 2


# ---- what is refused when saving ------------------------------------------------------------------------------------


class Strange(ip.queries.QuerySet):
    """A query set that only this test knows."""

    kind = "strange"

    def observe(self, X):
        return np.asarray(X)

    def to_spec(self):
        return {}


def test_what_cannot_be_saved_is_refused_and_leaves_nothing_behind(tmp_path, model):
    clf = model[0]
    folder = tmp_path / "new"
    with pytest.raises(ValueError, match="not fitted yet; call fit before save"):
        ip.InformationPursuitClassifier().save(folder)
    with pytest.raises(TypeError, match="cannot save a dict; expected a fitted classifier or a Pursuit"):
        ip.save({}, folder)
    pair = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]])
    with pytest.raises(TypeError, match="queries of kind 'strange' cannot be saved"):
        ip.save(ip.generative_pursuit(pair, Strange(["a"], [2], [[0]])), folder)
    with pytest.raises(ValueError, match="cannot be saved; use strings, whole numbers or booleans"):
        ip.save(
            ip.generative_pursuit(pair, ip.queries.concepts(["a"]), classes=np.array(["2020", "2021"], dtype="M8[Y]")),
            folder,
        )
    assert not folder.exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file; give a folder to write to"):
        clf.save(tmp_path / "file")


def test_folders_are_made_where_they_are_missing(tmp_path, model):
    model[0].save(tmp_path / "a" / "b" / "c")
    assert sorted(p.name for p in (tmp_path / "a" / "b" / "c").iterdir()) == files_of(tmp_path / "a" / "b" / "c")


def test_an_empirical_model_says_that_it_contains_its_training_data(tmp_path, caplog, saved):
    X, y = marks()
    clf = classifier(ip.queries.concepts(NAMES), "empirical")(X, y)
    with caplog.at_level(logging.WARNING, logger="infopursuit.estimator.saving"):
        clf.save(tmp_path)
    assert "contains the training examples themselves" in caplog.text
    assert "contains its training data" in (tmp_path / "CARD.md").read_text()
    assert (
        json.loads((tmp_path / "manifest.json").read_text())["pursuit"]["belief"]["model"]["contains_training_data"]
        is True
    )
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="infopursuit.estimator.saving"):
        ip.save(saved["concepts, mixture"][1], tmp_path)
    assert not caplog.records
    assert "not the training examples" in (tmp_path / "CARD.md").read_text()


def test_the_card_tells_people_what_is_inside(saved):
    card = (saved["concepts, mixture"][0] / "CARD.md").read_text()
    for fact in (
        "Classes (3)",
        "☃",
        "9 (concepts)",
        "mark 0?",
        "table, 6 latent states of 9 variables",
        "epsilon=0.05",
    ):
        assert fact in card


def test_nothing_is_pickled():
    """No module of the package knows how to."""
    for source in SOURCES.rglob("*.py"):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = {alias.name.split(".")[0] for alias in node.names} | {
                    (getattr(node, "module", "") or "").split(".")[0]
                }
                assert not modules & {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}, source
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                assert node.attr not in ("load", "save"), source
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert node.value.value is False, source


# ---- crashes --------------------------------------------------------------------------------------------------------


def files_of(folder):
    """The names of the files of a whole model, of which the lock is empty."""
    tensors = json.loads((folder / "manifest.json").read_text())["tensors"]["file"]
    assert (folder / ".lock").read_bytes() == b""
    return sorted([".lock", "CARD.md", "manifest.json", tensors])


class Crash(BaseException):
    """Not an Exception, like being interrupted."""


@pytest.mark.parametrize("where", ["write_atomically", "_rename", "_flush"])
@pytest.mark.parametrize("nth", [0, 1, 2])
def test_a_crash_while_saving_leaves_the_old_model(model, monkeypatch, where, nth):
    clf, folder, X = model
    old_files = files_of(folder)
    X_new, y_new = marks(seed=1)
    new = classifier(ip.queries.concepts(NAMES), latent_classes(3))(X_new, y_new)
    owner = model_files if where == "write_atomically" else files
    real, calls = getattr(owner, where), []

    def crash(*arguments):
        calls.append(arguments)
        if len(calls) > nth:
            raise Crash
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(owner, where, crash)
        with pytest.raises(Crash):
            new.save(folder)
    assert_same(clf.explain(X), ip.load(folder).explain(X))
    assert [file.name for file in folder.iterdir() if file.name.startswith(".")] == [".lock"]
    new.save(folder)
    assert_same(new.explain(X), ip.load(folder).explain(X))
    assert {file.name for file in folder.iterdir()} == {*files_of(folder), *old_files}


def test_a_crash_after_the_manifest_leaves_the_new_model(model, monkeypatch):
    _, folder, X = model
    new = classifier(ip.queries.concepts(NAMES), latent_classes(3))(*marks(seed=1))
    superseded = folder / "tensors-0123456789abcdef.safetensors"
    superseded.write_bytes(b"")
    os.utime(superseded, (0, 0))

    def crash(*arguments, **options):
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(model_files, "_sweep_tensors", crash)
        with pytest.raises(Crash):
            new.save(folder)
    assert_same(new.explain(X), ip.load(folder).explain(X))


def test_saving_again_writes_the_same_files(model):
    clf, folder, _ = model
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    clf.save(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_what_others_left_in_the_folder_is_not_touched_and_does_not_matter(model):
    clf, folder, X = model
    (folder / "notes.txt").write_text("mine")
    (folder / ".tensors-0123.safetensors-half").write_bytes(b"cut off")
    clf.save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert_same(clf.explain(X), ip.load(folder).explain(X))


# ---- damage ---------------------------------------------------------------------------------------------------------


def own_checksum(manifest):
    """The checksum that a manifest holds of itself, written here a second time."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(folder):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    return manifest, (folder / manifest["tensors"]["file"]).read_bytes()


def write(folder, manifest, payload=None):
    """Alter a model as somebody would who can compute checksums."""
    if payload is not None:
        found = hashlib.sha256(payload).hexdigest()
        manifest["tensors"] = {"file": f"tensors-{found[:16]}.safetensors", "sha256": found, "bytes": len(payload)}
        (folder / manifest["tensors"]["file"]).write_bytes(payload)
    manifest["sha256"] = own_checksum(manifest)
    text = json.dumps(manifest, ensure_ascii=False)
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))


def test_the_checksum_is_computed_as_the_package_does(model):
    """Else the tests below would only find that checksums differ."""
    clf, folder, X = model
    manifest, payload = read(folder)
    assert manifest["written_by"]["infopursuit"] == ip.__version__
    assert manifest["sha256"] == own_checksum(manifest)
    manifest["written_by"]["python"] = "0"
    write(folder, manifest, payload)
    assert_same(clf.explain(X), ip.load(folder).explain(X))


def test_a_folder_without_a_model(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match=r"has no manifest.json; give a folder that save\(\) wrote"):
            ip.load(path)
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(FileNotFoundError):
        ip.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON, it may be cut off or altered"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": ' * 900 + b"1" + b"}" * 900, "not a model of this package"),
        (b"[]", "not a model of this package"),
        (b"null", "not a model of this package"),
        (b'{"format": "other"}', "does not say format 'infopursuit.model'"),
        (b'{"format": "infopursuit.model"}', "version None; expected 4"),
        (b'{"format": "infopursuit.model", "version": "1"}', "version '1'"),
        (b'{"format": "infopursuit.model", "version": 0}', "version 0; expected 4"),
        (
            b'{"format": "infopursuit.model", "version": 5}',
            "format version 5, newer than 4; update infopursuit to read it",
        ),
        (
            b'{"format": "infopursuit.model", "version": 3}',
            "format version 3, older than 4, which is not read any more; fit and save the model again",
        ),
        (b'{"format": "infopursuit.model", "version": 4}', "was altered: its checksum"),
        (b'{"format": "infopursuit.model", "version": 4, "sha256": []}', "was altered: its checksum"),
    ],
)
def test_a_manifest_that_is_none(content, message, tmp_path):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


def test_a_manifest_that_is_nested_deeply(model):
    _, folder, _ = model
    for depth in (100, 900):
        manifest, _ = read(folder)
        deep = []
        for _ in range(depth):
            deep = [deep]
        manifest["pursuit"]["belief"]["model"] = deep
        write(folder, manifest)
        with pytest.raises(ip.ModelFormatError):
            ip.load(folder)


def test_a_manifest_of_a_gigabyte_is_not_read(model, monkeypatch):
    _, folder, _ = model
    monkeypatch.setattr(model_files, "MAX_MANIFEST", 1000)
    with pytest.raises(ip.ModelFormatError, match="more than 1000; it is not a manifest"):
        ip.load(folder)


def test_tensors_that_are_gone_cut_off_or_altered(model):
    _, folder, _ = model
    manifest, payload = read(folder)
    file = folder / manifest["tensors"]["file"]
    file.write_bytes(payload[:-1])
    with pytest.raises(
        ip.ModelFormatError, match=f"has {len(payload) - 1} bytes instead of {len(payload)}; it was cut off"
    ):
        ip.load(folder)
    file.write_bytes(payload[:-1] + bytes([payload[-1] ^ 1]))
    with pytest.raises(ip.ModelFormatError, match="was altered: its checksum does not agree with the manifest"):
        ip.load(folder)
    file.unlink()
    with pytest.raises(ip.ModelFormatError, match="is missing; copy the whole folder"):
        ip.load(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/etc/hostname",
        "sub/file",
        "..",
        ".",
        "",
        ".hidden",
        "a\\b",
        "..\\outside",
        5,
        None,
        ["a"],
        "\ud800",
        "a\0b",
    ],
)
def test_the_tensor_file_is_a_plain_name_in_the_folder(name, model):
    _, folder, _ = model
    manifest, payload = read(folder)
    (folder.parent / "outside").write_bytes(payload)
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_bytes(payload)
    (folder / ".hidden").write_bytes(payload)
    manifest["tensors"]["file"] = name
    write(folder, manifest)
    with pytest.raises(ip.ModelFormatError, match=r"not a plain file name|is missing|damaged"):
        ip.load(folder)


def test_a_link_to_other_content_is_found_out(model):
    _, folder, _ = model
    manifest, payload = read(folder)
    secret = folder.parent / "secret"
    secret.write_bytes(bytes(len(payload)))
    (folder / manifest["tensors"]["file"]).unlink()
    (folder / manifest["tensors"]["file"]).symlink_to(secret)
    with pytest.raises(ip.ModelFormatError, match=r"was altered|header is damaged"):
        ip.load(folder)


def _drop(name):
    return lambda tensors: {key: value for key, value in tensors.items() if key != name}


def _change(name, change):
    return lambda tensors: {**tensors, name: change(tensors[name].copy())}


def _put(index, value):
    def put(tensor):
        tensor[index] = value
        return tensor

    return put


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("concepts, mixture", _drop("probs"), "probs"),
        ("concepts, mixture", _drop("log_prior"), "log_prior"),
        ("concepts, mixture", lambda t: {"probs": t["log_prior"], "log_prior": t["probs"]}, "tensor 'probs' is"),
        ("concepts, mixture", _change("probs", lambda t: np.ascontiguousarray(t.T)), "tensor 'probs' is"),
        ("concepts, mixture", _change("probs", lambda t: t.astype("float32")), "tensor 'probs' is float32"),
        ("concepts, mixture", _change("probs", lambda t: np.ascontiguousarray(t[:, :-1])), "tensor 'probs' is"),
        ("concepts, mixture", _change("probs", _put((0, 0), np.nan)), "outside of 0 to 1"),
        ("concepts, mixture", _change("probs", _put((0, 0), -0.5)), "outside of 0 to 1"),
        ("concepts, mixture", _change("probs", _put((0, 0), 1.5)), "outside of 0 to 1"),
        ("concepts, mixture", _change("probs", _put((0, 0), 0.123)), "do not sum to one"),
        ("concepts, mixture", _change("log_prior", _put(0, np.nan)), "log_prior is not a distribution"),
        ("concepts, mixture", _change("log_prior", _put(0, np.inf)), "log_prior is not a distribution"),
        ("concepts, mixture", _change("log_prior", lambda t: t - 1), "log_prior is not a distribution"),
        ("concepts, mixture", _change("log_prior", lambda t: np.full_like(t, -np.inf)), "log_prior is not"),
        ("columns, examples", _drop("values"), "values"),
        ("columns, examples", lambda t: {**t, "labels": t["weights"], "weights": t["labels"]}, "tensor 'labels' is"),
        ("columns, examples", _change("values", _put((0, 0), 200)), r"values\[0, 0\] is 200"),
        ("columns, examples", _change("values", _put((0, 0), -2)), r"values\[0, 0\] is -2"),
        ("columns, examples", _change("labels", _put(0, 1)), "labels must be sorted class numbers"),
        ("columns, examples", _change("labels", _put(-1, 2)), "labels must be sorted class numbers"),
        ("columns, examples", _change("labels", _put(0, -1)), "labels must be sorted class numbers"),
        ("columns, examples", _change("weights", _put(0, 0.0)), "weights positive"),
        ("columns, examples", _change("weights", _put(0, np.nan)), "weights positive"),
        ("columns, examples", _change("weights", _put(0, np.inf)), "weights positive"),
        ("columns, examples", _change("class_prior", _put(0, -1.0)), "class_prior must be probabilities"),
        ("columns, examples", _change("class_prior", _put(0, np.nan)), "class_prior must be probabilities"),
        ("columns, examples", _change("marginals", _put((0, 0), 2.0)), "outside of 0 to 1"),
        ("columns, examples", _change("marginals", lambda t: np.ascontiguousarray(t[:, :-1])), "tensor 'marginals' is"),
        ("columns, examples", _change("log_prior", lambda t: t[:-1].copy()), "tensor 'log_prior' is"),
        ("patches, blur", _change("values", lambda t: np.ascontiguousarray(t[:, :-1])), "tensor 'values' is"),
        ("patches, blur", _change("values", lambda t: t.astype("int16")), "tensor 'values' is int16"),
    ],
)
def test_tensors_that_were_exchanged(kind, change, message, saved, tmp_path):
    manifest, payload = read(saved[kind][0])
    write(tmp_path, manifest, safetensors.numpy.save(change(safetensors.numpy.load(payload))))
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


def test_tensors_of_another_model(saved, tmp_path):
    manifest, _ = read(saved["concepts, mixture"][0])
    for other in ("columns, naive Bayes", "concepts, examples", "patches, blur"):
        write(tmp_path, manifest, read(saved[other][0])[1])
        with pytest.raises(ip.ModelFormatError):
            ip.load(tmp_path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pursuit", "belief", "model", "kind"), "forest"),
        (("pursuit", "belief", "model", "kind"), "empirical"),
        (("pursuit", "belief", "model", "dtype"), "float16"),
        (("pursuit", "belief", "model", "sizes"), [2] * 8),
        (("pursuit", "belief", "model", "sizes"), [1] * 9),
        (("pursuit", "belief", "model", "sizes"), [2**40] * 9),
        (("pursuit", "belief", "model", "sizes"), []),
        (("pursuit", "belief", "model", "n_classes"), 0),
        (("pursuit", "belief", "model", "n_classes"), True),
        (("pursuit", "belief", "model", "n_latents"), 2**30),
        (("pursuit", "belief", "model", "n_latents"), 1.0),
        (("classes", "kind"), "list"),
        (("classes", "kind"), "int"),
        (("classes", "values"), ["a", "b"]),
        (("classes", "values"), ["a", "a", "b"]),
        (("classes", "values"), "abc"),
        (("pursuit", "queries", "kind"), "sounds"),
        (("pursuit", "queries", "kind"), "patches"),
        (("pursuit", "queries", "spec"), None),
        (("pursuit", "queries", "spec", "names"), []),
        (("pursuit", "queries", "spec", "names"), ["a"] * 9),
        (("pursuit", "queries"), []),
        (("pursuit", "patience"), -1),
        (("pursuit", "patience"), "2"),
        (("pursuit", "seed"), -1),
        (("pursuit", "seed"), 1.5),
        (("pursuit", "memory_limit"), 0),
        (("pursuit", "acquisition", "n_states"), 0),
        (("pursuit", "acquisition", "n_screened"), None),
        (("pursuit", "acquisition", "exact"), 1),
        (("pursuit", "stopping"), {"kind": "no such rule"}),
        (("pursuit", "stopping"), {"kind": "confidence", "epsilon": 2}),
        (("pursuit", "stopping"), {"kind": "confidence", "epsilon": "0.1"}),
        (("pursuit", "stopping"), {"kind": "confidence", "code": "import os"}),
        (("pursuit", "stopping"), []),
        (("classifier", "n_features_in"), "many"),
        (("classifier", "n_features_in"), -1),
        (("classifier", "feature_names_in"), ["a", "b"]),
        (("classifier", "feature_names_in"), list(range(9))),
        (("classifier",), 7),
        (("classifier",), {}),
        (("tensors",), None),
        (("tensors", "bytes"), None),
        (("tensors", "sha256"), None),
        (("pursuit", "belief", "model"), None),
        (("pursuit", "belief"), None),
        (("pursuit", "belief", "kind"), "oracle"),
        (("pursuit", "belief", "kind"), []),
        (("pursuit", "acquisition"), None),
        (("pursuit", "acquisition", "kind"), "guess"),
        (("pursuit", "acquisition"), {"kind": "confidence", "epsilon": 0.1, "patience": None}),
        (("pursuit", "costs"), {"kind": "answer_noise"}),
        (("pursuit", "calibrator"), {"kind": "max_queries", "n": 2}),
        (("pursuit", "noise"), 7),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else repr(value)[:30],
)
def test_settings_that_were_exchanged(path, value, saved, tmp_path):
    manifest, payload = read(saved["concepts, mixture"][0])
    (tmp_path / manifest["tensors"]["file"]).write_bytes(payload)
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    write(tmp_path, manifest)
    with pytest.raises(ip.ModelFormatError, match=r"."):
        ip.load(tmp_path)


def test_the_word_functions_in_a_message_lets_no_other_error_through(saved, tmp_path):
    manifest, payload = read(saved["concepts, mixture"][0])
    manifest["pursuit"]["belief"]["model"]["kind"], manifest["pursuit"]["queries"] = "functions", []
    write(tmp_path, manifest, payload)
    with pytest.raises(ip.ModelFormatError):
        ip.load(tmp_path)


# ---- random damage --------------------------------------------------------------------------------------------------

VICTIMS = ("columns, naive Bayes", "columns, examples", "patches, blur, gaps", "words", "pursuit")
NASTY = (
    None,
    True,
    -1,
    0,
    1,
    2,
    3.5,
    10**30,
    float("nan"),
    float("inf"),
    "",
    "float64",
    "table",
    "\ud800",
    [],
    {},
    [1],
    [[]],
    {"a": 1},
)


def scramble(rng, content):
    """One of the things that happen to files."""
    content = bytearray(content)
    at = int(rng.integers(len(content)))
    kind = rng.integers(5)
    if kind == 0:
        return bytes(content[:at])
    if kind == 1:
        content[at:at] = rng.bytes(int(rng.integers(1, 9)))
    elif kind == 2:
        del content[at : at + int(rng.integers(1, 9))]
    elif kind == 3:
        content[at : at + 16] = bytes(len(content[at : at + 16]))
    else:
        for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
            content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


def replace_one(rng, data):
    """The same JSON with one entry somewhere replaced, dropped or doubled."""
    inner, key = None, None
    where = data
    while isinstance(where, dict | list) and where and (inner is None or rng.random() < 0.85):
        keys = list(where) if isinstance(where, dict) else range(len(where))
        inner, key = where, keys[int(rng.integers(len(keys)))]
        where = inner[key]
    if rng.random() < 0.2:
        del inner[key]
    elif rng.random() < 0.2 and isinstance(inner, list):
        inner.append(inner[key])
    else:
        inner[key] = copy.deepcopy(NASTY[int(rng.integers(len(NASTY)))])
    return data


def attempt(folder, X):
    """Load and explain: ModelFormatError is None, everything else that is raised by loading fails the test."""
    try:
        thing = ip.load(folder)
    except ip.ModelFormatError:
        return None
    try:
        return explain(thing, X)
    except (ValueError, TypeError) as error:  # a model of other data than X, which has been told
        return error


@pytest.mark.parametrize("case", range(80))
def test_random_damage_is_found_or_does_no_harm(case, saved, tmp_path):
    rng = np.random.default_rng([1, case])
    folder, thing, X, _ = saved[VICTIMS[case % len(VICTIMS)]]
    manifest, payload = read(folder)
    text = (folder / "manifest.json").read_bytes()
    if rng.random() < 0.5:
        text = scramble(rng, text)
    else:
        payload = scramble(rng, payload)
    (tmp_path / "manifest.json").write_bytes(text)
    (tmp_path / manifest["tensors"]["file"]).write_bytes(payload)
    trace = attempt(tmp_path, X)
    if trace is not None:
        assert_same(explain(thing, X), trace)


@pytest.mark.parametrize("case", range(80))
def test_random_damage_with_right_checksums_is_found_or_leaves_a_model_that_works(case, saved, tmp_path):
    rng = np.random.default_rng([2, case])
    folder, _, X, _ = saved[VICTIMS[case % len(VICTIMS)]]
    manifest, payload = read(folder)
    if rng.random() < 0.6:
        manifest = replace_one(rng, manifest)
        (tmp_path / read(folder)[0]["tensors"]["file"]).write_bytes(payload)
        write(tmp_path, manifest)
    else:
        write(tmp_path, manifest, scramble(rng, payload))
    trace = attempt(tmp_path, X)
    if isinstance(trace, ip.Trace):
        assert np.isfinite(trace.posteriors).all()
        np.testing.assert_allclose(trace.posterior.sum(axis=1), 1, atol=1e-5)
    else:
        assert trace is None or len(str(trace)) > 20


# ---- the registry ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frequencies(Belief):
    """A belief from elsewhere: naive Bayes by counting, with an array to save."""

    capabilities = ip.pursuit.Capabilities(answers=True)

    counts: np.ndarray  # (C, A) how often each answer is yes

    @property
    def n_classes(self):
        return len(self.counts)

    def init(self):
        return np.zeros((1, len(self.counts)))

    def update(self, b, parents, new):
        p = self.counts[:, new.queries[:, -1]].T  # (H, C)
        yes = new.answers[:, -1]
        return b[parents] + np.where(yes == 1, np.log(p), np.where(yes == 0, np.log1p(-p), 0.0))

    def log_posterior(self, b):
        return ip.pursuit.Estimate.exact(b - np.logaddexp.reduce(b, axis=1)[:, None])

    def answer_distribution(self, b, query):
        p = np.exp(self.log_posterior(b).value) @ self.counts[:, query]
        return np.stack([1 - p, p], axis=1)


@dataclass(frozen=True)
class Backwards(Acquisition):
    """An acquisition function from elsewhere."""

    start: int = 0
    unit = "score"

    def utilities(self, b, h, allowed, budget):
        order = (np.arange(allowed.shape[1]) - self.start) % allowed.shape[1]
        return ip.pursuit.Estimate.exact(np.where(allowed, order, np.nan))


@dataclass(frozen=True)
class AfterOdd(Rule):
    """A stopping rule from elsewhere: after an odd number of queries, n or more."""

    n: int = 1
    name = "after_odd"

    def __post_init__(self):
        if type(self.n) is not int or self.n < 1:
            raise ValueError(f"n={self.n!r} must be a whole number, 1 or more")

    def holds(self, check):
        return (check.n_asked % 2 == 1) & (check.n_asked >= self.n)


@pytest.fixture
def registered(monkeypatch):
    """The parts above, registered for one test."""
    for table_ in ("_by_class", "_by_kind"):
        monkeypatch.setattr(registry, table_, dict(getattr(registry, table_)))
    registry.register(
        Frequencies,
        "test.frequencies",
        lambda belief: ({"n_classes": belief.n_classes}, {"counts": belief.counts}),
        lambda spec, arrays, queries: Frequencies(arrays["counts"]),
    )
    registry.register(Backwards, "test.backwards")
    registry.register(AfterOdd, "test.after_odd")


def outside(stopping=None):
    counts = np.random.default_rng(0).uniform(0.1, 0.9, (3, 9))
    rule = AfterOdd(3) if stopping is None else stopping
    return ip.Pursuit(ip.queries.concepts(NAMES), Frequencies(counts), Backwards(2), rule, classes=["a", "b", "c"])


@pytest.mark.parametrize("rule", [AfterOdd(3), AfterOdd(5) | ip.MaxQueries(4), AfterOdd(1) & ip.Confidence(0.2)])
def test_parts_from_elsewhere_come_back_where_they_are_registered(rule, registered, tmp_path):
    pursuit, X = outside(rule), marks()[0]
    ip.save(pursuit, tmp_path)
    again = ip.load(tmp_path)
    assert (type(again.belief), again.acquisition, again.stopping) == (Frequencies, Backwards(2), rule)
    assert_same(pursuit.run(X), again.run(X))


@pytest.mark.parametrize(
    ("replaced", "name"),
    [
        ({}, "Frequencies"),
        ({"acquisition": Backwards(1)}, "Backwards"),
        ({"stopping": AfterOdd(1)}, "AfterOdd"),
        ({"stopping": ip.MaxQueries(2) | AfterOdd(3)}, "AfterOdd"),
        ({"stopping": ip.Confidence(0.1) & (AfterOdd(1) | ip.MaxQueries(2))}, "AfterOdd"),
    ],
)
def test_parts_that_are_not_registered_are_refused_at_saving(replaced, name, tmp_path, saved):
    """With the name of the class, and nothing is written; a rule inside of another too."""
    pursuit = replace(saved["pursuit"][1], stopping=ip.MaxQueries(3)) if replaced else outside(ip.MaxQueries(3))
    with pytest.raises(TypeError, match=rf"\b{name}\b.*cannot be saved.*register"):
        ip.save(replace(pursuit, **replaced), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_class_that_refines_a_registered_one_is_not_that_one(tmp_path, saved):
    class Stricter(ip.Confidence):
        """It may hold otherwise, so that a Confidence in its place would be another rule."""

    with pytest.raises(TypeError, match="Stricter"):
        ip.save(replace(saved["pursuit"][1], stopping=Stricter(0.1)), tmp_path / "new")


def test_a_kind_that_is_not_registered_at_loading_is_said(registered, tmp_path, monkeypatch):
    ip.save(outside(), tmp_path)
    kinds = {kind: entry for kind, entry in registry._by_kind.items() if not kind.startswith("test.")}
    monkeypatch.setattr(registry, "_by_kind", kinds)
    with pytest.raises(ip.ModelFormatError, match=r"'test\.frequencies' is not registered"):
        ip.load(tmp_path)


def test_what_a_registered_class_refuses_is_damage(registered, tmp_path):
    ip.save(outside(), tmp_path)
    manifest, payload = read(tmp_path)
    for value in (0, "3", None, True):
        manifest["pursuit"]["stopping"]["n"] = value
        write(tmp_path, manifest, payload)
        with pytest.raises(ip.ModelFormatError, match="n="):
            ip.load(tmp_path)


def test_a_kind_is_the_name_of_one_class():
    with pytest.raises(ValueError, match="kind='confidence'"):
        registry.register(AfterOdd, "confidence")
    registry.register(ip.Confidence, "confidence")  # the same again does no harm


def test_a_strategy_of_ones_own_comes_back_in_a_classifier(registered, tmp_path):
    class Counting(ip.strategies.Strategy):
        def build(self, sample, queries, seed):
            yes = [sample.values[sample.labels == c].mean(axis=0).clip(0.05, 0.95) for c in range(sample.n_classes)]
            return Frequencies(np.array(yes)), ip.strategies.LookAhead()

    X, y = marks()
    clf = classifier(ip.queries.concepts(NAMES), Counting(), stopping=ip.MaxQueries(4))(X, y)
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    assert_same(clf.explain(X), again.explain(X))
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="class_prior"):
        again.predict(X, class_prior=[0.2, 0.3, 0.5])
