"""Small random worlds: a model and a query set of every kind, with few enough assignments to write all of them down."""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from sklearn.datasets import load_digits

import infopursuit as ip
from enumerator import Truth
from infopursuit.queries import concepts, patches
from infopursuit.queries.queryset import QuerySet

KINDS = ("yes_no", "patches", "thresholds", "categorical", "mixed")


class Given(QuerySet):
    """Queries about variables whose values are given as they are."""

    kind = "given"

    def observe(self, X):
        return self.variables.check(X, "X")

    def to_spec(self):
        raise NotImplementedError("worlds are made from a seed")


@dataclass(frozen=True)
class World:
    """prior: (C,); latent: (C, Z); probs: for each variable a (C, Z, V_a) table."""

    prior: np.ndarray
    latent: np.ndarray
    probs: list
    queries: QuerySet

    @cached_property
    def model(self):
        return table_model(self.prior, self.latent, self.probs)

    @cached_property
    def truth(self):
        return Truth(self.prior, self.latent, self.probs, self.queries)

    @property
    def sizes(self):
        return [table.shape[2] for table in self.probs]

    def pursuit(self, rules=(("confidence", 0.0, None),), patience=0, **options):
        return ip.generative_pursuit(self.model, self.queries, stopping=rule_of(rules), patience=patience, **options)

    def inputs(self, rng, n, *, unknown=0.0):
        """(n, A) values: half drawn from the model, half from anywhere, so that some are impossible; some not known."""
        values = np.stack([rng.integers(size, size=n) for size in self.sizes], axis=1)
        for i in range(n // 2):
            c = rng.choice(len(self.prior), p=self.prior)
            z = rng.choice(self.latent.shape[1], p=self.latent[c])
            values[i] = [rng.choice(table.shape[2], p=table[c, z]) for table in self.probs]
        return np.where(rng.random(values.shape) < unknown, -1, values)

    def every_input(self):
        """(N, A) all assignments."""
        return np.array(self.truth.assignments)


def table_model(prior, latent, probs, **options):
    """The package's model of the same tables."""
    sizes = [table.shape[2] for table in probs]
    padded = np.zeros((*np.shape(latent), len(probs), max(sizes)))
    for variable, table in enumerate(probs):
        padded[:, :, variable, : sizes[variable]] = table
    return ip.models.TableModel(prior, latent, padded, sizes=sizes, **options)


def random_world(rng, kind=None, *, zeros=None, n_classes=None, n_latents=None):
    """A world of some kind; ``zeros`` puts zeros and ones into the tables, so that some answers are impossible."""
    kind = str(rng.choice(KINDS)) if kind is None else kind
    zeros = bool(rng.random() < 0.4) if zeros is None else zeros
    n_classes = int(rng.integers(2, 5)) if n_classes is None else n_classes
    n_latents = int(rng.integers(1, 4)) if n_latents is None else n_latents
    queries = {
        "yes_no": _yes_no,
        "patches": _patches,
        "thresholds": _thresholds,
        "categorical": _categorical,
        "mixed": _mixed,
    }[kind](rng)
    prior = _simplex(rng, (n_classes,), zeros and n_classes > 2)
    latent = _simplex(rng, (n_classes, n_latents), zeros and n_latents > 1)
    probs = [_simplex(rng, (n_classes, n_latents, size), zeros) for size in queries.variables.sizes]
    return World(prior, latent, probs, queries)


def world_of(seed, **options):
    """The world of a seed, and the generator to go on with."""
    rng = np.random.default_rng(seed)
    return random_world(rng, **options), rng


def random_history(world, rng, n, *, unknown=0.2):
    """n answers to different queries that are possible together, some of them not known or known in part."""
    weights = world.truth.joint.sum(axis=(0, 1))
    values = world.truth.assignments[rng.choice(len(weights), p=weights / weights.sum())]
    history = []
    for query in rng.permutation(len(world.queries))[:n].tolist():
        hidden = [-1 if rng.random() < unknown else value for value in values]
        answer = world.truth.answer(query, hidden)
        history.append((query, None if set(answer) == {-1} else answer))
    return history


def random_rules(rng):
    """One to three stopping rules in any order, some with a patience of their own, as the enumerator wants them."""
    own = lambda: None if rng.random() < 0.7 else int(rng.integers(0, 3))  # noqa: E731
    makers = (
        lambda: ("confidence", float(rng.choice([0.0, 0.02, 0.1, 0.25, 0.4])), own()),
        lambda: ("information_gain", float(rng.choice([0.0, 0.003, 0.02, 0.08])), own()),
        lambda: ("max_queries", int(rng.integers(0, 6))),
    )
    return [makers[i]() for i in rng.permutation(3)[: rng.integers(1, 4)]]


def rule_of(rules):
    """The package's rule."""
    makers = {"confidence": ip.Confidence, "information_gain": ip.InformationGain, "max_queries": ip.MaxQueries}
    return reduce(lambda a, b: a | b, [makers[rule[0]](*rule[1:]) for rule in rules])


def _simplex(rng, shape, zeros):
    """Probabilities over the last axis; with zeros, a third of them is 0, and now and then one is 1."""
    p = rng.dirichlet(np.full(shape[-1], 0.8), size=shape[:-1])
    if zeros:
        drop = rng.random(shape) < 0.33
        sure = rng.random(shape[:-1]) < 0.15
        np.copyto(drop, np.arange(shape[-1]) != rng.integers(shape[-1]), where=sure[..., None])
        lone = drop.all(axis=-1)
        drop[lone, rng.integers(shape[-1])] = False
        p = np.where(drop, 0.0, np.maximum(p, 1e-3))
        p = p / p.sum(axis=-1, keepdims=True)
    return p


def _yes_no(rng):
    return ip.queries.concepts([f"yes {a}" for a in range(rng.integers(2, 7))])


def _patches(rng):
    shape, size = [((2, 3), 2), ((1, 5), (1, 3)), ((2, 2), (1, 2)), ((2, 3), (1, 2)), ((2, 4), 2), ((3, 2), (2, 1))][
        rng.integers(6)
    ]
    return ip.queries.patches(shape, size=size)


def _thresholds(rng):
    """Columns of 3 or 4 bins, each asked at every boundary."""
    sizes = [int(rng.integers(3, 5)) for _ in range(rng.integers(2, 5))]
    pairs = [(a, t) for a, size in enumerate(sizes) for t in range(1, size)]
    cells = np.full((len(pairs), 1, max(sizes)), -1)
    for q, (a, t) in enumerate(pairs):
        cells[q, 0, : sizes[a]] = np.arange(sizes[a]) >= t
    return Given([f"x{a} >= {t}" for a, t in pairs], sizes, [[a] for a, _ in pairs], cells)


def _categorical(rng):
    sizes = [int(rng.integers(2, 5)) for _ in range(rng.integers(2, 5))]
    return Given([f"shape {a}" for a in range(len(sizes))], sizes, [[a] for a in range(len(sizes))])


def _mixed(rng):
    """Queries about one to three variables, asked whole or in random cells; some variables may not be asked about."""
    sizes = [int(rng.integers(2, 5)) for _ in range(rng.integers(2, 6))]
    while np.prod(sizes) > 300:
        sizes = sizes[:-1]
    n_queries = int(rng.integers(2, 8))
    variables = np.full((n_queries, 3), -1)
    cells = np.full((n_queries, 3, max(sizes)), -1)
    for q in range(n_queries):
        width = int(rng.integers(1, min(3, len(sizes)) + 1))
        variables[q, :width] = rng.permutation(len(sizes))[:width]
        for w in range(width):
            size = sizes[variables[q, w]]
            whole = rng.random() < 0.5
            cells[q, w, :size] = np.arange(size) if whole else _surjection(rng, size, int(rng.integers(2, size + 1)))
    return Given([f"question {q}" for q in range(n_queries)], sizes, variables, cells)


def _surjection(rng, size, n_cells):
    """Values to cells, every cell used."""
    return rng.permutation(np.concatenate([np.arange(n_cells), rng.integers(n_cells, size=size - n_cells)]))


def digits(n_train=300, n_test=200):
    """Handwritten digits of 8 x 8 pixels: queries, values and labels to learn from, and to test on."""
    images, labels = load_digits(return_X_y=True)
    query_set = patches((8, 8), size=3, threshold=7.5)
    values = query_set.observe(images.reshape(-1, 8, 8))
    last = n_train + n_test
    return query_set, values[:n_train], labels[:n_train], values[n_train:last], labels[n_train:last]


def xor_rows(n=400, seed=0):
    """Two of four yes/no answers decide, neither alone."""
    values = np.random.default_rng(seed).integers(0, 2, size=(n, 4))
    return concepts(["a", "b", "c", "d"]), values, np.where(values[:, 0] ^ values[:, 2], "odd", "even")
