"""The compiled kernels of a choice, each against the products that it stands for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoded import QUERIES, decoded
from infopursuit.pursuit.ranking import ROUGH_TIE, Ranking, largest, resample
from infopursuit.strategies import MutualInformation
from infopursuit.strategies.generative import answer_tables as tables
from infopursuit.strategies.generative import pruned_gains as kernels
from infopursuit.strategies.generative.answer_tables import mutual_information, part_gains, pattern_joint, value_joint
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.support.types import UNKNOWN

SEEDS = st.integers(0, 2**32 - 1)
GUARD = 8


# ---- fewer states ---------------------------------------------------------------------------------------------------


def guarded(n, dtype):
    """An array of n numbers, and the larger one that it lies in."""
    around = np.full(n + 2 * GUARD, -7, dtype=dtype)
    return around[GUARD : GUARD + n], around


def draw(weights, size, uniform, bounds=None, kept=None):
    """The states that are drawn from weights (S,) and their masses; ``kept`` blocks only, and nothing is written
    anywhere else."""
    weights = np.asarray(weights, dtype=np.float32)
    bounds = np.unique([*range(0, len(weights), 7), len(weights)]) if bounds is None else np.asarray(bounds)
    blocks = np.arange(len(bounds) - 1) if kept is None else np.asarray(kept)
    parts = [weights[bounds[b] : bounds[b + 1]] for b in blocks]
    starts = np.cumsum([0] + [len(part) for part in parts])[:-1] + 3  # weights of other rows lie before and after
    values = np.concatenate([np.full(3, 9, dtype=np.float32), *parts, np.full(5, 9, dtype=np.float32)])
    sums = np.array([part.sum(dtype=np.float64) for part in parts])
    (buffer, a), (states, b), (masses, c) = (
        guarded(len(weights), np.float64), guarded(size, np.int64), guarded(size, np.float64),
    )  # fmt: skip
    n = kernels.draw(
        values, 1.0 / sums.sum(), blocks, starts, sums, bounds, size, float(uniform), buffer, states, masses
    )
    for around in (a, b, c):
        assert (around[:GUARD] == -7).all()
        assert (around[-GUARD:] == -7).all()
    assert 0 < n <= size
    return states[:n], masses[:n]


def truth(weights, size, uniform):
    """What `resample` draws."""
    whole = np.asarray(weights, dtype=np.float32).astype(np.float64)
    states, masses, _ = resample(whole / whole.sum(), size, float(uniform))
    return states, masses


def assert_a_law(weights, states, masses):
    assert (np.diff(states) >= 0).all()
    assert (masses > 0).all()
    assert (np.asarray(weights, dtype=np.float32)[states] > 0).all()
    assert masses.sum() == pytest.approx(1, abs=1e-6)


@given(SEEDS)
def test_the_states_of_resample(seed):
    """From weights of any skew, some of them nothing, in blocks of any size, as many or as few as are asked for."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 400))
    weights = rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-2, 2))) + 1e-30
    weights *= rng.random(n) < rng.choice([1.0, 0.5, 0.1])
    if not weights.any():
        weights[rng.integers(n)] = 1
    size, uniform = int(rng.integers(1, n + 5)), rng.random()
    bounds = np.unique([0, *rng.integers(n, size=rng.integers(20)), n])
    states, masses = draw(weights, size, uniform, bounds)
    expected, expected_masses = truth(weights, size, uniform)
    assert_a_law(weights, states, masses)
    light = np.bincount(expected, expected_masses, minlength=n) - np.bincount(states, masses, minlength=n)
    # states that weigh nothing within rounding may be kept by the one and left out by the other
    if len(states) == len(expected):
        np.testing.assert_array_equal(states, expected)
        np.testing.assert_allclose(masses, expected_masses, rtol=1e-9, atol=1e-15)
    else:
        assert np.abs(light).max() < 1e-11


