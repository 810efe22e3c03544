"""``infopursuit drift`` and ``infopursuit card`` as a person or a script uses them."""

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
    ip.InformationPursuitClassifier(model=ip.models.naive_bayes(1.0)).fit(*table(300, 0)).save(root / "model")
    X, y = table(120, 1)
    X.to_csv(root / "same.csv", index=False)
    X.assign(age=X["age"] + 15, diagnosis=y).to_csv(root / "other.csv", index=False)
    X.iloc[:0].to_csv(root / "empty.csv", index=False)
    return root


def test_no_drift_is_exit_0(folder, capsys):
    assert cli.main(["drift", str(folder / "same.csv"), "--model", str(folder / "model")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("No drift: none of 6 comparisons of 120 inputs with training")
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80


def test_drift_is_exit_1_and_json_has_it_all(folder, tmp_path, capsys):
    file = tmp_path / "new" / "drift.json"
    command = ["drift", str(folder / "other.csv"), "--model", str(folder / "model"), "--label", "diagnosis"]
    assert cli.main([*command, "--json", str(file)]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 columns is answered otherwise (age)" in " ".join(out.split())
    assert f"written to {file}" in out
    data = json.loads(file.read_text())
    X, _ = table(120, 1)
    report = ip.load(folder / "model").drift(X.assign(age=X["age"] + 15))
    assert data == json.loads(report.to_json())
    assert cli.main([*command, "--reference", str(folder / "same.csv"), "--pursue", "50"][:4]) == 1


def test_a_reference_and_how_much_is_looked_at(folder, capsys):
    command = ["drift", str(folder / "same.csv"), "--model", str(folder / "model")]
    assert cli.main([*command, "--reference", str(folder / "same.csv"), "--pursue", "50", "--level", "0.05"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "120 new inputs, 50 of them pursued, against 300 rows of training; 9 comparisons" in out
    assert "one check in 20" in out
    assert cli.main([*command, "--pursue", "0"]) == 0
    assert "4 comparisons" in " ".join(capsys.readouterr().out.split())


def test_a_model_without_a_profile(folder, tmp_path, capsys):
    ip.save(ip.load(folder / "model").pursuit_, tmp_path)
    command = ["drift", str(folder / "other.csv"), "--model", str(tmp_path), "--label", "diagnosis"]
    assert cli.main(command) == 2
    assert "has no profile of its training answers; say --reference DATA" in capsys.readouterr().err
    pd.read_csv(folder / "same.csv").assign(diagnosis="ill").to_csv(tmp_path / "reference.csv", index=False)
    assert cli.main([*command, "--reference", str(tmp_path / "reference.csv")]) == 1
    assert "against 120 inputs of the reference" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--model", "model"], "'nowhere.csv' is neither a file nor a data set"),
        (["same.csv", "--model", "nowhere"], "has no manifest.json"),
        (["empty.csv", "--model", "model"], "X has no rows; give at least one input"),
        (["same.csv", "--model", "model", "--json", "."], "is a folder; give a file such as drift.json"),
        (["same.csv", "--model", "model", "--level", "2"], "'2' is not a number between 0 and 1"),
        (["same.csv", "--model", "model", "--pursue", "-1"], "is not a whole number"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(folder)
    assert cli.main(["drift", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_help_tells_the_exit_codes(capsys):
    assert cli.main(["drift", "--help"]) == 0
    assert "1: drift was found" in capsys.readouterr().out


def test_the_card_of_a_folder_is_the_card_of_the_classifier(folder, tmp_path, capsys):
    assert cli.main(["card", str(folder / "model")]) == 0
    shown = capsys.readouterr().out
    assert shown == ip.load(folder / "model").card() == (folder / "model" / "CARD.md").read_text()
    file = tmp_path / "new" / "card.md"
    assert cli.main(["card", str(folder / "model"), "--out", str(file)]) == 0
    assert file.read_text() == shown
    assert capsys.readouterr().out == f"written to {file}\n"


def test_the_card_of_a_model_that_comes_along(capsys):
    assert cli.main(["card", "animals"]) == 0
    assert capsys.readouterr().out.startswith("# Model card: 98 classes")


def test_a_card_that_cannot_be_written(folder, capsys):
    assert cli.main(["card", str(folder / "model"), "--out", str(folder)]) == 2
    assert "is a folder; give a file such as card.md" in capsys.readouterr().err
    assert cli.main(["card", "nowhere"]) == 2
    assert "nowhere has no manifest.json" in capsys.readouterr().err


def test_functions_are_code_and_the_command_says_what_to_do(tmp_path, capsys):
    X = np.random.default_rng(0).random((40, 2))
    queries = ip.queries.functions({"first": lambda x: x[:, 0] > 0.5})
    ip.InformationPursuitClassifier(queries, ip.models.naive_bayes(1.0)).fit(X, X[:, 0] > 0.5).save(tmp_path)
    assert cli.main(["card", str(tmp_path)]) == 2
    assert "its folder has a CARD.md" in capsys.readouterr().err
    assert "1 (functions)" in Path(tmp_path, "CARD.md").read_text()
    assert cli.main(["drift", "x.csv", "--model", str(tmp_path)]) == 2
    assert "compare from Python" in capsys.readouterr().err
