"""Terms in files that people write: read, refused, and kept to by ``fit``, ``ask`` and saved models."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import infopursuit as ip
from infopursuit.app import cli
from infopursuit.estimator.tables import read_costs

CSV = """query,cost,requires,forbidden,group
age,0,,,
pregnant,1,sex = female,,
rash,2.5,age > 40 = yes & kind = round | oval,,
hb,3,,,blood panel
wbc,4,,,blood panel
name,,,yes,
scan,30,ultrasound,,
"""


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", CSV), ("t.tsv", CSV.replace(",", "\t")), ("bom.csv", "\ufeff" + CSV)]
)
def test_files_of_all_kinds_say_the_same(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_costs(tmp_path / name)
    assert found.groups == {"blood panel": ["hb", "wbc"]}
    assert found.costs == ip.Costs({"age": 0, "pregnant": 1, "rash": 2.5, "blood panel": 7, "scan": 30})
    assert found.constraints == ip.Constraints(
        {
            "pregnant": [("sex", ["female"])],
            "rash": [("age > 40", ["yes"]), ("kind", ["round", "oval"])],
            "scan": "ultrasound",
        },
        ["name"],
    )


def test_a_group_has_the_cost_of_its_own_line(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("query,cost,requires,group\nhb,3,,lab\nlab,20,sex = female,\nbmi,1,,\n")
    found = read_costs(file)
    assert found.groups == {"lab": ["hb"]}
    assert found.costs == ip.Costs({"lab": 20, "bmi": 1})
    assert found.constraints == ip.Constraints({"lab": ("sex", "female")})


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "query,price\na,1\n", "price"),
        ("t.csv", "query,cost\na,much\n", "cost of 'a' .*much"),
        ("t.csv", "query,cost\na,-1\n", "cost of 'a'"),
        ("t.csv", "query,cost\na,1\na,2\n", "'a'"),
        ("t.csv", "query,cost\n,1\n", "line 2"),
        ("t.csv", "query,forbidden\na,perhaps\n", "forbidden of 'a'"),
        ("t.csv", "query,requires\na,= yes\n", "'a' in .* requires"),
        ("t.csv", "query,requires,group\na,b = yes,lab\n", "'lab'"),
        ("t.yaml", "a: 1", "costs=.*csv"),
    ],
)
def test_files_that_are_wrong(tmp_path, name, text, says):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        read_costs(tmp_path / name)


# ---- fitted, saved, asked -------------------------------------------------------------------------------------------


def patients(n=160, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    female = rng.random(n) < np.where(ill, 0.8, 0.3)
    return pd.DataFrame(
        {
            "sex": np.where(female, "female", "male"),
            "pregnant": np.where(female & (rng.random(n) < np.where(ill, 0.7, 0.2)), "yes", "no"),
            "hb": np.round(rng.normal(np.where(ill, 11, 14), 1.0), 1),
            "wbc": np.round(rng.normal(np.where(ill, 12, 8), 2.0), 1),
            "label": np.where(ill, "ill", "well"),
        }
    )


TERMS = "query,cost,requires,forbidden,group\nsex,1,,,\npregnant,1,sex = female,,\nhb,,,,lab\nwbc,,,,lab\nlab,400,,,\n"


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    patients().to_csv(folder / "patients.csv", index=False)
    (folder / "terms.csv").write_text(TERMS)
    args = ["--label", "label", "--out", str(folder / "model"), "--costs", str(folder / "terms.csv")]
    args += ["--max-cost", "401.5"]
    assert cli.main(["fit", str(folder / "patients.csv"), *args, "--strategy", "table", "--epsilon", "0.001"]) == 0
    return folder / "model"


def test_a_saved_model_keeps_to_its_terms(model):
    clf = ip.load(model)
    assert clf.queries_.names == ("sex", "pregnant", "lab")
    assert clf.costs.per_query == {"sex": 1.0, "pregnant": 1.0, "lab": 400.0}
    again = clone(clf)
    assert (again.costs, again.constraints) == (clf.costs, clf.constraints)
    frame = patients(seed=1)
    trace = clf.explain(frame.drop(columns="label"))
    assert (trace.cost <= 401.5).all()
    assert {"max_cost"} <= set(trace.stop_reason.tolist())
    pregnant, sex = 1, 0
    for i in range(len(frame)):
        history = trace.history(i)
        at = [k for k, (query, _) in enumerate(history) if query == pregnant]
        assert all((sex, (0,)) in history[:k] for k in at)
    assert any((trace.queries[i] == pregnant).any() for i in range(len(frame)))
    card = (model / "CARD.md").read_text()
    assert "A question costs 1 to 400." in card
    assert "1 of 3 questions have prerequisites." in card


def test_another_prior_keeps_the_terms(model):
    clf = ip.load(model)
    session = clf.session(class_prior={"ill": 0.1, "well": 0.9})
    assert (session.pursuit.costs, session.pursuit.constraints) == (clf.costs, clf.constraints)


def test_asked_in_a_terminal(model, capsys):
    answers = io.StringIO("female\nwhy\nyes\n11.5 12\nn\n")
    code = cli.main(["ask", str(model)], stdin=answers)
    said = capsys.readouterr().out
    assert code in (0, 3)
    for words in ("Question 1, costs 1", "for what it costs", "that cost"):
        assert words in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80


def test_a_panel_in_a_terminal(model, tmp_path, capsys):
    clf = ip.load(model)
    costs = ip.Costs({"lab": 0.01})
    clf.pursuit_ = ip.generative_pursuit(clf.model_, clf.queries_, stopping=ip.MaxQueries(1), costs=costs,
                              classes=clf.classes_)  # fmt: skip
    clf.save(tmp_path / "lab")
    answers = io.StringIO("help\n11.5\n11.5, blue\n11.5, ?\n")
    assert cli.main(["ask", str(tmp_path / "lab")], stdin=answers) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Question 1, costs 0.01", "hb: a number, or up to", "2 answers, in this order", "one for each line",
                  "has 1 answers for 2 components", "'blue' is no answer for wbc", "wbc: not known"):  # fmt: skip
        assert words in said, words


def test_terms_that_do_not_fit_are_told_in_one_line(tmp_path, capsys):
    patients().to_csv(tmp_path / "patients.csv", index=False)
    (tmp_path / "terms.csv").write_text("query,cost\nsexx,1\n")
    args = ["--label", "label", "--out", str(tmp_path / "m"), "--costs", str(tmp_path / "terms.csv")]
    assert cli.main(["fit", str(tmp_path / "patients.csv"), *args]) == 2
    error = capsys.readouterr().err
    assert "did you mean 'sex'" in error
    assert error.count("\n") == 1
    assert cli.main(["fit", str(tmp_path / "patients.csv"), *args, "--max-cost", "-3"]) == 2


def test_a_table_of_facts_on_terms(tmp_path):
    frame = pd.DataFrame({"animal": ["cat", "owl", "bat", "carp"], "fur": [1, 0, 1, 0], "flies": [0, 1, 1, 0]})
    clf = ip.fit_table(frame, "animal", costs=ip.Costs({"fur": 5}), stopping=ip.Confidence(0.01))
    assert clf.session().question.name == "flies"
    (tmp_path / "t.csv").write_text("query,group\nfur,look\nflies,look\n")
    together = ip.fit_table(frame, "animal", costs=str(tmp_path / "t.csv"), wording={"look": "How does it look?"})
    assert str(together.session().question) == "How does it look?"
    assert together.session([("look", {"fur": "yes", "flies": "no"})]).prediction == "cat"


def test_costs_and_constraints_of_another_type_are_refused():
    X = np.random.default_rng(0).integers(2, size=(60, 6))
    for name in ("costs", "constraints"):
        with pytest.raises(ValueError, match=f"{name}="):
            ip.InformationPursuitClassifier(**{name: 3}).fit(X, X[:, 0])