@given(SEEDS)
def test_blocks_that_were_let_go_are_not_drawn_from(seed):
    rng = np.random.default_rng(seed)
    weights, bounds = rng.dirichlet(np.full(120, 0.5)), np.arange(0, 121, 12)
    kept = np.sort(rng.permutation(10)[: rng.integers(1, 10)])
    left = np.where(np.isin(np.arange(120) // 12, kept), weights, 0)
    size, uniform = int(rng.integers(1, 130)), rng.random()
    states, masses = draw(weights, size, uniform, bounds, kept)
    expected, expected_masses = truth(left, size, uniform)
    np.testing.assert_array_equal(states, expected)
    np.testing.assert_allclose(masses, expected_masses, rtol=1e-9, atol=1e-15)


TAIL = np.full(300, 1e-37)
DEGENERATE = {
    "one state has everything": [0.0] * 70 + [1.0] + [0.0] * 29,
    "one state has nearly everything": [1e-30] * 70 + [1.0] + [1e-36] * 29,
    "two states and a tail": [0.75, *TAIL, 0.25, *TAIL],
    "few states, and the rest is next to nothing": [*np.full(8, 0.125), *(TAIL * 1e20)],
    "as many heavy ones as are asked for": [0.0] * 30 + [0.1] * 10 + [0.0] * 30,
    "all equal": [0.01] * 100,
    "all equal in a corner": [0.0] * 90 + [0.1] * 8 + [0.0],
    "falling": (0.5 ** np.arange(1, 110)).tolist(),
    "falling fast": (0.01 ** np.arange(1, 18)).tolist() * 3,
}


@pytest.mark.parametrize("uniform", [0.0, 0.3137, 1 - 2**-53])
@pytest.mark.parametrize("size", [1, 2, 8, 10, 11, 64, 98])
@pytest.mark.parametrize("name", DEGENERATE)
def test_states_from_degenerate_weights(name, size, uniform):
    """The same mass where it matters; points on a boundary may fall to the one side or the other by rounding."""
    weights = np.array(DEGENERATE[name])
    states, masses = draw(weights, size, uniform)
    assert_a_law(weights, states, masses)
    expected, expected_masses = truth(weights, size, uniform)
    assert len(states) <= max(len(expected), 1)
    n = len(weights)
    found, wanted = np.bincount(states, masses, minlength=n), np.bincount(expected, expected_masses, minlength=n)
    if uniform == 0.3137:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-11)
    else:
        off = np.abs(np.cumsum(found) - np.cumsum(wanted)).max()
        assert off <= masses.min() * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("uniform", [0.0, 0.25, 0.5])
def test_a_point_on_a_boundary_belongs_to_the_state_above_it(uniform):
    """In numbers that are not rounded; a state of weight zero is never drawn."""
    for weights in ([1 / 16] * 16, [0.0, 0.0, 0.125, 0.0, 0.125, 0.0, 0.25, 0.0, 0.125, 0.125, 0.0, 0.125, 0.125, 0.0]):
        for size in (1, 2, 4):
            states, masses = draw(weights, size, uniform)
            expected, expected_masses = truth(weights, size, uniform)
            np.testing.assert_array_equal(states, expected)
            np.testing.assert_allclose(masses, expected_masses, rtol=1e-12)


def rounded(rng, kind, n, size):
    """Weights that sum to one."""
    if kind == "steep":  # all but what a float32 rounds off is in few states, and many more share the rest
        exact = np.exp(rng.uniform(3, 12) * rng.normal(size=n))
    elif kind == "equal":
        exact = np.zeros(n)
        exact[rng.permutation(n)[: rng.integers(1, n + 1)]] = 1.0
    else:
        exact = rng.dirichlet(np.full(n, 0.3))
    return exact / exact.sum()


@pytest.mark.parametrize("kind", ["steep", "equal", "even"])
def test_weights_that_are_rounded_are_still_drawn_from_in_full(kind):
    """Sums were taken before weights were cut to float32, so that they differ in the eighth digit. No heavy state is
    lost for that, wherever it is."""
    rng = np.random.default_rng(0)
    for _ in range(1500):
        n = int(rng.integers(20, 300))
        size = int(rng.integers(1, n))
        exact = rounded(rng, kind, n, size)
        bounds = np.unique([0, *rng.integers(n, size=rng.integers(n)), n])
        sums, states, masses = np.add.reduceat(exact, bounds[:-1]), np.empty(size, dtype=np.int64), np.empty(size)
        blocks, first, weights = np.arange(len(sums)), bounds[:-1].copy(), exact.astype(np.float32)
        m = kernels.draw(weights, 1.0, blocks, first, sums, bounds, size, rng.random(), np.empty(n), states, masses)
        assert masses[:m].sum() == pytest.approx(1, abs=1e-6)
        assert np.isin(np.flatnonzero(exact > (1 + 1e-6) / size), states[:m]).all()


# ---- one variable at a time, and which queries are worth more --------------------------------------------------------


def sample_of(seed, n_variables=16, n_states=120, n=60, n_classes=4, extreme=False):
    """Draws as `choose` has them: by_state (S, A), states (n,), masses (n,) and where each class's draws begin."""
    rng = np.random.default_rng(seed)
    by_state = np.clip(rng.beta(0.4, 0.4, size=(n_states, n_variables)), 1e-6, 1 - 1e-6).astype(np.float32)
    states = np.sort(rng.integers(n_states, size=n))
    masses = rng.dirichlet(np.full(n, 0.5)) + 1e-7
    if extreme:
        masses[: n // 3] *= 1e-33
    cuts = np.sort(rng.integers(n + 1, size=n_classes - 1))
    ends = np.array([0, *cuts, n])
    return by_state, states, (masses / masses.sum()).astype(np.float32), ends


def cells_of(by_state, states):
    """(L, M) P(value | state): "no" and "yes" of one variable after the other."""
    yes = by_state[states].T.astype(np.float64)
    return np.stack([1 - yes, yes], axis=1).reshape(-1, len(states))


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_gains_of_single_variables(seed, extreme):
    """Classes without a draw too, and draws of next to no weight."""
    by_state, states, masses, ends = sample_of(seed, extreme=extreme)
    summed, space, alone = np.empty((3, 16), dtype=np.float32)
    kernels.single_gains(by_state, states, masses, ends, summed, space, alone)
    joint = value_joint(masses.astype(np.float64)[None], cells_of(by_state, states), ends)
    np.testing.assert_allclose(alone, part_gains(joint, np.full(16, 2))[0], rtol=0, atol=1e-6)
    assert (alone >= 0).all()
    assert alone.max() > 0.01


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7]), min_size=1, max_size=20), SEEDS)
def test_the_most_promising_queries(promise, seed):
    """Ties to the lowest; none that was asked, none about one variable, and none where none is wanted."""
    rng = np.random.default_rng(seed)
    promise = np.array(promise, dtype=np.float32)
    asked, widths = rng.random(len(promise)) < 0.3, rng.integers(1, 4, size=len(promise))
    scores = rng.permutation(promise).astype(np.float64)
    for n in (0, 1, 3, len(promise)):
        found, around = guarded(n + 1, np.int64)
        k = kernels.screen(scores, promise, asked, widths, n, found)
        assert (around[:GUARD] == -7).all()
        assert (around[-GUARD:] == -7).all()
        among = np.flatnonzero(~asked & (widths > 1))
        best, most = largest(scores, among, n), largest(promise.astype(np.float64), among, min(n, 1))
        assert sorted(found[:k].tolist()) == np.union1d(best, most).tolist()
        assert (np.diff(scores[found[: len(best)]]) <= 0).all()


