"""Proposition 2: the pursuit that may ask about any set of classes, beside entropy and Huffman. In bits."""

import itertools
import math

import numpy as np
import pytest

import infopursuit as ip
from theory import (
    BinaryFunctions,
    all_binary_functions,
    expected_length,
    huffman_length,
    label_world,
    optimal_strategy,
    proposition_2,
    pursuit_tree,
)


def random_priors():
    """Priors over two to eight classes, flat and steep."""
    rng = np.random.default_rng(0)
    for n in range(40):
        n_classes = int(rng.integers(2, 9))
        prior = rng.dirichlet(np.full(n_classes, [0.3, 1.0, 5.0][n % 3]))
        if n % 5 == 0 and n_classes > 2:
            prior[rng.integers(n_classes)] = 0  # a class that never occurs
        yield prior / prior.sum()


DYADIC = [
    [1 / 2, 1 / 2],
    [1 / 2, 1 / 4, 1 / 4],
    [1 / 4] * 4,
    [1 / 8, 1 / 2, 1 / 8, 1 / 4],
    [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 64],
    [1 / 8, 1 / 4, 1 / 8, 1 / 4, 1 / 8, 1 / 8],
    [1 / 8] * 8,
    [0.5, 0, 0.25, 0, 0.25],
]


def entropy_bits(prior):
    return -sum(p * math.log2(p) for p in prior if p > 0)


def lengths_of_all_codes(n):
    """The code lengths of every binary tree with n leaves, leaf by leaf."""
    if n == 1:
        return {(0,)}
    found = set()
    for left in range(1, n // 2 + 1):
        for a, b in itertools.product(lengths_of_all_codes(left), lengths_of_all_codes(n - left)):
            found.add(tuple(sorted(x + 1 for x in a + b)))
    return found


@pytest.mark.parametrize("n_classes", range(2, 7))
def test_every_binary_function_is_there_once(n_classes):
    queries = all_binary_functions(n_classes)
    said = queries.answers(np.arange(n_classes))[:, :, 0].T  # (Q, C)
    true = {bits for bits in itertools.product((0, 1), repeat=n_classes) if bits[0] == 0 and any(bits)}
    assert len(said) == 2 ** (n_classes - 1) - 1
    assert set(map(tuple, said.tolist())) == true
    for query, bits in enumerate(said):
        assert queries.names[query] == "Y in {" + ", ".join(str(c) for c in range(n_classes) if bits[c]) + "}"
    assert BinaryFunctions.from_spec(queries.to_spec()).names == queries.names


def test_the_label_is_the_input():
    world = label_world([0.5, 0.0, 0.3, 0.2])
    assert world.values.ravel().tolist() == [0, 2, 3]
    np.testing.assert_allclose(world.joint, np.diag([0.5, 0.0, 0.3, 0.2])[[0, 2, 3]], atol=1e-15)


@pytest.mark.parametrize("prior", list(random_priors()))
def test_proposition_2(prior):
    code = proposition_2(prior)
    assert code.entropy == pytest.approx(entropy_bits(prior))
    assert code.holds
    assert code.entropy - 1e-9 <= code.huffman <= code.pursuit + 1e-9
    assert code.pursuit <= code.entropy + 1
    # The step that the paper calls intuitively clear, class by class (the docstring has the proof).
    world = label_world(prior)
    lengths = pursuit_tree(ip.generative_pursuit(world.model, world.queries, stopping=ip.Confidence(0)), world).lengths
    for p, length in zip(world.probabilities, lengths, strict=True):
        assert length <= math.ceil(-math.log2(p))


@pytest.mark.parametrize("prior", list(random_priors())[:14])
def test_huffman_is_the_optimal_strategy(prior):
    assert expected_length(optimal_strategy(label_world(prior), ip.Confidence(0))) == pytest.approx(
        huffman_length(prior)
    )


@pytest.mark.parametrize("prior", list(random_priors())[:20])
def test_huffman_is_the_best_of_all_codes(prior):
    occurring = sorted((p for p in prior if p > 0), reverse=True)
    best = min(
        sum(p * k for p, k in zip(occurring, code, strict=True)) for code in lengths_of_all_codes(len(occurring))
    )
    assert huffman_length(prior) == pytest.approx(best)


@pytest.mark.parametrize("prior", DYADIC)
def test_dyadic_priors_reach_the_entropy(prior):
    code = proposition_2(prior)
    assert (code.pursuit, code.huffman) == pytest.approx((code.entropy, code.entropy))


@pytest.mark.parametrize("n_classes", range(2, 9))
def test_uniform_priors_are_halved(n_classes):
    code = proposition_2([1 / n_classes] * n_classes)
    short = math.floor(math.log2(n_classes))
    assert code.pursuit == pytest.approx(short + 2 * (n_classes - 2**short) / n_classes)
    assert code.pursuit == pytest.approx(code.huffman)


@pytest.mark.parametrize("prior", [[1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
def test_a_sure_label_needs_no_question(prior):
    code = proposition_2(prior)
    assert (code.entropy, code.huffman, code.pursuit) == (0, 0, 0)


def test_the_upper_bound_is_nearly_reached():
    code = proposition_2([0.999, 0.001])
    assert code.pursuit == pytest.approx(1)
    assert 0.98 < code.pursuit - code.entropy < 1


def test_a_pursuit_can_be_longer_than_huffman():
    """Halves {1, 3} and {1, 3} tell most, but then nobody is found in one question; Huffman finds a 3 in one."""
    code = proposition_2(np.array([1, 1, 3, 3]) / 8)
    assert (code.huffman, code.pursuit) == pytest.approx((1.875, 2.0))


def test_trap_12_the_statement_is_in_bits_and_for_a_determined_label():
    uniform = proposition_2([1 / 12] * 12)
    assert uniform.pursuit > uniform.entropy * math.log(2) + 1  # in nats it would be false
    # A pursuit that stops before Y is determined may ask less than H(Y).
    world = label_world([1 / 4] * 4)
    early = pursuit_tree(ip.generative_pursuit(world.model, world.queries, stopping=ip.Confidence(0.5)), world)
    assert expected_length(early) < entropy_bits([1 / 4] * 4)


def test_what_makes_no_sense_is_refused():
    for n_classes in (1, 13):
        with pytest.raises(ValueError, match=f"n_classes={n_classes} must lie between 2 and 12"):
            all_binary_functions(n_classes)
    for refuses in (huffman_length, proposition_2):
        with pytest.raises(ValueError, match="prior must be probabilities that sum to 1"):
            refuses([0.5, 0.6])
