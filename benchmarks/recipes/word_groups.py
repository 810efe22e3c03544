"""Questions about several words at once: does the text contain any of these? Groups are learnt, and nested.

A headline has four of a thousand words. A question about one word is answered with no almost always and tells hardly
anything; a question about thirty words of one subject tells a lot, and a yes is narrowed down by smaller groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.recipes.history_network import binary_entropy
from infopursuit.models.table import TableModel
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray, IntArray

SHOWN = 6
"""Words of a group that its name has."""
AT_A_TIME = 50
"""Histories whose gains are computed together."""


def agglomerate(weights: FloatArray) -> list[IntArray]:
    """Nested groups of words by the agglomerative information bottleneck (Slonim and Tishby 1999).

    weights: (C, W) p(class, word). From single words on, the two groups are merged that lose the least information
    about the class: the sum of their weights times the Jensen-Shannon divergence of their classes. Rare words that
    speak for the same classes come first, so that frequent words stay near the root, as in a Huffman tree.

    Returns the members of the W - 1 groups, in the order of merging.

    >>> [group.tolist() for group in agglomerate(np.array([[0.3, 0.01, 0.2], [0.01, 0.2, 0.01]]))]
    [[0, 2], [0, 1, 2]]
    """
    joint = np.asarray(weights, dtype=np.float64).T.copy()  # (W, C)
    members = [np.array([w]) for w in range(len(joint))]
    information = _information(joint)
    cost = np.full((len(joint), len(joint)), np.inf)
    for w in range(len(joint) - 1):
        cost[w, w + 1 :] = information[w] + information[w + 1 :] - _information(joint[w] + joint[w + 1 :])
    best, where = cost.min(axis=1), cost.argmin(axis=1)
    found = []
    alive = np.ones(len(joint), dtype=bool)
    for _ in range(len(joint) - 1):
        i = int(best.argmin())
        j = int(where[i])  # i < j: j goes into i
        members[i] = np.sort(np.concatenate([members[i], members[j]]))
        found.append(members[i])
        joint[i] += joint[j]
        information[i] = _information(joint[i])
        alive[j] = False
        cost[j], cost[:, j], best[j] = np.inf, np.inf, np.inf
        loss = np.where(alive, information[i] + information - _information(joint[i] + joint), np.inf)
        cost[i, i + 1 :], cost[:i, i] = loss[i + 1 :], np.where(alive[:i], loss[:i], np.inf)
        changed = np.flatnonzero(alive & ((where == i) | (where == j) | (np.arange(len(joint)) == i)))
        best[changed], where[changed] = cost[changed].min(axis=1), cost[changed].argmin(axis=1)
        nearer = np.flatnonzero(cost[:, i] < best)
        best[nearer], where[nearer] = cost[nearer, i], i
    return found


def _information(joint: FloatArray) -> Any:
    """(..., C) p(class, group) -> what a group tells: the sum of p log p, less p log p of the sum."""
    total = joint.sum(axis=-1)
    terms = joint * np.log(np.maximum(joint, 1e-300))
    return terms.sum(axis=-1) - total * np.log(np.maximum(total, 1e-300))


class WordGroups(QuerySet):
    """The queries of ``words`` and one yes/no query for each group: is any of its words in the text?

    words: a query set of yes/no queries. groups: indices of words; two groups are nested or have nothing in common.
    """

    kind = "word_groups"

    def __init__(self, words: QuerySet, groups: Sequence[IntArray], order: FloatArray) -> None:
        """order: (W,) words with larger numbers are named first."""
        self.words, self.groups = words, tuple(np.asarray(group) for group in groups)
        n = len(words)
        self.members = np.zeros((n + len(groups), n), dtype=bool)  # (Q, W)
        self.members[:n] = np.eye(n, dtype=bool)
        names, sentences = list(words.names), list(words.sentences)
        for q, group in enumerate(self.groups, start=n):
            self.members[q, group] = True
            ranked = [words.names[w] for w in group[np.argsort(-order[group], kind="stable")]]
            some = ", ".join(ranked[:SHOWN]) + (", ..." if len(ranked) > SHOWN else "")
            names.append(f"any of {len(ranked)}: {some} ({q - n})")
            sentences.append(f"Is any of {len(ranked)} words in the text: {some}?")
        super().__init__(names, [2] * len(names), np.arange(len(names))[:, None], sentences=sentences)

    def observe(self, X: Any) -> IntArray:
        """(B, Q) of texts."""
        return self.of_words(self.words.observe(X))

    def of_words(self, values: IntArray) -> IntArray:
        """(B, W) whether each word is there -> (B, Q)."""
        return np.concatenate([values, values @ self.members[len(self.words) :].T.astype(values.dtype) > 0], axis=1)

    def to_spec(self) -> dict[str, Any]:
        raise NotImplementedError("groups are learnt by the experiment")

    @cached_property
    def below(self) -> BoolArray:
        """(Q, Q) whether the words of a query (column) are all among those of another (row); itself included."""
        n_words = self.members.sum(axis=1)
        shared = self.members.astype(np.float32) @ self.members.T.astype(np.float32)  # (Q, Q)
        nested = shared >= np.minimum(n_words[:, None], n_words)
        if not (nested | (shared == 0)).all():
            raise ValueError("groups overlap; give groups that are nested or have nothing in common")
        return np.asarray((shared >= n_words) & ((n_words[:, None] > n_words) | np.eye(len(n_words), dtype=bool)))


@dataclass(frozen=True)
class GroupState:
    """none: (H, Q, C) p(none of the words that are still open | y). log_words: (H, C) log p(y, what is known of single
    words). open: (H, Q) groups with a yes of which no part has one. within: (H, Q) the open group around a query, -1
    for none. settled: (H, Q) queries whose answer is known."""

    none: FloatArray
    log_words: FloatArray
    open: BoolArray
    within: IntArray
    settled: BoolArray


class GroupBelief(Belief[GroupState]):
    """The exact posterior of naive Bayes over words, after answers about words and nested groups.

    No word of a group: each of its words is absent. A yes is remembered, and the innermost one around a set of words
    counts: p(yes | y) is 1 less p(none of the words that are still open | y).
    """

    def __init__(self, model: TableModel, queries: WordGroups) -> None:
        self.model = model
        self.queries = queries
        self.n_classes = len(model.tables()[0])
        # of one history, with what a step needs
        self.capabilities = Capabilities(bytes_per_history=8 * len(queries) * (3 * self.n_classes + 2))

    @cached_property
    def _yes(self) -> FloatArray:
        """(W, C) p(word | y)."""
        return np.ascontiguousarray(self.model.tables()[2][:, 0, 1::2].T)

    def init(self) -> GroupState:
        """Nothing is known."""
        none = np.exp(self.queries.members.astype(np.float64) @ np.log1p(-self._yes))[None]
        nothing = np.zeros((1, len(self.queries)), dtype=bool)
        within = np.full((1, len(self.queries)), -1)
        return GroupState(none, np.log(self.model.tables()[0])[None], nothing, within, nothing)

    def update(self, b: GroupState, parents: IntArray, new: Histories) -> GroupState:
        """One more answer."""
        none, log_words = b.none[parents], b.log_words[parents]
        opened, within, settled = b.open[parents], b.within[parents], b.settled[parents]
        below, n_words = self.queries.below, len(self.queries.words)
        for h, (q, answer) in enumerate(zip(new.queries[:, -1].tolist(), new.answers[:, -1, 0].tolist(), strict=True)):
            if answer < 0 or settled[h, q]:  # what is known already changes nothing
                continue
            above, inside = below[:, q], below[q]
            if answer == 0 or q < n_words:  # the words are known: what is above consists of the others
                log_words[h] += np.log(none[h, q]) if answer == 0 else np.log(self._yes[q])
                none[h, above] /= none[h, q].copy()
                none[h, inside] = 1.0
                settled[h, inside] = True
            if answer == 1:
                settled[h, above] = True
                around = np.flatnonzero(opened[h] & above)
                opened[h, around] = False
                within[h, np.isin(within[h], around)] = -1
                if q >= n_words:
                    opened[h, q] = True
                    within[h, inside] = q
                    within[h, q] = -1
        return GroupState(none, log_words, opened, within, settled)

    def log_posterior(self, b: GroupState) -> Estimate:
        """(H, C)."""
        joint = b.log_words.copy()
        rows, groups = np.nonzero(b.open)
        np.add.at(joint, rows, np.log(np.maximum(1.0 - b.none[rows, groups], 1e-300)))
        joint -= joint.max(axis=1, keepdims=True)
        return Estimate.exact(joint - np.log(np.exp(joint).sum(axis=1, keepdims=True)))

    def none_given(self, b: GroupState, rows: IntArray) -> FloatArray:
        """(rows, Q, C) p(no | history, y) of each query: inside an open group not all words can be absent."""
        found, within = b.none[rows], b.within[rows]
        at, queries = np.nonzero(within >= 0)
        outer = found[at, within[at, queries]]  # (N, C)
        found[at, queries] = np.clip((found[at, queries] - outer) / np.maximum(1 - outer, 1e-300), 0.0, 1.0)
        return found


@dataclass(frozen=True)
class GroupGain(Acquisition[GroupState]):
    """The mutual information of class and answer under a `GroupBelief`, in float32."""

    belief: GroupBelief
    unit: ClassVar[Literal["nats"]] = "nats"
    tie = 2e-6

    def utilities(self, b: GroupState, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) information gains; 0 where the answer is known."""
        p = np.exp(self.belief.log_posterior(b).value)  # (H, C)
        gains = np.full(allowed.shape, np.nan)
        wanted = np.flatnonzero(allowed.any(axis=1))
        for start in range(0, len(wanted), AT_A_TIME):
            rows = wanted[start : start + AT_A_TIME]
            no = self.belief.none_given(b, rows).astype(np.float32)  # (rows, Q, C)
            weights = p[rows, :, None].astype(np.float32)  # (rows, C, 1)
            gain = binary_entropy((no @ weights)[:, :, 0]) - (binary_entropy(no) @ weights)[:, :, 0]
            gains[rows] = np.where(b.settled[rows], 0.0, np.maximum(gain, 0.0))
        return Estimate.exact(np.where(allowed, gains, np.nan))