@given(SEEDS)
def test_the_best_query_and_the_second_best(seed):
    rng = np.random.default_rng(seed)
    gains = rng.choice(
        [0.0, 0.1, 0.1 + ROUGH_TIE / 2, 0.1 - ROUGH_TIE / 2, 0.1 + 3 * ROUGH_TIE, 0.3, np.nan],
        size=int(rng.integers(1, 9)),
    )
    ranking = Ranking.of(
        rng.choice([0.0, 1.0, 2.0, 300.0], size=len(gains)) if seed % 2 else np.ones(len(gains)), ROUGH_TIE
    )
    scores = ranking.scores(gains)
    np.testing.assert_allclose(scores, [kernels.score(g, r) for g, r in zip(gains, ranking.rates, strict=True)])
    best, second = ranking.leaders(scores[None])
    assert kernels.leaders(scores, ranking.rates) == (best[0], second[0])


def test_no_query_is_best_where_none_is_left():
    assert kernels.leaders(np.full(3, np.nan), np.ones(3)) == (UNKNOWN, UNKNOWN)
    assert kernels.leaders(np.array([np.nan, 0.0, np.nan]), np.ones(3)) == (1, UNKNOWN)


# ---- queries about several variables ---------------------------------------------------------------------------------


class Patterns:
    """What `choose` works with for one query about ``n`` variables."""

    def __init__(self, n, seed=0, **options):
        self.n = n
        by_state, self.states, self.masses, self.ends = sample_of(seed, **options)
        rng = np.random.default_rng(seed + 1)
        self.variables = rng.permutation(16)[:n]
        m, self.n_classes = len(self.states), len(self.ends) - 1
        # columns of other variables lie between, and what is not written must not be read
        self.columns = np.full((16, m + 4), np.nan, dtype=np.float32)
        self.which = np.full(16, 99)
        self.which[:n] = rng.permutation(16)[:n]
        self.columns[self.which[:n], :m] = by_state[self.states][:, self.variables].T
        self.yes = by_state[self.states][:, self.variables].T.astype(np.float64)  # (n, M)
        self.sizes = max(4, 2 ** (n // 2)), max(4, 2 ** (n - n // 2))
        self.left, self.right = (np.full((k, m + 4), np.nan, dtype=np.float32) for k in self.sizes)
        self.joint, self.whole = np.full((2, self.sizes[0] * self.sizes[1]), np.nan, dtype=np.float32)
        self.tables = np.full((self.n_classes, len(self.joint)), np.nan, dtype=np.float32)

    @property
    def bounds(self):
        return list(itertools.pairwise(self.ends.tolist()))

    @property
    def cells(self):
        """For each variable (1, 2, M)."""
        return [np.stack([1 - p, p])[None] for p in self.yes]

    @property
    def true_joint(self):
        """(patterns, C), the last variable running fastest."""
        weights = self.masses.astype(np.float64)
        if self.n == 0:
            return np.stack([weights[a:b].sum() for a, b in self.bounds])[None]
        return pattern_joint(weights, self.cells, self.bounds)[0]

    def gain(self):
        return kernels.pattern_gain(
            self.columns, self.which, self.n, self.masses, self.ends, self.left, self.right, self.joint, self.whole
        )


WIDTHS = pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 9])


