"""Students of pursuits whose every choice is known."""

from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip

torch = pytest.importorskip("torch")

from infopursuit.estimator.card import write_model_card  # noqa: E402
from infopursuit.models.networks import amortized, imitation  # noqa: E402
from infopursuit.models.networks.amortized import padded_units, prefix_masks, reveal  # noqa: E402
from infopursuit.strategies import LogPool  # noqa: E402
from infopursuit.strategies.amortized import distillation  # noqa: E402
from infopursuit.strategies.amortized.belief import VariableInputs  # noqa: E402
from infopursuit.testing import check_strategy  # noqa: E402

QUERIES = ip.queries.concepts([f"concept {i}" for i in range(6)])


def world(n, seed=0):
    """Three classes, six concepts that tell differently much about them, and the exact pursuit."""
    rng = np.random.default_rng(7)
    yes = np.round(rng.uniform(0.05, 0.95, size=(3, 6)), 2)
    y = np.random.default_rng(seed).integers(3, size=n)
    X = (np.random.default_rng(seed + 1).random((n, 6)) < yes[y]).astype(int)
    model = ip.models.TableModel([1 / 3] * 3, None, yes)
    return X, y, ip.generative_pursuit(model, QUERIES, stopping=ip.Confidence(0.1) | ip.MaxQueries(5))


HOW = ip.QuerierTraining(epochs=30, learning_rate=5e-3, random=0.0, patience=30)


@pytest.fixture(scope="module")
def taught():
    X, _, teacher = world(2000)
    return distillation.distill(teacher, X, temperature=0.01, training=HOW, trunk=ip.Trunk(hidden=(64, 64)))


def test_a_student_agrees_with_its_teacher(taught):
    student, agreement = taught
    assert agreement.n_inputs == 200
    assert agreement.first_queries > 0.8
    assert agreement.label > 0.93
    assert agreement.posterior_difference < 0.03
    assert "held-out" in str(agreement)
    X, _, teacher = world(300, seed=20)
    again = distillation.agreement(teacher, student, QUERIES.observe(X))
    assert again.first_queries > 0.8
    assert again.label > 0.93


def test_a_student_says_that_it_is_one(taught, tmp_path):
    student, _ = taught
    assert student.belief.student_of == "Exact, MutualInformation"
    assert "student of Exact, MutualInformation" in write_model_card(student)
    assert not student.calibrated  # without labels nothing was compared with outcomes
    ip.save(student, tmp_path / "student")
    again = ip.load(tmp_path / "student")
    assert again.belief.student_of == student.belief.student_of
    X = world(50, seed=30)[0]
    assert np.array_equal(again.run(X).queries, student.run(X).queries)


def test_contracts_of_a_student(taught):
    check_strategy(taught[0], world(10, seed=40)[0], tolerance=1e-5)


def test_labels_make_a_student_calibrated():
    X, y, teacher = world(800)
    how = ip.QuerierTraining(epochs=20, learning_rate=5e-3, random=0.0)
    student, _ = ip.distill(teacher, X, y, training=how, trunk=ip.Trunk(hidden=(32,)))
    assert student.calibrated
    assert (student.run(X).predictions == y).mean() > 0.6
    with pytest.raises(ValueError, match="y has the label"):
        ip.distill(teacher, X, y + 5)
    with pytest.raises(ValueError, match="y has shape"):
        ip.distill(teacher, X, y[:-1])


def test_a_tutor_is_learnt_beside_the_labels(taught):
    """Labels that are drawn teach nothing; the tutor's probabilities do."""
    X, _, teacher = world(1200)
    drawn = np.random.default_rng(5).integers(3, size=len(X))
    inputs = VariableInputs(QUERIES)
    tutor = LogPool(taught[0].belief, taught[0].belief, (0.5, 0.5))  # the same as one of them
    found = distillation.class_probabilities(tutor, inputs)(inputs.encode(X[:20]))
    np.testing.assert_allclose(found.detach(), np.exp(taught[0].belief._seen(X[:20]).log_posterior), atol=1e-5)
    how, trunk = replace(HOW, epochs=12), ip.Trunk(hidden=(64, 64))
    settings = {"own_share": 1.0, "n_histories": 0.01, "training": how, "trunk": trunk}  # hardly any demonstrations
    right = {}
    for weight in (0.0, 1.0):
        student, _ = distillation.distill(teacher, X, drawn, tutor=tutor, label_weight=weight, **settings)
        seen = replace(student, stopping=ip.MaxQueries(5)).run(X)
        expected = replace(teacher, stopping=ip.MaxQueries(5)).run(X)
        right[weight] = (seen.posterior.argmax(axis=1) == expected.posterior.argmax(axis=1)).mean()
    assert right[0.0] > 0.7
    assert right[1.0] < right[0.0] - 0.2
    with pytest.raises(ValueError, match="tutor"):
        distillation.distill(teacher, X, drawn, tutor=teacher.belief, **settings)


