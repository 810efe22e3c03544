"""Masked boosting: histogram gradient boosting that classifies an input from any subset of its answers.

scikit-learn grows the trees, on training rows of which most answers are hidden. Their nodes are kept as plain arrays,
so that they can be saved without pickle, and so that a look-ahead visits only the trees that an answer changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from infopursuit.display import brief
from infopursuit.models.masked import Rows, Training, softmax
from infopursuit.threads import side_by_side
from infopursuit.types import FloatArray, IntArray

MAX_COPIES, MAX_ENTRIES = 40, 2**23
"""Masked copies of a training row, and entries of the table of all copies, at the most."""
MIN_ROWS, MAX_ROWS = 4_000, 20_000
"""Masked copies that each member is trained on."""
MAX_TREES, CHECK, PATIENCE = 150, 10, 1
"""Iterations at the most, between two looks at the held-out loss, and looks without improvement before it ends."""
SETTINGS = {"learning_rate": 0.1, "max_leaf_nodes": 16, "min_samples_leaf": 20, "l2_regularization": 1}
ABSENT = 5.0
"""How far below the rarest class the score of a class lies that a member never saw."""


@dataclass(frozen=True)
class Trees:
    """Nodes of the trees of M members.

    feature: (N,) the query that a node asks. threshold: numbers up to it go left. mask: the answers that go left, one
    bit each, where ``categorical``. missing_left: whether what is not known goes left. left, right: children, -1 at
    leaves. value: what a leaf adds to the score. roots, root_class: (T,) of each tree. ends: (M + 1,) where the trees
    of each member begin. baseline: (M, C) scores to begin with.
    """

    feature: Any
    threshold: FloatArray
    mask: Any
    missing_left: Any
    categorical: Any
    left: Any
    right: Any
    value: FloatArray
    roots: IntArray
    root_class: IntArray
    ends: IntArray
    baseline: FloatArray

    __repr__ = brief

    @property
    def nodes(self) -> tuple[Any, ...]:
        """What the kernels want to know of the nodes."""
        about = (self.feature, self.threshold, self.mask, self.missing_left, self.categorical, self.left, self.right)
        return (*about, self.value)

    def check(self, n_queries: int) -> None:
        """Refuse arrays that do not fit together, or that a walk could leave or never end in."""
        n, t = len(self.feature), len(self.roots)
        n_members, n_classes = self.baseline.shape
        wrong = [name for name in list(_TYPES)[:8] if getattr(self, name).shape != (n,)]
        wrong += [name for name in ("roots", "root_class") if getattr(self, name).shape != (t,)]
        at, inner = np.arange(n), self.left != -1
        ends = np.concatenate([self.ends, [t]])
        checks = {
            "ends": self.ends.shape == (n_members + 1,) and self.ends[0] == 0 and (np.diff(ends) >= 0).all(),
            "roots": ((self.roots >= 0) & (self.roots < n)).all(),
            "root_class": ((self.root_class >= 0) & (self.root_class < n_classes)).all(),
            "feature": ((self.feature >= 0) & (self.feature < n_queries)).all(),
            # children come after their parent, so that every walk ends
            "left": not wrong and ((self.left > at) & (self.left < n))[inner].all(),
            "right": not wrong and ((self.right > at) & (self.right < n))[inner].all(),
            "value": np.isfinite(self.value).all(),
            "baseline": np.isfinite(self.baseline).all(),
        }
        wrong += [name for name, fine in checks.items() if not fine]
        if wrong or self.ends[-1] != t:
            raise ValueError(f"{(wrong or ['ends'])[0]} does not fit the other arrays of the trees")


_TYPES = {
    "feature": np.int32, "threshold": np.float64, "mask": np.uint64, "missing_left": np.bool_,
    "categorical": np.bool_, "left": np.int32, "right": np.int32, "value": np.float64,
    "roots": np.int64, "root_class": np.int64, "ends": np.int64, "baseline": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class MaskedTrees:
    """p(y | answers), the mean of M boosted ensembles."""

    trees: Trees

    def __repr__(self) -> str:
        return f"<MaskedTrees: {self.n_members} boosted ensembles, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.trees.baseline.shape[1])

    @property
    def n_members(self) -> int:
        """M."""
        return len(self.trees.baseline)

    def member(self, m: int) -> MaskedTrees:
        """One ensemble by itself."""
        t, (a, b) = self.trees, self.trees.ends[m : m + 2]
        mine: dict[str, Any] = {
            "roots": t.roots[a:b],
            "root_class": t.root_class[a:b],
            "baseline": t.baseline[m : m + 1],
        }
        return MaskedTrees(replace(t, ends=np.array([0, b - a]), **mine))

    def predict_each(self, answers: FloatArray) -> FloatArray:
        """(H, Q) answer vectors -> (M, H, C) probabilities by each member."""
        from infopursuit.models import boosting_kernels

        scores: Any = boosting_kernels.scores
        t, answers = self.trees, np.ascontiguousarray(answers, np.float64)
        out = np.repeat(t.baseline[:, None], len(answers), axis=1)
        for m in range(self.n_members):
            mine = slice(*t.ends[m : m + 2])
            scores(answers, t.roots[mine], t.root_class[mine], *t.nodes, out[m])
        return np.asarray(softmax(out))

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors, from the spread of the members."""
        return mean_and_error(self.predict_each(answers))

    def predict_after(self, answers: FloatArray, rows: IntArray, places: IntArray, table: FloatArray, n: int) -> Any:
        """(N, C) probabilities by the first n members after one more answer; see `MaskedClassifier.predict_after`."""
        from infopursuit.models import boosting_kernels

        changes: Any = boosting_kernels.changes
        t, (starts, answer) = self.trees, self._answers(table)
        found = np.zeros((len(rows), self.n_classes))
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        ends = np.append(first[1:], len(rows))

        def work(i: int) -> None:
            mine, x = slice(first[i], ends[i]), np.array(answers[rows[first[i]]], np.float64)
            wanted = np.zeros(len(answer), bool)
            wanted[places[mine]] = True
            for m in range(n):
                base, delta = t.baseline[m].copy(), np.zeros((len(answer), self.n_classes))
                some = slice(*t.ends[m : m + 2])
                changes(x, wanted, starts, answer, t.roots[some], t.root_class[some], *t.nodes, base, delta)
                found[mine] += softmax(base + delta[places[mine]]) / n

        side_by_side(work, len(first))
        return found

    def _answers(self, table: FloatArray) -> tuple[IntArray, FloatArray]:
        """(Q + 1,) where the answers of each query begin in ``table``, and (L,) their entries."""
        known = self.__dict__.get("_known_answers")
        if known is None or known[0] is not table:
            at, query = np.nonzero(~np.isnan(table))
            known = (table, np.searchsorted(query, np.arange(table.shape[1] + 1)), table[at, query])
            object.__setattr__(self, "_known_answers", known)
        return known[1], known[2]

    def to_arrays(self) -> dict[str, Any]:
        """The nodes, to be saved."""
        return {f"tree_{field.name}": getattr(self.trees, field.name) for field in fields(Trees)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_queries: int) -> MaskedTrees:
        """What `to_arrays` took apart, checked."""
        trees = Trees(**{name: np.asarray(arrays[f"tree_{name}"]).astype(kind) for name, kind in _TYPES.items()})
        trees.check(n_queries)
        return cls(trees)


