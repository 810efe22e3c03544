"""One named test for each trap of the notes that the engine can fall into (2 and 4 also in test_engine_invariants)."""

import itertools
import math

import numpy as np
import pytest

import infopursuit as ip
from enumerator import mutual_information
from worlds import Given, World, table_model, world_of


def binary(p):
    """(C, Z) probabilities of "yes" as a table (C, Z, 2)."""
    p = np.asarray(p, dtype=float)
    return np.stack([1 - p, p], axis=-1)


# ---- trap 1: a pixel that was seen is not counted again -------------------------------------------------------------


def test_trap_1_a_seen_pixel_is_not_counted_again():
    """Trap 1: patches {0, 1} and {1, 2} share pixel 1; its factor counts once. Counting it twice is something else."""
    p = np.array([[0.9, 0.8, 0.7], [0.2, 0.4, 0.6]])
    pursuit = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, p), ip.queries.patches((1, 3), size=(1, 2)))
    once, twice = p.prod(axis=1), p.prod(axis=1) * p[:, 1]
    found = pursuit.believe([(0, (1, 1)), (1, (1, 1))])
    np.testing.assert_allclose(found, once / once.sum(), atol=1e-14)
    assert np.abs(found - twice / twice.sum()).max() > 0.01


def test_trap_1_a_seen_pixel_tells_nothing_more():
    """Trap 1: the gain of an overlapping patch is that of its new pixels; one that was seen in full is not asked."""
    rng = np.random.default_rng(1)
    probs = [rng.dirichlet([1, 1], size=(3, 2)) for _ in range(3)]
    pairs = Given(["first", "second", "ends", "last"], [2, 2, 2], [[0, 1], [1, 2], [0, 2], [2, -1]])
    pursuit = World(np.full(3, 1 / 3), np.full((3, 2), 0.5), probs, pairs).pursuit()
    after_one = pursuit.session([(0, (1, 0))]).gains
    assert after_one[1] == pytest.approx(after_one[3], abs=1e-14)
    assert after_one[1] > 1e-3
    after_two = pursuit.session([(0, (1, 0)), (1, (0, 1))]).gains
    assert np.isnan(after_two).all()


def test_trap_1_a_seen_pixel_cannot_be_answered_otherwise():
    """Trap 1: the shared pixel's factor is an indicator, so a contradiction is impossible rather than unlikely."""
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.8, 0.7], [0.2, 0.4, 0.6]])
    session = ip.generative_pursuit(model, ip.queries.patches((1, 3), size=(1, 2)), stopping=ip.MaxQueries(2)).session()
    first = session.question.index
    session.answer((1, 1))
    with pytest.raises(ip.ImpossibleAnswer):
        session.answer((0, 1) if first == 0 else (1, 0))


# ---- trap 2: patience -----------------------------------------------------------------------------------------------


def test_trap_2_patience_counts_checks_in_a_row_and_a_failure_resets_it():
    """Trap 2: L is the first check from which the rule holds T + 1 times in a row, not where it first held."""
    resets = 0
    for seed in range(40):
        world, _ = world_of(16_000 + seed, kind="yes_no", zeros=False)
        for patience in (1, 2):
            trace = world.pursuit([("confidence", 0.3, None)], patience).run_values(world.every_input())
            for i in range(len(trace)):
                k = int(trace.length[i])
                holds = trace.posteriors[i, : k + 1].max(axis=1) >= 0.7
                rows = [m for m in range(k + 1 - patience) if holds[m : m + patience + 1].all()]
                if trace.stop_reason[i] == "confidence":
                    assert rows == [trace.settled_at[i]]
                    assert k == rows[0] + patience
                    resets += bool(holds[: rows[0]].any())
                else:
                    assert not rows
                    assert k == len(world.queries)
    assert resets > 10


# ---- trap 3: XOR ----------------------------------------------------------------------------------------------------


