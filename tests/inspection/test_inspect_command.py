"""``infopursuit inspect`` as a person uses it."""

import json

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model, and tables to train and to test it."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    frame = pd.DataFrame({"size": rng.normal(y * 2, 1), "age": rng.normal(y, 1), "kind": rng.choice(["a", "b"], 300)})
    frame["species"] = np.where(y, "oak", "elm")
    path = tmp_path_factory.mktemp("strategy")
    frame[:200].to_csv(path / "train.csv", index=False)
    frame[200:].to_csv(path / "test.csv", index=False)
    frame[200:].drop(columns="species").to_csv(path / "plain.csv", index=False)
    clf = ip.InformationPursuitClassifier(strategy="table").fit(
        frame[:200].drop(columns="species"), frame["species"][:200]
    )
    clf.save(path / "model")
    return path


def test_a_model_that_comes_along(capsys):
    assert cli.main(["inspect", "animals", "--depth", "2"]) == 0
    out = capsys.readouterr().out
    assert "The first 2 questions of the pursuit." in out
    assert "Is it a mammal?" in out
    assert max(map(len, out.splitlines())) <= 80


def test_with_data_it_tells_what_is_asked_about_which_class(folder, capsys):
    args = ["inspect", str(folder / "model"), "--data", str(folder / "test.csv"), "--label", "species"]
    assert cli.main(args) == 0
    out = capsys.readouterr().out
    assert "which of them 100 inputs take" in out
    assert "Query frequencies" in out


def test_data_without_labels(folder, capsys):
    args = ["inspect", str(folder / "model"), "--data", str(folder / "plain.csv"), "--inputs", "7"]
    assert cli.main(args) == 0
    out = capsys.readouterr().out
    assert "which of them 7 inputs take" in out
    assert "right" not in out


def test_everything_is_written(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    data = ["--data", str(folder / "test.csv"), "--label", "species"]
    png, heat, file = tmp_path / "new" / "tree.png", tmp_path / "heat.svg", tmp_path / "all.json"
    args = [*data, "--png", str(png), "--heatmap", str(heat), "--json", str(file), "--max-branches", "3"]
    assert cli.main(["inspect", str(folder / "model"), *args]) == 0
    out = capsys.readouterr().out
    assert out.count("written to") == 3
    assert png.stat().st_size > 1000
    assert "<svg" in heat.read_text()
    found = json.loads(file.read_text())
    assert found["strategy"]["n_inputs"] == found["query_frequencies"]["n_inputs"] == 100


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere"], "model 'nowhere'"),
        (["animals", "--heatmap", "x.png"], "--heatmap needs inputs"),
        (["animals", "--png", "x.jpeg2"], "argument --png"),
        (["animals", "--depth", "31"], "argument --depth"),
        (["animals", "--max-branches", "1"], "argument --max-branches"),
        (["animals", "--inputs", "0"], "argument --inputs"),
        (["animals", "--data", "nothing.csv"], "'nothing.csv' is neither a file nor a data set"),
        (["animals", "--depth", "25", "--min-share", "0"], "depth=25 with min_share=0"),
    ],
)
def test_mistakes_are_told_in_a_line(args, words, capsys):
    assert cli.main(["inspect", *args]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_the_card_of_a_folder_is_the_card_of_the_classifier(folder, capsys):
    assert cli.main(["inspect", str(folder / "model"), "--card"]) == 0
    shown = capsys.readouterr().out
    assert shown == ip.load(folder / "model").model_card() == (folder / "model" / "CARD.md").read_text()


def test_the_card_of_a_model_that_comes_along(capsys):
    assert cli.main(["inspect", "animals", "--card"]) == 0
    assert capsys.readouterr().out.startswith("# Model card: Information Pursuit classifier of 98 classes")
