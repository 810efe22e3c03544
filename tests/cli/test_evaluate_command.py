"""``infopursuit evaluate`` as a person uses it: the same data from every kind of file, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.app import cli
from infopursuit.app.datasets import digits
from infopursuit.app.datasets.examples import as_classes, has_training_part, read_examples
from infopursuit.estimator import table_files as tables
from isolated import run_alone

DIFFERENT = ("command", "provenance", "data", "seconds", "rows")
"""What two runs on the same data may differ in: where it came from, and how long it took."""


def animals(n, seed):
    """A table with a number, a category, a gap here and there, and a column that nobody asks about."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["bird", "cat", "fish"], n)
    frame = pd.DataFrame(
        {
            "legs": np.select([kind == "bird", kind == "cat"], [2.0, 4.0], 0.0),
            "skin": np.where(rng.random(n) < 0.8, np.select([kind == "bird", kind == "cat"], ["f", "h"], "s"), "h"),
            "weight": np.round(rng.normal(np.select([kind == "bird", kind == "cat"], [1, 4], 2), 1.0), 2),
        }
    )
    frame.loc[::7, "legs"] = np.nan
    return frame, kind


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate") / "model"
    asked = ip.queries.columns(numbers="thresholds")
    clf = ip.InformationPursuitClassifier(asked, ip.models.naive_bayes(), stopping=ip.Confidence(0.05))
    clf.fit(*animals(200, 0)).save(folder)
    return folder


@pytest.fixture(scope="module")
def image_model(tmp_path_factory):
    data = digits()
    folder = tmp_path_factory.mktemp("evaluate") / "digits"
    queries = ip.queries.patches((8, 8), size=3, threshold=7)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(4)
    clf = ip.InformationPursuitClassifier(queries, ip.models.naive_bayes(), stopping=stopping)
    clf.fit(data.x_train[:300], data.y_train[:300]).save(folder)
    return folder


def run(*args):
    return cli.main(["evaluate", *map(str, args)])


def result_of(folder, tmp_path, *args):
    """What the command writes, without what may differ."""
    out = tmp_path / "result.json"
    assert run(folder, *args, "--out", out) == 0
    content = json.loads(out.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in content["rows"]]
    return {"rows": rows, **{key: value for key, value in content.items() if key not in DIFFERENT}}


