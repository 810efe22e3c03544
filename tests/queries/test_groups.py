"""Queries that are asked together: what is told, in which words, and what that is worth."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from enumerator import Truth
from infopursuit.queries import columns, concepts, from_spec, groups, patches
from worlds import World, random_history, table_model

TABLE = pd.DataFrame(
    {
        "age": [18.0, 25.0, 31.0, 42.0, 54.0, 66.0, 77.0, 81.0],
        "bill": ["cone", "dagger", "hooked", "cone", "cone", "dagger", "hooked", "cone"],
        "migrates": [True, False, True, False, True, True, False, True],
    }
)
AGE = columns(TABLE[["age"]], bins=4, numbers="thresholds")
BLOOD = groups(concepts(["fever", "hb > 12", "wbc > 10"]), {"blood panel": ["hb > 12", "wbc > 10"]})


def test_members_are_asked_together_and_not_alone():
    assert BLOOD.names == ("fever", "blood panel")
    assert BLOOD.query_variables.tolist() == [[0, -1], [1, 2]]
    assert BLOOD.n_answers.tolist() == [2, 4]
    both = groups(concepts(["fever", "hb > 12", "wbc > 10"]), {"blood panel": ["hb > 12", "wbc > 10"]}, alone=True)
    assert both.names == ("fever", "hb > 12", "wbc > 10", "blood panel")
    several = groups(concepts(list("abcd")), {"first": ["a", "b"], "second": ["b", "c", "d"]})
    assert several.names == ("first", "second")
    assert several.query_variables.tolist() == [[0, 1, -1], [1, 2, 3]]


def test_what_is_said():
    assert BLOOD[1].sentence == "blood panel: hb > 12, wbc > 10?"
    assert list(BLOOD.choices(1)) == [
        "hb > 12: no, wbc > 10: no",
        "hb > 12: no, wbc > 10: yes",
        "hb > 12: yes, wbc > 10: no",
        "hb > 12: yes, wbc > 10: yes",
    ]
    assert BLOOD.say(1, (1, 0)) == "blood panel: hb > 12: yes, wbc > 10: no"
    assert BLOOD.say(1, (1, -1)) == "blood panel: hb > 12: yes, wbc > 10: not known"
    assert BLOOD.say_answer(1, None) == BLOOD.say_answer(1, (-1, -1)) == "not known"
    assert BLOOD.say(0, (1, -1)) == "fever: yes"


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"hb > 12": "yes", "wbc > 10": "no"}, (1, 0)),
        ({"wbc > 10": True}, (-1, 1)),
        ({"wbc > 10": None, "hb > 12": 0}, (0, -1)),
        ({"wbc > 10": None}, None),
        (["yes", "no"], (1, 0)),
        (["No", None], (0, -1)),
        (["?", "yes"], (-1, 1)),
        ([None, None], None),
        ([1, 0], (1, 0)),
        ((0, -1), (0, -1)),
        (2, (1, 0)),
        ("hb > 12: yes, wbc > 10: no", (1, 0)),
        ("HB > 12:  yes, wbc > 10: Not known", (1, -1)),
        (None, None),
    ],
)
def test_how_a_panel_may_be_answered(value, answer):
    assert BLOOD.to_answer(1, value) == answer


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"hb > 13": "yes"}, "'hb > 13' is not in it; did you mean 'hb > 12'"),
        ({"hb > 12": "perhaps"}, "'perhaps' is no answer to 'hb > 12'"),
        (["yes"], "1 answers for 2 components"),
        (["yes", "perhaps"], "'perhaps' is no answer to 'wbc > 10'"),
        ("hb > 12: yes", "'wbc > 10' is not answered"),
        ("yes, no", "'hb > 12' is not answered"),
        ({}, "is no answer to 'blood panel'"),
        (4, "is no answer to 'blood panel'"),
    ],
)
def test_what_is_no_answer_to_a_panel(value, says):
    with pytest.raises(ValueError, match=says) as caught:
        BLOOD.to_answer(1, value)
    assert repr(value) in str(caught.value)


def test_a_number_answers_a_column_that_is_asked_whole_and_thresholds_of_one_column_are_refused():
    whole = columns(TABLE[["age", "migrates"]].assign(age=TABLE["age"] + 0.5), bins=4)
    qs = groups(whole, {"visit": ["age", "migrates"]})
    low, *_, high = whole.scale(0).thresholds
    assert qs.to_answer(0, {"age": low, "migrates": "yes"}) == (0, 1)
    assert qs.to_answer(0, {"age": str(high + 1)}) == qs.to_answer(0, [str(high + 1), "?"]) == (3, -1)
    with pytest.raises(ValueError, match="'old' is no answer to 'age'"):
        qs.to_answer(0, {"age": "old"})
    with pytest.raises(ValueError, match=r"groups\['visit'\] has 'age > .*about the same"):
        groups(AGE, {"visit": ["age"]})


def test_whole_categories_keep_their_choices():
    qs = groups(columns(TABLE), {"look": ["migrates", "bill"]})
    look = qs.names.index("look")
    assert [component.name for component in qs.components(look)] == ["migrates", "bill"]
    assert qs.to_answer(look, {"bill": "hooked", "migrates": "yes"}) == (1, 2)
    assert qs.say_answer(look, (0, 1)) == "migrates: no, bill: dagger"
    assert qs.components(0) == ()


def test_words_of_the_base_are_kept_and_saved():
    base = ip.queries.wording.reword(
        concepts(["fever", "hb", "wbc"]),
        {"hb": ip.queries.wording.Wording(None, {"no": "niedrig", "yes": "hoch"}), "fever": "Fieber?"},
    )
    qs = groups(base, {"Blut": ["hb", "wbc"]})
    assert qs[0].sentence == "Fieber?"
    assert qs.say(0, (1, -1)) == "Fieber? yes"
    assert qs.say_answer(1, (1, 0)) == "hb: hoch, wbc: no"
    again = from_spec("groups", qs.to_spec())
    assert list(again.choices(1)) == list(qs.choices(1))
    worded = qs.with_words({1: ("Was sagt das Blut?", None)})
    assert from_spec("groups", worded.to_spec())[1].sentence == "Was sagt das Blut?"


def test_a_builder_waits_for_the_data():
    recipe = groups(columns(bins=4), {"visit": ["age", "migrates"]})
    qs = recipe.fit(TABLE)
    assert qs.names == ("bill", "visit")
    clf = ip.InformationPursuitClassifier(recipe, "table").fit(pd.concat([TABLE] * 4), [*"aabbccab"] * 4)
    assert clf.queries_.names == ("bill", "visit")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "groups is empty"),
        ({"visit": []}, r"groups\['visit'\]"),
        ({"visit": "age"}, r"groups\['visit'\]"),
        ({"visit": ["agee"]}, "did you mean 'age'"),
        ({"bill": ["age"]}, "groups has the name 'bill'"),
    ],
)
def test_groups_that_cannot_be(given, says):
    with pytest.raises(ValueError, match=says):
        groups(columns(TABLE), given)


def test_a_group_may_have_more_answers_than_can_be_listed():
    names = [f"c{i}" for i in range(70)]
    qs = groups(concepts(names), {"all": names})
    cells = tuple(i % 2 for i in range(70))
    assert qs.n_answers.tolist() == [len(qs.choices(0))] == [2**40]
    assert qs.to_answer(0, qs.say_answer(0, cells)) == qs.to_answer(0, dict(zip(names, cells, strict=True))) == cells


def test_bases_that_cannot_be():
    with pytest.raises(ValueError, match=r"groups\['both'\]"):
        groups(patches((2, 3), size=(1, 2)), {"both": list(patches((2, 3), size=(1, 2)).names[:2])})
    with pytest.raises(ValueError, match="base is"):
        groups(BLOOD, {"more": ["fever"]})
    with pytest.raises(TypeError, match="base is"):
        groups(["fever"], {"more": ["fever"]})


@pytest.mark.parametrize("seed", range(25))
def test_the_gain_of_a_panel_is_that_of_all_its_answers_together(seed):
    """By enumeration, after any history, of yes/no queries, categories and thresholds; it is never below that of
    a member."""
    rng = np.random.default_rng(seed)
    kind = [*map("abc".__getitem__, rng.integers(0, 3, 60))]
    frame = pd.DataFrame({"x": rng.uniform(0, 90, 60), "kind": kind, "flag": rng.integers(0, 2, 60) == 1})
    base = columns(frame, bins=4, numbers="thresholds")
    x = base.names[seed % 3]
    wanted = [[x, "flag"], ["kind", "flag"], [x, "kind"], [x, "kind", "flag"]][seed % 4]
    qs = groups(base, {"group": wanted}, alone=True)
    prior, latent = rng.dirichlet([1] * 3), rng.dirichlet([1] * 2, size=3)
    probs = [rng.dirichlet([0.7] * size, size=(3, 2)) for size in base.variables.sizes]
    world = World(prior, latent, probs, qs)
    truth, at = Truth(prior, latent, probs, qs), qs.names.index("group")
    pursuit = ip.generative_pursuit(table_model(prior, latent, probs), qs)
    for n in (0, 1, 3):
        history = [(q, a) for q, a in random_history(world, rng, n) if q != at]
        gains = pursuit.session(history).gains
        if at in truth.closed(history):
            assert np.isnan(gains[at])
            continue
        assert gains[at] == pytest.approx(truth.gain(at, history), abs=1e-10)
        members = [qs.names.index(name) for name in qs.groups["group"]]
        known = [gains[m] for m in members if not np.isnan(gains[m])]
        assert gains[at] >= max(known, default=0) - 1e-12


def test_a_panel_has_a_cost_of_its_own_and_opens_what_its_members_open():
    """A requirement may name a member that is not asked alone."""
    base = concepts(["fever", "hb > 12", "wbc > 10", "transfusion"])
    qs = groups(base, {"blood panel": ["hb > 12", "wbc > 10"]})
    assert ip.Costs({"blood panel": 12}).bind(qs).tolist() == [1, 1, 12]
    bound = ip.Constraints({"transfusion": ("hb > 12", "no")}).bind(qs)
    transfusion, group = qs.names.index("transfusion"), qs.names.index("blood panel")
    for cells, opens in (((0, 1), True), ((0, -1), True), ((1, 0), False), ((-1, 0), False)):
        assert bool(bound.allowed(np.array([[group]]), np.array([[cells]]))[0, transfusion]) is opens
    whole = ip.Constraints({"transfusion": ("blood panel", {"hb > 12": "no"})}).bind(qs)
    assert whole.prerequisites[0].excluded == bound.prerequisites[0].excluded
    with pytest.raises(ValueError, match="cycle"):
        ip.Constraints({"blood panel": ("hb > 12", "no")}).bind(qs)