@WIDTHS
def test_every_pattern_is_there_once(n):
    """The halves of a query and their products; patterns that only fill up to four have no probability."""
    p = Patterns(n)
    n_left, n_right = kernels.halves(p.columns, p.which, n, p.masses, False, p.left, p.right)
    assert (n_left, n_right) == p.sizes
    truth = p.true_joint
    for c, (a, b) in enumerate(p.bounds):
        if a == b:
            continue
        kernels.contract(p.left, p.right, n_left, n_right, a, b, p.joint)
        table = p.joint.reshape(n_left, n_right)
        for k, pattern in enumerate(itertools.product([0, 1], repeat=n)):
            s = sum(v << i for i, v in enumerate(pattern[: n // 2]))
            t = sum(v << i for i, v in enumerate(pattern[n // 2 :]))
            assert table[s, t] == pytest.approx(truth[k, c], rel=1e-5, abs=1e-9)
        assert table.sum() == pytest.approx(p.masses[a:b].sum(), rel=1e-5)
        assert (table[2 ** (n // 2) :] == 0).all()
        assert (table[:, 2 ** (n - n // 2) :] == 0).all()


@WIDTHS
def test_squares_of_probabilities(n):
    p = Patterns(n)
    n_left, n_right = kernels.halves(p.columns, p.which, n, p.masses * p.masses, True, p.left, p.right)
    square = p.masses.astype(np.float64) ** 2
    kernels.contract(p.left, p.right, n_left, n_right, 0, len(p.states), p.joint)
    if n:
        truth = pattern_joint(square, [cell**2 for cell in p.cells], [(0, len(p.states))])
        assert p.joint.max() == pytest.approx(float(truth.max()), rel=1e-5)
        assert p.joint.sum() == pytest.approx(float(truth.sum()), rel=1e-5)
    else:
        assert p.joint.sum() == pytest.approx(float(square.sum()), rel=1e-5)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("seed", range(4))
@WIDTHS
def test_the_gain_of_a_query(n, seed, extreme):
    p = Patterns(n, seed, extreme=extreme)
    assert p.gain() == pytest.approx(float(mutual_information(p.true_joint)), abs=2e-6)


def test_nothing_is_learnt_about_a_single_class():
    """Nor from a query of which all is known."""
    p = Patterns(4, n_classes=1)
    assert p.gain() == pytest.approx(0, abs=1e-6)
    assert Patterns(0).gain() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_what_each_draw_adds_to_a_gain_and_by_how_much_it_is_too_large(n, seed, monkeypatch):
    """Against `FiniteGains`; classes of one draw and of none among them."""
    p = Patterns(n, seed, n_classes=6)
    p.ends[1:3] = 1, 1
    p.ends[3:] = np.maximum(p.ends[3:], 1)
    each = np.full(len(p.states) + 4, np.nan, dtype=np.float32)
    kernels.influence(p.columns, p.which, n, p.masses, p.ends, p.left, p.right, p.tables, p.whole, each)
    bias = kernels.excess(p.columns, p.which, n, p.masses, p.ends, p.left, p.right, p.tables, p.whole)
    queries = QUERIES["alone" if n == 1 else "nines"]
    gains = FiniteGains(decoded("alone").particles, queries, MutualInformation(exact=False), sampled=True)
    monkeypatch.setattr(tables, "query_tables", lambda *_: p.cells)  # the probabilities of this query's variables
    weights, drawn = p.masses.astype(np.float64), np.ones(len(p.states), dtype=bool)
    truth, true_bias = gains._influence(0, None, weights, p.bounds, drawn)
    mine = each[: len(p.states)]
    np.testing.assert_allclose(mine, truth * p.masses, rtol=0, atol=1e-6)
    assert mine.sum() == pytest.approx(float(mutual_information(p.true_joint)), abs=5e-6)
    assert bias == pytest.approx(true_bias, rel=1e-4)
    assert bias > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_a_sum(seed):
    """Draws that stand several times count together; those that were not drawn count as nothing; a class of one."""
    rng = np.random.default_rng(seed)
    particles = decoded("alone", sizes=(150, 1, 97)).particles
    states = np.sort(rng.integers(248, size=90))
    if seed % 2:
        states = np.sort(np.append(states, 150))
    terms = (rng.normal(size=len(states)) / 50).astype(np.float32)
    masses = rng.dirichlet(np.ones(len(states))).astype(np.float32)
    ends = np.searchsorted(states, particles.offsets)
    centred = terms - masses * (terms.sum() / masses.sum())
    truth = particles.variance_of(states, centred.astype(np.float64))
    found = kernels.variance_of(terms, states, masses, ends, np.diff(particles.offsets))
    assert found == pytest.approx(truth, rel=1e-5)


# ---- columns and logarithms -----------------------------------------------------------------------------------------


def test_columns_are_copied_once_and_known_variables_left_out():
    by_state, states, _, _ = sample_of(0)
    query_variables = np.array([[3, 7, 1, -1], [7, 2, -1, -1], [1, 4, 5, 6]])
    seen = np.full(16, UNKNOWN, dtype=np.int8)
    seen[[1, 5]] = 0, 1
    place, n_columns = np.full(16, UNKNOWN), 0
    columns = np.full((6, len(states) + 4), np.nan, dtype=np.float32)
    which = np.full(4, 99)
    for query, left, total in ((0, [3, 7], 2), (1, [7, 2], 3), (2, [4, 6], 5), (0, [3, 7], 5)):
        width, n_columns = kernels.gather(
            query, query_variables, seen, by_state, states, len(states), place, columns, n_columns, which
        )
        assert (width, n_columns) == (2, total)
        for w, variable in enumerate(left):
            np.testing.assert_array_equal(columns[which[w], : len(states)], by_state[states, variable])
    assert np.isnan(columns[:, len(states) :]).all()
    assert np.isnan(columns[5]).all()
    assert (place[[1, 5]] == UNKNOWN).all()


def test_logarithms_are_right_to_a_float():
    values = np.concatenate([10.0 ** np.linspace(-37, 0, 5001), 1 - 2.0 ** -np.arange(1, 24), [1, 2, 0.5]])
    values = values.astype(np.float32)
    for x in values[::25]:
        one = np.array([x])
        exact = float(x) * np.log(float(x))
        assert kernels.sum_xlogx(one, one.view(np.int32)) == pytest.approx(exact, rel=1e-6, abs=2e-7 * float(x))
    zeros = np.zeros(5, dtype=np.float32)
    assert kernels.sum_xlogx(zeros, zeros.view(np.int32)) == 0
    weights = np.random.default_rng(0).dirichlet(np.ones(512)).astype(np.float32)
    total = (weights.astype(np.float64) * np.log(weights.astype(np.float64))).sum()
    assert kernels.sum_xlogx(weights, weights.view(np.int32)) == pytest.approx(total, rel=5e-7)
    into = np.full(512, 2, dtype=np.float32)
    kernels.add_xlogx(weights, weights.view(np.int32), np.float32(-1), into)
    np.testing.assert_allclose(into, 2 - weights * np.log(weights), rtol=1e-6)
