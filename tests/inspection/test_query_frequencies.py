"""Which queries are asked, how often, how early and for which class: counted by hand, one input after the other."""

import json

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.evaluation.inspection import EARLY, query_frequencies
from worlds import KINDS, world_of


@pytest.fixture(params=KINDS)
def trace(request):
    world, rng = world_of(5, kind=request.param)
    return world.pursuit([("confidence", 0.1, None)]).run_values(world.inputs(rng, 50, unknown=0.1))


def test_counted_one_by_one(trace):
    labels = np.random.default_rng(0).choice(trace.classes, size=len(trace))
    found = query_frequencies(trace, labels)
    asked_of = [[q for q in row if q >= 0] for row in trace.queries.tolist()]
    assert set(found.queries.tolist()) == {q for mine in asked_of for q in mine}
    for i, q in enumerate(found.queries.tolist()):
        assert found.names[i] == trace.query_set.names[q]
        assert found.share[i] == pytest.approx(np.mean([q in mine for mine in asked_of]))
        assert found.first[i] == pytest.approx(np.mean([mine[:1] == [q] for mine in asked_of]))
        assert found.early[i] == pytest.approx(np.mean([q in mine[:EARLY] for mine in asked_of]))
        assert found.position[i] == pytest.approx(np.mean([mine.index(q) + 1 for mine in asked_of if q in mine]))
        for c, label in enumerate(found.classes):
            there = [q in mine for mine, each in zip(asked_of, labels, strict=True) if each == label]
            assert found.class_sizes[c] == len(there)
            assert found.by_class[i, c] == pytest.approx(np.mean(there))
    assert (np.diff(found.share) <= 0).all()
    assert found.by == "label"


def test_without_labels_by_prediction(trace):
    found = query_frequencies(trace)
    assert found.by == "prediction"
    assert found.class_sizes.tolist() == [(trace.predictions == c).sum() for c in trace.classes]


@pytest.fixture(scope="module")
def animals():
    model = ip.models.TableModel([0.4, 0.3, 0.3], None, [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5], [0.1, 0.1, 0.5]])
    names = ["has fur, and that all over its body with no place left out at all", "fins", "old"]
    pursuit = ip.generative_pursuit(
        model,
        ip.queries.concepts(names),
        stopping=ip.Confidence(0.3),
        classes=["cat", "cod", "an eagle owl of the north"],
    )
    return pursuit.run([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])


def test_text_and_json(animals):
    found = query_frequencies(animals)
    text = found.to_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "4 inputs" in text
    assert "cat (0 %)" in text
    data = json.loads(found.to_json())
    assert data["names"] == list(found.names)
    assert data["by_class"][1][data["classes"].index("cat")] == 0
    assert found.to_text(max_rows=1).splitlines()[-1].startswith("1 more is asked of")


def test_classes_without_inputs_have_no_share(animals):
    data = json.loads(query_frequencies(animals, ["cat", "cod", "cod", "cat"]).to_json())
    c = data["classes"].index("an eagle owl of the north")
    assert (data["by_class"][0][c], data["class_sizes"][c]) == (None, 0)


def test_a_pursuit_that_asks_nothing():
    pursuit = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[0.5], [0.4]]), ip.queries.concepts(["fur"]), stopping=ip.MaxQueries(0)
    )
    found = query_frequencies(pursuit.run([[1], [0]]))
    assert len(found) == 0
    assert str(found) == "2 inputs, 0.0 questions each on average; 0 of 1 queries are asked."
    assert json.loads(found.to_json())["queries"] == []


def test_mistakes_are_named(animals):
    with pytest.raises(ValueError, match=r"y has shape \(2,\)"):
        query_frequencies(animals, ["cat", "cod"])
    with pytest.raises(ValueError, match="y has 'dog'"):
        query_frequencies(animals, ["cat", "cod", "dog", "cat"])
