"""Tables of facts: what the cells mean, what follows from them, and that one wrong answer rules nothing out."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.estimator.tables import read_facts

ANIMALS = pd.DataFrame(
    {
        "animal": ["cat", "owl", "bat", "carp", "ant", "horse"],
        "fur": ["yes", "No", "TRUE", "false", "0", "1"],
        "flies": ["no", "yes", "0.9", "", "sometimes", "n"],
        "legs": [4, 2, 2, 0, 6, 4],
        "food": ["meat", "meat", "insects", None, "plants", "plants"],
    }
)


def facts_of(frame, label="animal", **options):
    classes, y = np.unique(frame[label], return_inverse=True)
    return classes.tolist(), read_facts(frame.drop(columns=label), y, len(classes), **options)


def share(classes, facts, animal, query, answer):
    """What is stated, by words."""
    q = facts.queries.names.index(query)
    variable = int(facts.queries.query_variables[q, 0])
    cells = facts.queries.query_cells[q, 0]
    at = list(facts.queries.choices(q)).index(answer)
    start, stop = facts.queries.variables.offsets[variable : variable + 2]
    row = facts.stated[classes.index(animal), start:stop]
    return row[cells[: stop - start] == at].sum()


@pytest.mark.parametrize(
    ("animal", "query", "answer", "stated"),
    [
        ("cat", "fur", "yes", 1), ("owl", "fur", "yes", 0), ("bat", "fur", "yes", 1), ("carp", "fur", "yes", 0),
        ("ant", "fur", "yes", 0), ("horse", "fur", "yes", 1),
        ("cat", "flies", "yes", 0), ("bat", "flies", "yes", 0.9), ("bat", "flies", "no", 0.1),
        ("ant", "flies", "yes", 0.5), ("carp", "flies", "yes", np.nan),
        ("owl", "food", "meat", 1), ("owl", "food", "plants", 0), ("carp", "food", "meat", np.nan),
        ("ant", "legs", "6", 1), ("carp", "legs", "0", 1), ("ant", "legs", "4", 0),
    ],
)  # fmt: skip
def test_cells_of_all_kinds(animal, query, answer, stated):
    classes, facts = facts_of(ANIMALS)
    assert share(classes, facts, animal, query, answer) == pytest.approx(stated, nan_ok=True)


def test_probabilities_are_those_of_the_formula():
    classes, facts = facts_of(ANIMALS)
    model = facts.model(0.1)
    prior, _, table = model.tables()
    assert prior == pytest.approx(np.full(6, 1 / 6))
    offsets = facts.queries.variables.offsets
    flies = table[:, 0, offsets[1] + 1]
    by_name = dict(zip(classes, flies, strict=True))
    assert by_name["owl"] == pytest.approx(0.9)
    assert by_name["bat"] == pytest.approx(0.9 * 0.9 + 0.1 * 0.1)
    assert by_name["ant"] == pytest.approx(0.5)
    mean = (0 + 1 + 0.9 + 0.5 + 0) / 5
    assert by_name["carp"] == pytest.approx(0.9 * mean + 0.1 * (1 - mean))
    food = table[classes.index("owl"), 0, offsets[3] : offsets[4]]
    assert sorted(food) == pytest.approx([0.05, 0.05, 0.9])


def test_several_rows_of_a_label_are_averaged():
    frame = pd.DataFrame({"animal": ["frog", "frog", "newt"], "venomous": [1, 0, 0], "big": [1, None, 0]})
    classes, facts = facts_of(frame)
    assert share(classes, facts, "frog", "venomous", "yes") == 0.5
    assert share(classes, facts, "frog", "big", "yes") == 1


def test_one_wrong_answer_rules_nothing_out():
    rng = np.random.default_rng(0)
    traits = rng.integers(0, 2, (16, 14))
    frame = pd.DataFrame(traits, columns=[f"t{j}" for j in range(14)]).assign(animal=[f"a{i}" for i in range(16)])
    clf = ip.fit_table(frame, "animal")
    session = clf.session()
    truth, asked = traits[3], 0
    while session.question is not None:
        right = truth[int(session.question.name[1:])]
        session.answer(int(1 - right if asked == 0 else right))
        asked += 1
    assert session.prediction == "a3"
    control = ip.fit_table(frame, "animal", answer_error=1e-9)  # the same game where errors are all but excluded
    session, asked = control.session(), 0
    while session.question is not None:
        right = truth[int(session.question.name[1:])]
        session.answer(int(1 - right if asked == 0 else right))
        asked += 1
    assert session.prediction != "a3"


def test_games_are_drawn_as_stated():
    classes, facts = facts_of(ANIMALS)
    values, owners = facts.draw(4000, seed=0)
    flies = values[:, 1]
    assert (flies[owners == classes.index("carp")] == -1).all()
    assert (flies[owners == classes.index("owl")] == 1).all()
    assert flies[owners == classes.index("bat")].mean() == pytest.approx(0.9, abs=0.02)  # 4 standard errors
    assert flies[owners == classes.index("ant")].mean() == pytest.approx(0.5, abs=0.035)
    wrong, _ = facts.draw(4000, seed=0, error=0.25)
    assert wrong[owners == classes.index("owl"), 1].mean() == pytest.approx(0.75, abs=0.03)
    assert set(wrong[owners == classes.index("owl"), 3]) == {0, 1, 2}


def test_twins_are_found():
    frame = pd.DataFrame({"animal": list("abcd"), "x": [1, 0, 1, 0.5], "y": [0, 0, 0, np.nan]})
    assert facts_of(frame)[1].twins() == [[0, 2]]


def test_a_saved_table_of_facts_reads_the_same_cells(tmp_path):
    clf = ip.fit_table(ANIMALS, "animal")
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    frame = ANIMALS.drop(columns="animal")
    assert again.queries_.observe(frame)[:, 0].tolist() == [1, 0, 1, 0, 0, 1]
    assert again.queries_.observe(frame)[:, 1].tolist() == [0, 1, -1, -1, -1, 0]  # sometimes, 0.9 and empty: not known
    trace = again.explain(frame)
    assert (trace.posteriors == clf.explain(frame).posteriors).all()
    assert trace.predictions[[0, 1, 2, 4, 5]].tolist() == ["cat", "owl", "bat", "ant", "horse"]


def test_sometimes_beside_other_words_is_refused():
    frame = pd.DataFrame({"animal": list("abc"), "colour": ["red", "sometimes", "yes"]})
    with pytest.raises(ValueError, match="column 'colour' has 'sometimes' beside 'red'"):
        facts_of(frame)


@pytest.mark.parametrize("error", [0, 0.5, -1])
def test_an_error_that_is_no_small_share_is_refused(error):
    with pytest.raises(ValueError, match="answer_error="):
        ip.fit_table(ANIMALS, "animal", answer_error=error)
