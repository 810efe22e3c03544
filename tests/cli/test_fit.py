"""``infopursuit fit`` and then ``infopursuit explain``, as a person uses them."""

import json

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from benchmarks.datasets import data_folder, zoo
from data_fixtures import data_beside  # noqa: F401
from infopursuit.app import cli
from infopursuit.app.jobs import job as explain_job
from infopursuit.estimator.labelled import label_table
from infopursuit.estimator.tables import Trial


def animals(n=120, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["bird", "cat", "fish"], n)
    return pd.DataFrame(
        {
            "legs": np.select([kind == "bird", kind == "cat"], [2, 4], 0),
            "skin": np.where(rng.random(n) < 0.8, np.select([kind == "bird", kind == "cat"], ["f", "h"], "s"), "h"),
            "weight": np.round(rng.normal(np.select([kind == "bird", kind == "cat"], [1, 4], 2), 1.0), 1),
            "kind": kind,
        }
    )


def fit(*args):
    return cli.main(["fit", *map(str, args)])


def test_from_a_table_to_a_questionnaire_in_one_command(tmp_path, capsys):
    animals().to_csv(tmp_path / "animals.csv", index=False)
    (tmp_path / "de.csv").write_text("query,sentence,choices\nlegs,Wie viele Beine hat es?,0 = keine\n")
    out = tmp_path / "model"
    assert fit(tmp_path / "animals.csv", "--label", "kind", "--out", out, "--wording", tmp_path / "de.csv",
               "--epsilon", 0.05, "--max-queries", 5, "--patience", 1, "--strategy", "table") == 0  # fmt: skip
    said = capsys.readouterr().out
    for words in ("120 rows, 3 labels (kind), 3 columns", "Taken as examples", "decision tree", "boosted trees",
                  "rows: table", "Wie viele Beine", "keine →", f"infopursuit ask {out}", f"infopursuit serve {out}",
                  "95 % confident", "5 questions", "patience 1"):  # fmt: skip
        assert words in " ".join(said.split()), words
    assert max(map(len, said.replace(str(tmp_path), "").splitlines())) <= 80
    clf = ip.load(out)
    assert clf.patience == 1
    session = clf.session()
    while session.question is not None:
        session.answer(0)  # of legs the number, of others the first choice
    assert session.explanation.steps
    assert clf.score(animals(seed=1).drop(columns="kind"), animals(seed=1)["kind"]) > 0.95


def test_a_table_of_facts_is_recognised_and_said(tmp_path, capsys):
    frame = pd.DataFrame(
        {"animal": ["cat", "owl", "bat", "carp", "pike"], "fur": ["yes", "no", "yes", "no", "no"],
         "flies": ["no", "yes", "sometimes", "no", "no"], "eggs": [0, 1, 0, 1, 1]}
    )  # fmt: skip
    frame.to_csv(tmp_path / "facts.csv", index=False)
    assert fit(tmp_path / "facts.csv", "--label", "animal", "--out", tmp_path / "model", "--answer-error", 0.05) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Taken as a table of facts (each label has one row)", "in 5 % of the cases", "with 5 % wrong answers",
                  "2 labels share all their facts with another", "carp = pike"):  # fmt: skip
        assert words in said, words
    model = ip.load(tmp_path / "model").model_
    assert (model.kind, model.n_states) == ("table", 5)
    assert model.tables()[2].min() == pytest.approx(0.05)
    assert fit(tmp_path / "facts.csv", "--label", "animal", "--out", tmp_path / "m2", "--strategy", "empirical") == 2
    assert "--no-facts" in capsys.readouterr().err


@pytest.mark.data
@pytest.mark.usefixtures("data_beside")
def test_zoo_and_what_it_finds(tmp_path, capsys):
    if not (data_folder() / "zoo.npz").is_file():
        pytest.skip("zoo.npz is not there")
    data = zoo()
    frame = pd.DataFrame(np.concatenate([data.x_train, data.x_test]), columns=list(data.feature_names))
    species = np.concatenate([data.ids_train, data.ids_test])
    frame.insert(0, "animal", species)
    frame.to_csv(tmp_path / "species.csv", index=False)
    frame.assign(kind=np.array(data.class_names)[np.concatenate([data.y_train, data.y_test])]).to_csv(
        tmp_path / "kinds.csv", index=False
    )
    assert fit(tmp_path / "species.csv", "--label", "animal", "--out", tmp_path / "species") == 0
    assert "answered as the table says        100.0 %" in capsys.readouterr().out
    assert fit(tmp_path / "kinds.csv", "--label", "kind", "--out", tmp_path / "kinds") == 0
    assert "Not asked about: animal" in capsys.readouterr().out
    trace = ip.load(tmp_path / "kinds").pursuit_.run(pd.read_csv(tmp_path / "kinds.csv"))
    assert (trace.predictions == pd.read_csv(tmp_path / "kinds.csv")["kind"]).mean() > 0.95