def test_a_table_is_the_same_from_every_kind_of_file(model, tmp_path, capsys):
    frame, kind = animals(60, 1)
    table = frame.assign(id=range(60), kind=kind)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    table[["kind", "weight", "skin", "legs"]].to_parquet(tmp_path / "a.parquet")  # in another order
    found = [
        result_of(model, tmp_path, tmp_path / name, "--label", "kind") for name in ("a.csv", "a.tsv.gz", "a.parquet")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["rows"][0]["accuracy"] > 0.85
    assert found[0]["rows"][0]["n_inputs"] == 60
    trace = ip.load(model).explain(frame)
    assert found[0]["rows"][0]["accuracy"] == (trace.predictions == kind).mean()
    assert found[0]["lengths"]["mean"] == trace.length.mean()
    out = capsys.readouterr().out
    assert "Information Pursuit" in out
    assert "--train DATA adds" in out
    assert max(len(line) for line in out.splitlines() if "written to" not in line and str(tmp_path) not in line) < 80


def test_images_are_the_same_from_csv_parquet_npz_and_the_data_set(image_model, tmp_path, capsys):
    data = digits()
    x, y = data.x_test[:40], data.y_test[:40]
    table = pd.DataFrame(x.reshape(len(x), -1)).rename(columns=str).assign(label=y)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", x=x, y=y)
    np.savez(tmp_path / "both.npz", x_test=x, y_test=y, x_train=data.x_train, y_train=data.y_train)
    sources = [tmp_path / name for name in ("a.csv", "a.parquet", "a.npz", "both.npz")]
    found = [result_of(image_model, tmp_path, source, "--no-baselines") for source in sources]
    found.append(result_of(image_model, tmp_path, "digits", "--inputs", 40, "--no-baselines"))
    assert all(other == found[0] for other in found)
    assert found[0]["rows"][0]["accuracy"] > 0.7
    assert "--train" not in capsys.readouterr().out


def test_baselines_learn_from_what_train_names(model, tmp_path, capsys):
    for name, seed, n in (("train", 0, 200), ("test", 1, 60)):
        frame, kind = animals(n, seed)
        frame.assign(label=kind).to_csv(tmp_path / f"{name}.csv", index=False)
    found = result_of(model, tmp_path, tmp_path / "test.csv", "--train", tmp_path / "train.csv")
    assert [row["name"] for row in found["rows"][2:]] == ["decision tree on Q", "black box using Q"]
    assert found["train"] == str(tmp_path / "train.csv")
    assert min(row["accuracy"] for row in found["rows"]) > 0.8
    assert "Baselines learn from 200 inputs" in capsys.readouterr().out


def test_the_training_part_that_comes_along_is_used(image_model, tmp_path):
    pursuit = ip.load(image_model).pursuit_
    assert has_training_part("digits")
    train = read_examples("digits", pursuit, part="train")
    assert (len(train.y), train.source) == (len(digits().y_train), "the training part of digits")
    np.savez(tmp_path / "one.npz", x=train.X[:5], y=train.y[:5])
    assert not has_training_part(str(tmp_path / "one.npz"))
    np.savez(tmp_path / "two.npz", x_test=train.X[:5], y_test=train.y[:5], x_train=train.X[:7], y_train=train.y[:7])
    assert has_training_part(str(tmp_path / "two.npz"))
    assert len(read_examples(str(tmp_path / "two.npz"), pursuit, part="train").y) == 7
    assert len(read_examples(str(tmp_path / "two.npz"), pursuit).y) == 5


def test_baselines_learn_from_the_training_part_that_comes_along(tmp_path, capsys):
    parts = {}
    for part, seed, n in (("train", 0, 120), ("test", 1, 40)):
        frame, kind = animals(n, seed)
        parts |= {f"x_{part}": frame[["legs", "weight"]].to_numpy(), f"y_{part}": kind.astype(str)}
    np.savez(tmp_path / "both.npz", **parts)
    clf = ip.InformationPursuitClassifier(strategy=ip.models.naive_bayes()).fit(parts["x_train"], parts["y_train"])
    clf.save(tmp_path / "model")
    found = result_of(tmp_path / "model", tmp_path, tmp_path / "both.npz")
    assert (found["rows"][0]["n_inputs"], len(found["rows"])) == (40, 4)
    assert "Baselines learn from 120 inputs" in capsys.readouterr().out


def test_texts_are_one_column(tmp_path):
    texts = ["senate votes on the law", "a film with a famous actor", "the law passed", "the film trailer"] * 10
    topics = np.array(["news", "film"] * 20)
    clf = ip.InformationPursuitClassifier(ip.queries.words(min_count=1), ip.models.naive_bayes()).fit(texts, topics)
    clf.save(tmp_path / "model")
    pd.DataFrame({"text": texts, "topic": topics, "day": 1}).to_csv(tmp_path / "a.csv", index=False)
    found = result_of(tmp_path / "model", tmp_path, tmp_path / "a.csv", "--label", "topic")
    assert found["rows"][0]["accuracy"] == 1.0
    pd.DataFrame({"one": texts, "two": texts, "label": topics}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(ValueError, match="name that of the texts 'text'"):
        read_examples(str(tmp_path / "b.csv"), clf.pursuit_)


def test_results_and_the_curve_are_written_where_they_are_wanted(model, tmp_path, capsys):
    frame, kind = animals(30, 1)
    frame.assign(label=kind).to_csv(tmp_path / "a.csv", index=False)
    picture = tmp_path / "new" / "curve.png"
    assert run(model, tmp_path / "a.csv", "--out", tmp_path / "results", "--curve", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    content = json.loads((tmp_path / "results" / "evaluation.json").read_text())
    assert content["command"].startswith(f"infopursuit evaluate {model} {tmp_path / 'a.csv'} --out")
    assert content["curve"][-1]["length"] == content["rows"][0]["length"]
    assert capsys.readouterr().out.count("written to") == 2


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "wanted"),
    [
        ([1.0, 0.0], [0, 1], [1, 0]),
        (["1", " 0"], [0, 1], [1, 0]),
        ([1, 0], ["0", "1"], ["1", "0"]),
        ([True, False], [False, True], [True, False]),
        (["True", "False"], [False, True], [True, False]),
        (["b"], ["a", "b"], ["b"]),
    ],
)
def test_labels_are_read_as_the_classes(y, classes, wanted):
    found = as_classes(np.array(y, dtype=object), np.array(classes), "y")
    assert found.tolist() == wanted
    assert found.dtype == np.array(classes).dtype


# ---- what is refused ------------------------------------------------------------------------------------------------


def changed(tmp_path, change):
    """The table of animals with something wrong."""
    frame, kind = animals(20, 1)
    change(frame.assign(label=kind)).to_csv(tmp_path / "a.csv", index=False)
    return tmp_path / "a.csv"


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        (lambda t: t.drop(columns="skin"), [], "has no column 'skin'; the model asks about legs, skin, weight"),
        (lambda t: t.rename(columns={"label": "kind"}), [], "say which one holds the labels with --label COLUMN"),
        (lambda t: t.assign(y=1), [], "has 'label' and 'y'; say which one"),
        (lambda t: t, ["--label", "kind"], "has no column 'kind'; its columns are legs, skin, weight, label"),
        (
            lambda t: t.assign(label="dog"),
            [],
            "row 0, is 'dog', which is no class of the model; the classes are 'bird'",
        ),
        (lambda t: t.assign(label=t.label.where(t.index != 3)), [], "row 3, is missing"),
        (lambda t: t.assign(weight="heavy"), [], "column 'weight', row 0 is 'heavy'; expected a number"),
        (lambda t: t[:0], [], "no rows"),
    ],
    ids=["column", "no label", "two labels", "label", "class", "gap", "text", "empty"],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(model, tmp_path, capsys, change, options, named):
    assert run(model, changed(tmp_path, change), *options) == 2
    err = capsys.readouterr().err
    assert named in err
    assert err.count("\n") == 1