def xor(noise=0):
    """Y = a XOR b, and some variables that say nothing: no single query tells anything, the pair tells all."""
    a, b = [[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    names = ["a", "b", *(f"noise {i}" for i in range(noise))]
    tables = [binary(a), binary(b), *[binary(np.full((2, 2), 0.5))] * noise]
    return World(np.array([0.5, 0.5]), np.full((2, 2), 0.5), tables, ip.queries.concepts(names))


def test_trap_3_xor_without_patience_stops_at_once():
    """Trap 3: no single query tells anything, so gain <= epsilon holds before the first question."""
    trace = xor().pursuit([("information_gain", 1e-3, None)], patience=0).run(list(itertools.product([0, 1], repeat=2)))
    assert trace.length.tolist() == [0, 0, 0, 0]
    assert set(trace.stop_reason) == {"information_gain"}
    np.testing.assert_allclose(trace.posterior, 0.5)


def test_trap_3_xor_with_patience_goes_on():
    """Trap 3: with T >= 1 the first answer makes the second query tell everything."""
    inputs = np.array(list(itertools.product([0, 1], repeat=2)))
    trace = xor().pursuit([("information_gain", 1e-3, None)], patience=1).run(inputs)
    assert trace.length.tolist() == [2, 2, 2, 2]
    np.testing.assert_allclose(trace.gains, [[0, math.log(2)]] * 4, atol=1e-12)
    assert trace.predictions.tolist() == (inputs[:, 0] ^ inputs[:, 1]).tolist()
    trace = xor(noise=2).pursuit([("information_gain", 1e-3, None)], patience=1).run([[1, 0, 1, 1]])
    assert (trace.length[0], trace.settled_at[0], trace.stop_reason[0]) == (3, 2, "information_gain")
    assert trace.predictions.tolist() == [1]


# ---- trap 8: saturated probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"exact_gains": False, "n_states": 3}], ids=["exact", "sampled"])
@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-300, 1e-17])
def test_trap_8_saturated_probabilities_give_no_nan(tiny, options):
    """Trap 8: probabilities of 0, 1 and next to them, in priors and tables, after every history that can be."""
    yes = np.array([[[tiny, 1.0], [1 - tiny, 0.5]], [[1.0, tiny], [0.0, 1.0]]])  # (C, Z, A)
    tables = [binary(yes[..., 0]), binary(yes[..., 1]), binary(yes[..., 0]), binary([[0.3, tiny], [tiny, 0.6]])]
    queries = Given(["a", "b", "c", "d", "all"], [2] * 4, [[0, -1], [1, -1], [2, -1], [3, -1], [0, 3]])
    prior = np.array([1.0 - tiny, tiny])
    pursuit = World(prior / prior.sum(), np.array([[tiny, 1.0 - tiny], [0.5, 0.5]]), tables, queries).pursuit(
        [("max_queries", 5)], **options
    )
    values = np.array(list(itertools.product([0, 1, -1], repeat=4)))
    trace = pursuit.run_values(values)
    for name in ("gains", "gain_errors", "posteriors"):
        assert np.isfinite(getattr(trace, name)).all(), name
    np.testing.assert_allclose(trace.posteriors.sum(axis=2), 1, atol=1e-12)
    assert (trace.gains >= 0).all()


def test_trap_8_answers_that_are_almost_impossible_are_weighed_exactly():
    """Trap 8: three answers of probability 1e-300 each are below every float, and their ratio is what counts."""
    p = np.array([[1e-300] * 3 + [0.5], [2e-300] * 3 + [0.25]])
    pursuit = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, p), ip.queries.concepts(["a", "b", "c", "d"])
    )
    history = [(0, (1,)), (1, (1,)), (2, (1,))]
    np.testing.assert_allclose(pursuit.believe(history), [1 / 9, 8 / 9], atol=1e-13)
    table = np.array([[0.5, 0.5], [0.25, 0.75]]).T * [1 / 9, 8 / 9]
    assert pursuit.session(history).gains[3] == pytest.approx(mutual_information(table), abs=1e-12)


