"""An explanation in words, as a picture and as JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from enumerator import entropy


@pytest.fixture
def birds():
    model = ip.models.TableModel([0.5, 0.3, 0.2], None, [[0.9, 0.2, 0.5], [0.1, 0.8, 0.5], [0.5, 0.5, 0.5]])
    queries = ip.queries.concepts(["has wings", "is red", "sings"])
    pursuit = ip.generative_pursuit(model, queries, stopping=ip.Confidence(0.0), classes=["gull", "crab", "robin"])
    return pursuit.run([[1, 0, 1], [0, 1, np.nan]])


@pytest.fixture
def image():
    rng = np.random.default_rng(0)
    model = ip.models.TableModel([0.5, 0.5], None, rng.uniform(0.1, 0.9, size=(2, 6)))
    pursuit = ip.generative_pursuit(model, ip.queries.patches((2, 3), size=2), stopping=ip.MaxQueries(2))
    return pursuit, pursuit.run([[[1, 0, 1], [0, 1, 1]]])[0]


def test_words(birds):
    text = str(birds[0])
    first, *steps, last = text.splitlines()
    assert first.startswith("gull, with a probability of ")
    assert first.endswith("after 3 questions.")
    assert [line.split(".", 1)[0].strip() for line in steps] == ["1", "2", "3"]
    assert "has wings: yes" in steps[0]
    assert "gull" in steps[0]
    assert last == "It stopped because no question is left (exhausted)."
    assert "sings: not known" in str(birds[1])


def test_long_explanations_are_cut_to_what_moved_the_belief_most(birds):
    explanation = birds[0]
    text = explanation.to_text(max_steps=1)
    (k,) = explanation.most_influential(1)
    assert k == int(explanation.influence().argmax())
    assert f"{k + 1}. {explanation.steps[k].name}" in text
    assert sum(step.name in text for step in explanation.steps) == 1
    assert "most influence on the posterior" in text
    assert explanation.most_influential(3) == (0, 1, 2)


def test_influence_is_the_divergence_from_before_to_after(birds):
    for explanation in birds:
        p = explanation.posteriors
        for k, moved in enumerate(explanation.influence()):
            cross = -sum(a * np.log(b) for a, b in zip(p[k + 1], p[k], strict=True))
            assert moved == pytest.approx(cross - entropy(p[k + 1]), abs=1e-12)
    assert birds[1].influence()[-1] == 0  # the one that was not known


def test_influence_of_a_sure_answer_is_finite():
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0, 0.5], [0.0, 0.5]])
    trace = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), stopping=ip.MaxQueries(2)).run([[1, 1]])
    np.testing.assert_allclose(trace[0].influence(), [np.log(2), 0], atol=1e-12)


def test_prediction_and_confidence(birds):
    assert birds[0].prediction == "gull"
    assert birds[0].confidence == birds.posterior[0].max()


def test_json_round_trip(birds, image):
    for explanation in (*birds, image[1]):
        text = explanation.to_json()
        assert ip.Explanation.from_json(text) == explanation
        data = json.loads(text)
        assert data["format"] == "infopursuit.pursuit.explanation/2"
        assert data["prediction"] == explanation.prediction
    assert json.loads(birds[1].to_json())["steps"][-1]["answer"] is None


def test_json_of_number_labels_and_of_no_steps():
    model = ip.models.TableModel([1.0, 0.0], None, [[0.9], [0.1]])
    for classes in ([3, 5], [True, False], [0.5, 1.5], np.array(["a", "b"])):
        explanation = ip.generative_pursuit(model, ip.queries.concepts(["a"]), classes=classes).run([[1]])[0]
        assert len(explanation) == 0
        assert ip.Explanation.from_json(explanation.to_json()) == explanation
        assert explanation.prediction == classes[0]
        assert "after 0 questions" in str(explanation)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not JSON"),
        ("[]", "not an explanation"),
        ('{"format": "other/1"}', "other/1"),
        ('{"format": "infopursuit.pursuit.explanation/2"}', "damaged"),
        ('{"format": "infopursuit.pursuit.explanation/2", "steps": [{"query": 1}]}', "damaged"),
    ],
)
def test_what_is_no_explanation_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        ip.Explanation.from_json(text)


def test_open_sessions_say_so():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    session = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"])).session().answer("yes")
    assert str(session.explanation).splitlines()[-1] == "It has not stopped yet."
    assert "after 1 question." in str(session.explanation)


def test_sampled_gains_are_admitted():
    rng = np.random.default_rng(0)
    model = ip.models.TableModel(np.full(3, 1 / 3), np.full((3, 4), 0.25), rng.uniform(size=(3, 4, 3)))
    options = {"exact_gains": False, "n_states": 3, "stopping": ip.MaxQueries(2)}
    explanation = ip.generative_pursuit(model, ip.queries.concepts(["a", "b", "c"]), **options).run([[1, 0, 1]])[0]
    assert "standard error up to" in str(explanation).splitlines()[-1]


def test_what_was_seen_of_an_image(image):
    pursuit, explanation = image
    np.testing.assert_array_equal(explanation.revealed(0), np.full((2, 3), -1))
    np.testing.assert_array_equal(explanation.revealed(), [[1, 0, 1], [0, 1, 1]])
    first = explanation.revealed(1)
    assert (first[:, 1] == [0, 1]).all()
    assert (first == -1).sum() == 2
    assert explanation.picture() == "██··██\n··████"
    assert explanation.picture(0) == "\n"
    partly = pursuit.run(np.array([[[1, np.nan, 1], [0, 1, 1]]]))[0]
    np.testing.assert_array_equal(partly.revealed(), [[1, -1, 1], [0, 1, 1]])


def test_only_images_have_pictures(birds):
    with pytest.raises(ValueError, match="image"):
        birds[0].picture()
    with pytest.raises(ValueError, match="image"):
        birds[0].revealed()


def test_a_probability_short_of_one_is_not_called_100_percent(birds):
    sure = replace(birds[0], prior=(1 - 1e-9, 1e-9, 0.0), steps=())
    assert "99.9 %" in str(sure)
    assert "100 %" in str(replace(sure, prior=(1.0, 0.0, 0.0)))