def test_groups_that_somebody_names_are_held_out_together(tmp_path, capsys):
    """Each farm has 5 rows and a label of its own: on rows of farms that it has seen it would be better."""
    rng = np.random.default_rng(0)
    farm = np.arange(300) // 5
    frame = pd.DataFrame({"size": farm + rng.normal(0, 0.01, 300), "kind": rng.integers(0, 2, 60)[farm], "farm": farm})
    frame.to_csv(tmp_path / "farms.csv", index=False)
    given = (tmp_path / "farms.csv", "--label", "kind", "--strategy", "hybrid", "--out")
    assert fit(*given, tmp_path / "together", "--group", "farm") == 0
    assert "held out once, whole groups by farm" in " ".join(capsys.readouterr().out.split())
    assert fit(*given, tmp_path / "apart") == 0

    together = ip.load(tmp_path / "together").assessment_
    apart = ip.load(tmp_path / "apart").assessment_
    assert together.n_effective < 100
    assert apart.n_effective > 200
    assert together.accuracy < 0.7


def test_examples_have_the_defaults_of_the_classifier(tmp_path, capsys):
    frame = animals(60).assign(visit=range(60))
    frame.to_csv(tmp_path / "a.csv", index=False)
    given = ("--label", "kind", "--strategy", "table")
    assert fit(tmp_path / "a.csv", *given, "--out", tmp_path / "m") == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Not asked about: visit (row numbers)", "information pursuit", "about as accurate as the best",
                  "Probabilities were calibrated", "Each of 60 rows was held out once", "48 others"):  # fmt: skip
        assert words in said, words
    with pytest.warns(UserWarning, match="identifiers.*'visit'"):
        clf = ip.InformationPursuitClassifier(strategy="table").fit(frame.drop(columns="kind"), frame["kind"])
    loaded = ip.load(tmp_path / "m")
    assert loaded.pursuit_.stopping == clf.pursuit_.stopping
    assert loaded.queries_.names == clf.queries_.names
    assert loaded.tuning_.rule == ip.fit_table(frame, "kind", strategy="table").tuning_.rule


def test_labels_that_are_quantities_are_refused(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 90), "price": rng.integers(0, 900, 90)})
    for label in (frame["price"], frame["price"] / 7):
        frame.assign(price=label).to_csv(tmp_path / "a.csv", index=False)
        assert fit(tmp_path / "a.csv", "--label", "price", "--out", tmp_path / "m") == 2
        assert "label='price'" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"y has .* different numbers"):
        ip.InformationPursuitClassifier(strategy="table").fit(frame[["a"]], frame["price"])
    assert label_table(frame, "price", facts=True).facts


def test_the_standard_error_counts_what_is_alike_once():
    right = np.array([1, 1, 0, 1])
    once = Trial.of(right, [1, 2, 3, 4])
    thrice = Trial.of(np.repeat(right, 3), [1] * 12, groups=np.repeat(np.arange(4), 3))
    assert once.standard_error == pytest.approx(np.sqrt(0.75 * 0.25 / 4))
    assert thrice.standard_error == pytest.approx(once.standard_error)
    assert Trial.of(np.repeat(right, 3), [1] * 12).standard_error < once.standard_error


def test_nothing_is_held_out_where_nobody_wants_it_or_nothing_can_be_spared(tmp_path, capsys):
    animals().to_csv(tmp_path / "a.csv", index=False)
    assert (
        fit(tmp_path / "a.csv", "--label", "kind", "--out", tmp_path / "m", "--no-assess", "--strategy", "table") == 0
    )
    said = capsys.readouterr().out
    assert "held out once" not in said
    assert "decision tree" not in said
    assert ip.load(tmp_path / "m").assessment_ is None
    pd.DataFrame({"y": ["a", "b"] * 5, "x": [0, 1] * 5}).to_csv(tmp_path / "b.csv", index=False)
    assert fit(tmp_path / "b.csv", "--label", "y", "--out", tmp_path / "m") == 0
    assert "too few rows to hold any out" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ("{}/gone.csv --label kind --out {}/m", "gone.csv"),
        ("{}/a.csv --label knd --out {}/m", "label='knd'"),
        ("{}/a.csv --label kind --out {}/a.csv", "--out {}/a.csv"),
        ("{}/a.csv --label kind --out {}/m --wording {}/w.csv", "legz"),
        ("{}/a.csv --label kind --out {}/m --wording {}/gone.yaml", "gone.yaml"),
        ("{}/a.csv --label kind --out {}/m --epsilon 2", "--epsilon"),
        ("{}/a.csv --label kind --out {}/m --held-out 0.9", "--held-out"),
        ("{}/a.csv --out {}/m", "--label"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, capsys, args, named):
    folder = str(tmp_path)
    animals().to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "w.csv").write_text("query,sentence\nlegz,Beine?\n")
    assert fit(*(word.replace("{}", folder) for word in args.split())) == 2
    err = capsys.readouterr().err
    assert named.replace("{}", folder) in err
    assert "Traceback" not in err
    assert not (tmp_path / "m").exists()