def test_trap_8_what_is_left_of_an_variable_may_be_tiny():
    """Trap 8: two thresholds in a row, the first of which leaves values of probability 1e-300 only."""
    rows = np.array([[1.0, 1e-300, 3e-300], [1.0, 2e-300, 2e-300]])
    cells = [[[0, 1, 1]], [[0, 0, 1]]]
    queries = Given(["x >= 1", "x >= 2"], [3], [[0], [0]], cells)
    model = table_model([0.5, 0.5], np.ones((2, 1)), [rows[:, None]])
    pursuit = ip.generative_pursuit(model, queries)
    np.testing.assert_allclose(pursuit.believe([(0, (1,))]), [0.5, 0.5], atol=1e-13)
    expected = mutual_information(np.array([[1, 2], [3, 2]]) / 8)
    assert pursuit.session([(0, (1,))]).gains[1] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(pursuit.believe([(0, (1,)), (1, (1,))]), [0.6, 0.4], atol=1e-13)


# ---- trap 11: all patterns of a 4 x 4 patch -------------------------------------------------------------------------


def brute_force(prior, latent, p, seen):
    """P(pattern, y | seen) of all 65,536 patterns, by adding up logarithms pattern by pattern."""
    bits = (np.arange(2**16)[:, None] >> np.arange(15, -1, -1)) & 1  # (patterns, pixels)
    agrees = (
        np.all([bits[:, pixel] == value for pixel, value in seen.items()], axis=0) if seen else np.ones(2**16, bool)
    )
    joint = np.zeros((2**16, len(prior)))
    for c, z in itertools.product(range(len(prior)), range(latent.shape[1])):
        logs = np.where(bits == 1, np.log(p[c, z]), np.log1p(-p[c, z])).sum(axis=1)
        joint[:, c] += prior[c] * latent[c, z] * np.exp(logs)
    joint[~agrees] = 0
    return joint / joint.sum()


@pytest.mark.parametrize("seen", [{}, {0: 1, 5: 0, 15: 1}], ids=["nothing seen", "three pixels seen"])
def test_trap_11_all_65536_patterns_of_a_4_x_4_patch(seen):
    """Trap 11: no pattern is dropped: posterior and gain are those of a brute-force sum over all patterns."""
    rng = np.random.default_rng(11)
    prior, latent, p = rng.dirichlet([2, 2, 2]), rng.dirichlet([2, 2], size=3), rng.uniform(0.05, 0.95, size=(3, 2, 16))
    variables = np.full((17, 16), -1)
    variables[0], variables[1:, 0] = np.arange(16), np.arange(16)
    queries = Given(["all of it", *(f"pixel {i}" for i in range(16))], [2] * 16, variables)
    pursuit = ip.generative_pursuit(ip.models.TableModel(prior, latent, p), queries)
    joint = brute_force(prior, latent, p, seen)
    history = [(1 + pixel, (value,)) for pixel, value in seen.items()]
    np.testing.assert_allclose(pursuit.believe(history), joint.sum(axis=0), atol=1e-13)
    assert pursuit.session(history).gains[0] == pytest.approx(mutual_information(joint), abs=1e-11)


def test_trap_11_the_only_4_x_4_patch_of_an_image():
    """Trap 11: through the public builder, from the question to the posterior after one of the rarest patterns."""
    rng = np.random.default_rng(12)
    p = rng.uniform(0.01, 0.99, size=(2, 2, 16))
    prior, latent = np.array([0.3, 0.7]), np.full((2, 2), 0.5)
    pursuit = ip.generative_pursuit(
        ip.models.TableModel(prior, latent, p), ip.queries.patches((4, 4), size=4), stopping=ip.MaxQueries(1)
    )
    joint = brute_force(prior, latent, p, {})
    assert joint.sum() == pytest.approx(1)
    rarest = int(joint.sum(axis=1).argmin())
    image = np.array([int(b) for b in f"{rarest:016b}"]).reshape(1, 4, 4)
    trace = pursuit.run(image)
    assert trace.gains[0, 0] == pytest.approx(mutual_information(joint), abs=1e-11)
    np.testing.assert_allclose(trace.posterior[0], joint[rarest] / joint[rarest].sum(), atol=1e-12)
    assert len(pursuit.session().question.choices) == 2**16