@dataclass(frozen=True)
class Averaged:
    """p(y | answers), the mean of predictors that have as many members each."""

    parts: tuple[Any, ...]

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.parts[0].n_classes)

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.parts[0].n_members)

    def member(self, m: int) -> Averaged:
        """The mean of one member of each."""
        return Averaged(tuple(part.member(m) for part in self.parts))

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors."""
        return mean_and_error(np.mean([part.predict_each(answers) for part in self.parts], axis=0))

    def predict_after(self, answers: FloatArray, rows: IntArray, places: IntArray, table: FloatArray, n: int) -> Any:
        """(N, C) probabilities by the first n members of each after one more answer."""
        return np.mean([part.predict_after(answers, rows, places, table, n) for part in self.parts], axis=0)


def mean_and_error(each: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(M, H, C) probabilities by members -> their mean and its standard error."""
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(each.shape[1:])
    return each.mean(axis=0), error


# ---- fitting --------------------------------------------------------------------------------------------------------


def fit_trees(rows: Rows, n_classes: int, numeric: Any, how: Training, rng: Any) -> MaskedTrees:
    """Grow trees for each row of ``rows.weights``, until the held-out loss no longer falls; numeric: (Q,) the queries
    that are answered with a number."""
    from threadpoolctl import threadpool_limits

    n_queries = rows.answers.shape[1]
    n = int(min(max(MAX_COPIES * len(rows.answers), MIN_ROWS), MAX_ROWS, MAX_ENTRIES // n_queries + 1))
    sizes = {"weights": n, "held_out": n // 4}
    train, test = (_draw(rows, replace(how, batch=256), rng, name, size) for name, size in sizes.items())
    order = np.argsort(numeric, kind="stable")  # scikit-learn puts categories first
    categorical, seed = ~np.asarray(numeric)[order], int(rng.integers(2**31))
    with threadpool_limits(1, user_api="openmp"):  # so few rows gain little from several, and lose much on busy cores
        found = [_grow(*each, n_classes, order, categorical, seed) for each in zip(train, test, strict=True)]
    return MaskedTrees(_joined(found))


def _draw(rows: Rows, how: Training, rng: Any, name: str, n: int) -> list[tuple[FloatArray, IntArray]]:
    """For each member n masked copies of rows, and their labels."""
    drawn = [rows.draw(rng, how, name) for _ in range(-(-n // how.batch))]
    found = []
    for m in range(len(rows.weights)):
        parts = [np.where(visible[m], rows.answers[index[m]], np.nan) for index, visible in drawn]
        found.append((np.concatenate(parts), np.concatenate([rows.labels[index[m]] for index, _ in drawn])))
    return found


def _grow(train: Any, test: Any, n_classes: int, order: IntArray, categorical: Any, seed: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = train[0][:, order], train[1]
    known = np.isin(test[1], y)
    X_test, labels = test[0][known][:, order], test[1][known]
    given = categorical if categorical.any() else None
    model: Any = HistGradientBoostingClassifier(
        **SETTINGS, categorical_features=given, early_stopping=False, warm_start=True, random_state=seed
    )
    n, best, least = 0, 0, np.inf
    # a row in two masks is no independent evidence, so that only held-out rows can say when to stop
    while n < MAX_TREES and (n - best <= PATIENCE * CHECK or not len(labels)):
        n += CHECK
        model.set_params(max_iter=n).fit(X, y)
        p = model.predict_proba(X_test)[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
        loss = -float(np.log(np.maximum(p, 1e-6)).mean()) if len(labels) else -float(n)
        if loss < least:
            best, least = n, loss
    del model._predictors[best:]
    return _extract(model, X, n_classes, order, int(categorical.sum()))


def _extract(model: Any, X: FloatArray, n_classes: int, order: IntArray, n_categorical: int) -> dict[str, Any]:
    """The nodes of a fitted ensemble, with queries and answers numbered as ours."""
    seen = [np.unique(X[:, j][~np.isnan(X[:, j])]).astype(np.int64) for j in range(n_categorical)]
    classes, start = model.classes_, np.asarray(model._baseline_prediction, np.float64).ravel()
    binary = len(classes) == 2
    baseline = np.full(n_classes, (0.0 if binary else start.min()) - ABSENT)
    baseline[classes] = [0.0, start[0]] if binary else start
    parts, roots, root_class, total = [], [], [], 0
    for iteration in model._predictors:
        for k, tree in enumerate(iteration):
            nodes = tree.nodes
            leaf, split = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
            mask = np.zeros(len(nodes), np.uint64)
            for i in np.flatnonzero(split & ~leaf).tolist():
                bits = tree.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
                codes = seen[nodes["feature_idx"][i]]
                goes = np.array([bits[r // 32] >> (r % 32) & 1 for r in range(len(codes))], bool)
                # an answer that was never drawn counts as missing
                unseen = np.setdiff1d(np.arange(64), codes)[: None if nodes["missing_go_to_left"][i] else 0]
                mask[i] = sum(1 << int(code) for code in (*codes[goes], *unseen))
            child = {side: np.where(leaf, -1, nodes[side].astype(np.int64) + total) for side in ("left", "right")}
            parts.append(
                {
                    "feature": order[np.where(leaf, 0, nodes["feature_idx"])],
                    "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                    "mask": mask,
                    "missing_left": nodes["missing_go_to_left"].astype(bool),
                    "categorical": split,
                    **child,
                    "value": nodes["value"],
                }
            )
            roots.append(total)
            root_class.append(int(classes[1 if binary else k]))
            total += len(nodes)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**joined, "roots": np.array(roots), "root_class": np.array(root_class), "baseline": baseline}


def _joined(found: Sequence[dict[str, Any]]) -> Trees:
    """The trees of all members in one table."""
    shift = np.cumsum([0, *(len(each["feature"]) for each in found[:-1])])
    moved = []
    for each, by in zip(found, shift, strict=True):
        children = {side: np.where(each[side] < 0, -1, each[side] + by) for side in ("left", "right")}
        moved.append({**each, **children, "roots": each["roots"] + by})
    arrays = {name: np.concatenate([each[name] for each in moved]) for name in moved[0] if name != "baseline"}
    arrays["ends"] = np.cumsum([0, *(len(each["roots"]) for each in found)])
    arrays["baseline"] = np.stack([each["baseline"] for each in found])
    return Trees(**{name: arrays[name].astype(kind) for name, kind in _TYPES.items()})
