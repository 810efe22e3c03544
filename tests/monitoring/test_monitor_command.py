"""``infopursuit monitor`` as a person or a script uses them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import cli


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = pd.DataFrame({"fever": (rng.random(n) < 0.2 + 0.6 * y), "age": rng.normal(50 + 5 * y, 10, n).round(1)})
    return X, np.array(["well", "ill"])[y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model, and tables like its training and unlike it."""
    root = tmp_path_factory.mktemp("drift")
    ip.InformationPursuitClassifier(strategy=ip.models.naive_bayes(1.0)).fit(*table(300, 0)).save(root / "model")
    X, y = table(120, 1)
    X.to_csv(root / "same.csv", index=False)
    X.assign(age=X["age"] + 15, diagnosis=y).to_csv(root / "other.csv", index=False)
    X.iloc[:0].to_csv(root / "empty.csv", index=False)
    return root


def test_no_drift_is_exit_0(folder, capsys):
    assert cli.main(["monitor", str(folder / "same.csv"), "--model", str(folder / "model")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("No drift: none of 6 comparisons of 120 inputs with training")
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80


def test_drift_is_exit_1_and_json_has_it_all(folder, tmp_path, capsys):
    file = tmp_path / "new" / "drift.json"
    command = ["monitor", str(folder / "other.csv"), "--model", str(folder / "model"), "--label", "diagnosis"]
    assert cli.main([*command, "--json", str(file)]) == 1
    out = capsys.readouterr().out
    assert "answers to 1 of 2 columns have changed (age)" in " ".join(out.split())
    assert f"written to {file}" in out
    data = json.loads(file.read_text())
    X, _ = table(120, 1)
    report = ip.load(folder / "model").drift(X.assign(age=X["age"] + 15))
    assert data == json.loads(report.to_json())


def test_a_reference_and_how_much_is_looked_at(folder, capsys):
    command = ["monitor", str(folder / "same.csv"), "--model", str(folder / "model")]
    assert cli.main([*command, "--reference", str(folder / "same.csv"), "--level", "0.05"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "120 new inputs, against 300 rows of training; 6 comparisons" in out
    assert "at most 0.05" in out


def test_a_model_without_a_profile(folder, tmp_path, capsys):
    ip.save(ip.load(folder / "model").pursuit_, tmp_path)
    command = ["monitor", str(folder / "other.csv"), "--model", str(tmp_path), "--label", "diagnosis"]
    assert cli.main(command) == 2
    assert "give --reference DATA" in capsys.readouterr().err
    pd.read_csv(folder / "same.csv").assign(diagnosis="ill").to_csv(tmp_path / "reference.csv", index=False)
    assert cli.main([*command, "--reference", str(tmp_path / "reference.csv")]) == 1
    assert "against 120 rows of the reference" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{}/nowhere.csv --model {}/model", "'{}/nowhere.csv' is neither a file nor a data set"),
        ("{}/same.csv --model {}/nowhere", "has no manifest.json"),
        ("{}/empty.csv --model {}/model", "X has no rows"),
        ("{}/same.csv --model {}/model --json {}", "--json {} is a folder"),
        ("{}/same.csv --model {}/model --level 2", "argument --level"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder, capsys, arguments, message):
    words = [word.replace("{}", str(folder)) for word in arguments.split()]
    assert cli.main(["monitor", *words]) == 2
    assert message.replace("{}", str(folder)) in capsys.readouterr().err


def test_the_help_tells_the_exit_codes(capsys):
    assert cli.main(["monitor", "--help"]) == 0
    assert "1: drift was found" in capsys.readouterr().out


def test_functions_are_code_and_the_command_says_what_to_do(tmp_path, capsys):
    X = np.random.default_rng(0).random((40, 2))
    queries = ip.queries.functions({"first": lambda x: x[:, 0] > 0.5})
    ip.InformationPursuitClassifier(queries, ip.models.naive_bayes(1.0)).fit(X, X[:, 0] > 0.5).save(tmp_path)
    assert cli.main(["monitor", "x.csv", "--model", str(tmp_path)]) == 2
    assert "from Python: ip.load(" in capsys.readouterr().err
    assert cli.main(["inspect", str(tmp_path), "--card"]) == 2
    assert "its folder has a CARD.md" in capsys.readouterr().err
    assert "1 (functions)" in Path(tmp_path, "CARD.md").read_text()
