"""``infopursuit lint`` as a person uses it."""

import json

import pytest
from planted import clean, plant

import infopursuit as ip
from infopursuit import cli
from infopursuit.shipped import FOLDER


def run(*args):
    return cli.main(["lint", *map(str, args)])


def write(folder, X, y, name="table.csv"):
    X.assign(illness=y).to_csv(folder / name, index=False)
    return folder / name


def test_a_table_with_a_leak(tmp_path, capsys):
    X, y = plant("leak", 300)
    table = write(tmp_path, X.assign(patient=[f"P{i:04}" for i in range(len(y))], site="A"), y)
    out = tmp_path / "found" / "lint.json"
    assert run(table, "--label", "illness", "--json", out) == 1
    said = capsys.readouterr().out
    text = " ".join(said.split())
    for words in (
        "300 rows, 3 labels",
        "1 serious",
        'each alone: "billing"',
        "written to",
        'identify the rows are not asked about: "patient"',
        'empty or constant are not asked about: "site"',
    ):
        assert words in text, words  # fmt: skip
    assert max(map(len, said.replace(str(tmp_path), "").splitlines())) <= 80
    data = json.loads(out.read_text())
    assert (data["serious"], data["findings"][0]["kind"]) == (True, "leak")
    assert run(table, "--label", "illness", "--drop", "billing", "patient") == 0


def test_a_saved_model_is_looked_at_with_its_own_queries(tmp_path, capsys):
    X, y = clean(300)
    table = write(tmp_path, X.assign(billing=y), y)
    ip.InformationPursuitClassifier(strategy="table").fit(X[["fever", "rash"]], y).save(tmp_path / "model")
    assert run(table, "--label", "illness", "--model", tmp_path / "model") == 0  # it does not ask about billing
    assert "300 rows, 3 labels" in " ".join(capsys.readouterr().out.split())


def test_a_table_of_facts(capsys):
    assert run(FOLDER / "animals.csv", "--label", "animal") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "98 rows, 98 labels, 108 queries" in text
    assert '"is a bird" = "has feathers"' in text
    assert "states facts about labels" in text


def test_a_data_set_by_its_name(capsys):
    assert run("breast_cancer") == 0
    assert "breast_cancer (both parts): 569 rows, 2 labels, 30 queries" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.csv"], "neither a file nor a data set"),
        (["TABLE"], "--label COLUMN"),
        (["TABLE", "--label", "ilness"], "did you mean 'illness'"),
        (["TABLE", "--label", "illness", "--keep", "x"], "keep='x'"),
        (["TABLE", "--label", "illness", "--model", "nowhere"], "manifest"),
    ],
)
def test_mistakes_are_told_in_one_line(args, words, tmp_path, capsys):
    table = write(tmp_path, *clean(30))
    assert run(*(str(table) if arg == "TABLE" else arg for arg in args)) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