# ---- and then explain -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    animals().to_csv(folder / "animals.csv", index=False)
    wording = folder / "w.csv"
    wording.write_text("query,sentence,choices\nlegs,Wie viele Füße?,0 = keine\n", encoding="utf-8")
    ip.fit_table(folder / "animals.csv", "kind", wording=wording, strategy="table").save(folder / "model")
    return folder / "model"


def explain(*args):
    return cli.main(["explain", *map(str, args)])


def test_explain_writes_rows_in_the_users_words(model, tmp_path, capsys):
    frame = animals(30, 1)
    frame.to_csv(tmp_path / "new.csv", index=False)
    page = tmp_path / "pages" / "new.html"
    assert (
        explain(tmp_path / "new.csv", "--model", model, "--label", "kind", "--out", tmp_path / "out", "--html", page)
        == 0
    )
    said = capsys.readouterr().out
    assert "30 inputs" in said
    assert "It stopped because" in said
    rows = pd.read_parquet(tmp_path / "out" / "traces.parquet")
    trace = ip.load(model).explain(frame.drop(columns="kind"))
    assert rows["prediction"].tolist() == trace.predictions.tolist()
    assert rows["length"].tolist() == trace.length.tolist()
    assert rows["probability"].to_numpy() == pytest.approx(trace.posterior.max(axis=1))
    assert rows["label"].tolist() == frame["kind"].tolist()
    assert rows["input"].tolist() == list(range(30))
    asked = [step for steps in rows["steps"] for step in json.loads(steps)]
    assert {(step["query"], step["question"]) for step in asked} >= {("legs", "Wie viele Füße?")}
    assert {step["answer"] for step in asked} >= {"keine", "2", "4"}
    assert "Wie viele Füße?" in page.read_text(encoding="utf-8")
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == [".job", ".job.lock", "traces.parquet"]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), rows)  # the folder itself is a table


def test_explain_names_categories_that_training_did_not_have(model, tmp_path, capsys):
    frame = animals(7, 1).drop(columns="kind")
    frame.loc[:1, "skin"] = ["plastic", "H"]
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert explain(tmp_path / "new.csv", "--model", model) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Column 'skin': 1 of 7 cells hold a category that training did not have, such as 'plastic'" in said


def test_explain_without_labels(model, tmp_path, capsys):
    frame = animals(7, 1).drop(columns="kind")
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert explain(tmp_path / "new.csv", "--model", model, "--out", tmp_path / "out", "--inputs", 5) == 0
    assert " right" not in capsys.readouterr().out
    rows = pd.read_parquet(tmp_path / "out" / "traces.parquet")
    assert rows["prediction"].tolist() == ip.load(model).predict(frame[:5]).tolist()
    assert rows["label"].isna().all()


def test_parts_give_what_the_whole_gives(model, tmp_path, monkeypatch):
    animals(40, 2).to_csv(tmp_path / "new.csv", index=False)

    def once(folder, *more):
        assert (
            explain(
                tmp_path / "new.csv",
                "--model",
                model,
                "--label",
                "kind",
                "--out",
                tmp_path / folder,
                "--html",
                tmp_path / f"{folder}.html",
                "--max-shown",
                12,
                "--title",
                "T",
                *more,
            )
            == 0
        )
        return pd.read_parquet(tmp_path / folder / "traces.parquet"), (tmp_path / f"{folder}.html").read_text()

    whole, page = once("whole")
    monkeypatch.setattr(explain_job, "at_once", lambda pursuit: 3)
    parts, again = once("parts", "--part", 7)
    pd.testing.assert_frame_equal(whole, parts)
    assert page == again
    assert page.count("<article") == 12


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["{folder}/new.csv", "--model", "{folder}/gone"], "gone has no manifest.json"),
        (["{folder}/gone.csv", "--model", "{model}"], "neither a file nor a data set"),
        (["{folder}/new.csv", "--model", "{model}", "--label", "knd"], "has no column 'knd'"),
        (["{folder}/new.csv", "--model", "{model}", "--html", "{folder}"], "is a folder"),
        (["{folder}/empty.csv", "--model", "{model}"], "no rows"),
        (["{folder}/new.csv", "--model", "{model}", "--inputs", "0"], "--inputs"),
    ],
)
def test_what_cannot_be_explained_is_said_in_one_line(model, tmp_path, capsys, args, named):
    animals(5).to_csv(tmp_path / "new.csv", index=False)
    animals(5)[:0].drop(columns="kind").to_csv(tmp_path / "empty.csv", index=False)
    assert explain(*(arg.format(folder=tmp_path, model=model) for arg in args)) == 2
    err = capsys.readouterr().err
    assert named in err
    assert "Traceback" not in err