def test_pixels_that_do_not_fit_are_refused(image_model, tmp_path, capsys):
    data = digits()
    pd.DataFrame(data.x_test[:9, :4].reshape(9, -1)).assign(label=data.y_test[:9]).to_csv(
        tmp_path / "a.csv", index=False
    )
    assert run(image_model, tmp_path / "a.csv") == 2
    assert "32 columns beside the label; expected 64, a pixel in each" in capsys.readouterr().err
    np.savez(tmp_path / "a.npz", x=data.x_test[:9, :4], y=data.y_test[:9])
    assert run(image_model, tmp_path / "a.npz") == 2
    assert "X has shape (9, 4, 8); expected (images, 8, 8)" in capsys.readouterr().err
    assert run(image_model, "breast_cancer") == 2
    assert "X has shape" in capsys.readouterr().err


def test_columns_without_names_are_counted(tmp_path, capsys):
    frame, kind = animals(100, 0)
    clf = ip.InformationPursuitClassifier(strategy=ip.models.naive_bayes()).fit(
        frame[["legs", "weight"]].to_numpy(), kind
    )
    clf.save(tmp_path / "model")
    frame[["legs", "weight"]].assign(label=kind).to_csv(tmp_path / "two.csv", index=False)
    found = result_of(tmp_path / "model", tmp_path, tmp_path / "two.csv")
    assert found["rows"][0]["accuracy"] == (clf.predict(frame[["legs", "weight"]].to_numpy()) == kind).mean()
    np.savez(tmp_path / "two.npz", x=frame[["legs", "weight"]].to_numpy(), y=kind.astype(str))
    assert result_of(tmp_path / "model", tmp_path, tmp_path / "two.npz") == found
    frame.assign(label=kind).to_csv(tmp_path / "three.csv", index=False)
    assert run(tmp_path / "model", tmp_path / "three.csv") == 2
    assert "has 3 columns beside the label; expected 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"x": np.zeros((3, 8, 8)), "labels": np.zeros(3)}, "has x, labels; expected the arrays x_test and y_test"),
        ({"x": np.zeros((3, 8, 8)), "y": np.zeros(2)}, "x of .* has shape .* one label for each input"),
        ({"x": np.zeros((3, 8, 8)), "y": np.array([1, "two", None], dtype=object)}, "'y' in a form that is not read"),
        ({"x": np.zeros((3, 8, 8)), "y": np.array([1, 2, 77])}, "row 2, is 77, which is no class of the model"),
    ],
    ids=["names", "lengths", "pickle", "class"],
)
def test_an_npz_that_does_not_fit_is_refused(image_model, tmp_path, arrays, named):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=named):
        read_examples(str(tmp_path / "a.npz"), ip.load(image_model).pursuit_)