def test_a_rule_in_nats_is_replaced():
    X, _, teacher = world(100)
    from dataclasses import replace

    greedy = replace(teacher, stopping=ip.InformationGain(0.01) | ip.MaxQueries(3))
    student, _ = ip.distill(greedy, X, training=ip.QuerierTraining(epochs=1), trunk=ip.Trunk(hidden=(8,)))
    assert not any(rule.needs_gain for rule in student.stopping.rules)


def test_a_hybrid_teaches_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 2] > 0).astype(int)
    clf = ip.InformationPursuitClassifier(strategy=ip.Hybrid(n_members=2), max_questions=2).fit(X, y)
    how = ip.QuerierTraining(epochs=60, learning_rate=1e-2, random=0.0, patience=60)
    student, _ = ip.distill(clf.pursuit_, X, y, training=how, trunk=ip.Trunk(hidden=(32,)))
    assert student.belief.capabilities.numbers
    trace = student.run(X)
    assert set(trace.queries[:, 0]) == {2}
    assert (trace.predictions == y).mean() > 0.9


def test_a_teacher_follows_the_histories_of_a_student():
    X, _, teacher = world(40, seed=3)
    values, follow = QUERIES.observe(X), np.full((40, 2), 1)
    follow[:, 1] = -1  # here it asks as it likes
    shown = distillation.demonstrate(teacher, values, 3, follow=follow, n_top=3)
    assert set(shown.queries[:, 0]) == {1}
    own = distillation.demonstrate(teacher, values, 3, n_top=3)
    assert np.array_equal(shown.top_queries[:, 0], own.top_queries[:, 0])  # what it would have asked itself
    asked = shown.queries[:, 1] >= 0
    best = np.take_along_axis(shown.top_queries, shown.top_gains.argmax(axis=2)[..., None], axis=2)[..., 0]
    assert np.array_equal(best[asked, 1], shown.queries[asked, 1])


def test_demonstrations_are_what_the_teacher_does():
    X, _, teacher = world(40, seed=3)
    shown = distillation.demonstrate(teacher, QUERIES.observe(X), 4, n_top=3)
    from dataclasses import replace

    trace = replace(teacher, stopping=ip.Confidence(distillation.CERTAIN) | ip.MaxQueries(4)).run(X)
    assert np.array_equal(shown.queries, trace.queries)
    np.testing.assert_allclose(shown.posterior, trace.posteriors, atol=1e-6)
    best = np.take_along_axis(shown.top_queries, shown.top_gains.argmax(axis=2)[..., None], axis=2)[..., 0]
    assert np.array_equal(best[shown.queries >= 0], shown.queries[shown.queries >= 0])
    there = shown.queries >= 0
    np.testing.assert_allclose(shown.top_gains.max(axis=2)[there], trace.gains[there], atol=1e-6)


def test_choices_count_by_what_is_at_stake():
    """A teacher that is certain has gains of next to nothing, and what it asks then is not worth imitating."""
    X, y, teacher = world(40)
    shown = distillation.demonstrate(teacher, QUERIES.observe(X), 3)
    inputs, rows = VariableInputs(QUERIES), np.arange(40)
    network = amortized.build_network(inputs, 3, ip.Trunk(hidden=(8,)))
    own = amortized.OwnHistories(network, inputs, X.astype(np.int8), y, replace(HOW, max_queries=3), "score")

    def loss(gains):
        return float(imitation.Imitation(own, replace(shown, top_gains=gains), 0.05, 0.0)._parts(rows)[1].detach())

    gains = np.where(shown.top_queries >= 0, 1.0, 0.0).astype(np.float32)
    gains[:, :, 0] *= 2
    step = np.arange(3)[:, None]
    first_only = loss(np.where(step == 0, gains, 1e-9 * gains))
    assert loss(np.where(step == 0, gains, 0.2 * gains)) == pytest.approx(loss(gains), rel=1e-5)  # all above the limit
    one = replace(shown, queries=np.where(np.arange(3) == 0, shown.queries, -1), top_gains=gains)
    expected = float(imitation.Imitation(own, one, 0.05, 0.0)._parts(rows)[1].detach())
    assert first_only == pytest.approx(expected, rel=1e-4)
    assert first_only != pytest.approx(loss(gains), rel=1e-3)