def test_files_that_are_not_what_they_say_are_refused(image_model, tmp_path, capsys):
    for name in ("a.npz", "a.parquet"):
        (tmp_path / name).write_bytes(b"this is neither")
        assert run(image_model, tmp_path / name) == 2
        assert str(tmp_path / name) in capsys.readouterr().err
    (tmp_path / "a.csv").write_bytes(b"")
    assert run(image_model, tmp_path / "a.csv") == 2
    assert "cannot be read as a table" in capsys.readouterr().err
    (tmp_path / "a.pkl").write_bytes(b"")
    assert run(image_model, tmp_path / "a.pkl") == 2
    assert "ends in '.pkl'; give a .csv" in capsys.readouterr().err
    assert run(image_model, "moon") == 2
    assert "'moon' is neither a file nor a data set" in capsys.readouterr().err
    assert run(tmp_path, "digits") == 2
    assert "no manifest.json" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_refused_before_it_is_unpacked(image_model, tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((3000, 8, 8)), y=np.zeros(3000, dtype=int))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    monkeypatch.setattr(tables, "MAX_BYTES", 1_000_000)
    with pytest.raises(ValueError, match=r"GiB, more than .*; give a part of it"):
        read_examples(str(tmp_path / "a.npz"), ip.load(image_model).pursuit_)


def test_without_pyarrow_a_table_says_what_to_install(model, tmp_path):
    frame, kind = animals(5, 1)
    frame.assign(label=kind).to_csv(tmp_path / "a.csv", index=False)
    code = """
import contextlib, sys
from infopursuit.app import cli

with contextlib.redirect_stderr(sys.stdout):
    assert cli.main(["evaluate", *sys.argv[1:]]) == 2
"""
    told = run_alone(code, model, tmp_path / "a.csv", without=["pyarrow"])
    assert "infopursuit[tables]" in told


def test_queries_that_are_code_are_evaluated_from_python(tmp_path, capsys):
    X, y = np.array([[0.0], [1.0]] * 10), [0, 1] * 10
    queries = ip.queries.functions({"large": lambda X: X[:, 0] > 0.5})
    ip.InformationPursuitClassifier(queries, ip.models.naive_bayes()).fit(X, y).save(tmp_path)
    assert run(tmp_path, "digits") == 2
    assert "from Python: ip.load(" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--inputs", "0"], ["--inputs", "some"]])
def test_wrong_options_are_told_about(wrong, capsys):
    assert run("model", "digits", *wrong) == 2
    assert wrong[0] in capsys.readouterr().err