def test_masks_of_overlapping_patches():
    """What a scatter reveals is what histories reveal one after the other."""
    queries = ip.queries.patches((4, 4), size=2)
    inputs = VariableInputs(queries)
    asked = np.array([[0, 1, 4], [8, -1, -1]])
    masks = prefix_masks(inputs, torch.as_tensor(asked)).numpy()
    for row, step in np.ndindex(2, 4):
        expected = np.zeros(16)
        for query in asked[row, :step]:
            if query >= 0:
                expected[queries.query_variables[query]] = 1
        assert np.array_equal(masks[row, step], expected)
    last = reveal(torch.zeros(2, 17), padded_units(inputs), torch.as_tensor(asked))[:, :-1].numpy()
    assert np.array_equal(last, masks[:, -1])


def test_augmented_demonstrations_teach_the_classes():
    """Images whose one informative corner moves: a network on moved histories classifies."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = (rng.random((400, 8, 8)) < 0.3).astype(np.int8)
    X[:, 5:7, 5:7] = y[:, None, None]
    queries = ip.queries.patches((8, 8), 3)
    inputs = VariableInputs(queries)
    asked = np.tile(rng.integers(len(queries), size=(400, 1)), (1, 2))
    asked[:, 1] = 28  # rows 4 to 6, columns 4 to 6
    network = amortized.build_network(inputs, 2, ip.Trunk((4, 8), (16,), blocks=1))
    how = ip.QuerierTraining(epochs=12, learning_rate=5e-3, random=0.0, augmentation=ip.models.RandomAffine(0.6, 5, 0))
    own = amortized.OwnHistories(network, inputs, X.reshape(400, -1), y, how, "score")
    nothing = np.zeros((400, 3, 2), np.float32)
    shown = imitation.Demonstrations(asked, nothing, asked[:, :, None], np.ones((400, 2, 1), np.float32))
    lessons = imitation.Imitation(own, shown, 1.0, 1.0, n_histories=2.0)
    history, held_out = amortized.fit_network(network, lessons, 400, how)
    masks = prefix_masks(inputs, torch.as_tensor(asked[held_out]))[:, 2]
    logits, _ = own.see(inputs.encode(X.reshape(400, -1)[held_out]), masks)
    assert (logits.argmax(1).numpy() == y[held_out]).mean() > 0.9
    assert history[-1].validation_loss < history[0].validation_loss


def corners(n, seed):
    """Images of 8 x 8 pixels with a lit square in one of two corners, one of which tells the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = (rng.random((n, 8, 8)) < 0.2).astype(np.int8)
    X[:, 5:7, 5:7] = y[:, None, None]
    return X, np.array(["no", "yes"])[y]


@pytest.mark.parametrize("bfloat16", [False, True])
@pytest.mark.parametrize("trunk", [ip.Trunk((4, 8), (16,)), ip.Trunk((), (16, 16), (8, 4))])
def test_a_second_network_classifies_after_the_histories_of_the_first(trunk, bfloat16):
    (X, y), (other, labels) = corners(1000, 0), corners(200, 1)
    queries = ip.queries.patches((8, 8), 3)
    how = ip.QuerierTraining(epochs=40, batch_size=64, learning_rate=5e-3, max_queries=3)
    clf = ip.InformationPursuitClassifier(queries, ip.Amortized("nats", trunk, training=how)).fit(X, y)
    moves = replace(how, epochs=12, augmentation=ip.models.RandomAffine(0.4, 3, 0), bfloat16=bfloat16)
    layer = next(each for each in clf.pursuit_.belief.network.modules() if isinstance(each, torch.nn.Linear))
    seen = set[torch.dtype]()
    layer.register_forward_hook(lambda module, given, output: seen.add(output.dtype))
    weights = {name: each.clone() for name, each in clf.pursuit_.belief.network.state_dict().items()}
    second = ip.history_classifier(clf.pursuit_, X, y, trunk=ip.Trunk((4, 8), (16,), blocks=1), training=moves)
    for name, each in clf.pursuit_.belief.network.state_dict().items():
        assert torch.equal(each, weights[name])  # the first one stays as it is
    assert (torch.bfloat16 in seen) == bfloat16  # it asks as fast as the second one learns
    pursuit = replace(clf.pursuit_, stopping=ip.MaxQueries(3), calibrator=None)
    asked = replace(pursuit, belief=LogPool(pursuit.belief, second, (1e-6, 1.0)))
    one, two = pursuit.run(other), asked.run(other)
    assert np.array_equal(one.queries[:, 0], two.queries[:, 0])  # gains of later ones are near 0, and may tie
    assert (two.predictions == labels).mean() > 0.9
    assert np.abs(one.posteriors - two.posteriors).max() > 1e-3
    table = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["is red"])
    )
    with pytest.raises(ValueError, match="pursuit"):
        ip.history_classifier(table, [[0], [1]], [0, 1])
