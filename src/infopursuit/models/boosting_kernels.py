"""Loops over the nodes of boosted trees: what they say, and what they would say after one more answer."""

from __future__ import annotations

import numpy as np

from infopursuit.compiled import compiled

LEAF = -1
"""The left child of a leaf."""


@compiled
def goes_left(v, node, threshold, mask, missing_left, categorical):
    """Whether an answer, NaN where there is none, goes to the left child."""
    if np.isnan(v):
        return missing_left[node]
    if categorical[node]:
        return (mask[node] >> np.uint64(v)) & np.uint64(1) == np.uint64(1)
    return v <= threshold[node]


@compiled
def walk(x, node, feature, threshold, mask, missing_left, categorical, left, right):
    """The leaf below a node."""
    while left[node] != LEAF:
        v = x[feature[node]]
        node = left[node] if goes_left(v, node, threshold, mask, missing_left, categorical) else right[node]
    return node


@compiled
def scores(X, roots, root_class, feature, threshold, mask, missing_left, categorical, left, right, value, out):
    """Add the trees to (H, C) scores."""
    for h in range(len(X)):
        for t in range(len(roots)):
            leaf = walk(X[h], roots[t], feature, threshold, mask, missing_left, categorical, left, right)
            out[h, root_class[t]] += value[leaf]


@compiled
def changes(
    x, wanted, starts, answer, roots, root_class,
    feature, threshold, mask, missing_left, categorical, left, right, value, base, delta,
):  # fmt: skip
    """(C,) the scores of one answer vector, and (L, C) what each wanted answer to an open query adds to them.

    An answer changes only the trees whose path has a node about its query, and these only below the first such node.
    starts: (Q + 1,) where the answers of each query begin; answer: (L,) their entries of an answer vector.
    """
    path = np.empty(256, np.int64)
    for t in range(len(roots)):
        leaf = walk(x, roots[t], feature, threshold, mask, missing_left, categorical, left, right)
        c, node, length = root_class[t], np.int64(roots[t]), 0
        base[c] += value[leaf]
        while left[node] != LEAF:
            f = feature[node]
            known = x[f]
            seen = not np.isnan(known)
            for k in range(length):
                seen = seen or path[k] == f
            if not seen and length < len(path):
                path[length] = f
                length += 1
                for place in range(starts[f], starts[f + 1]):
                    if wanted[place]:
                        x[f] = answer[place]
                        end = walk(x, node, feature, threshold, mask, missing_left, categorical, left, right)
                        delta[place, c] += value[end] - value[leaf]
                x[f] = known
            node = left[node] if goes_left(known, node, threshold, mask, missing_left, categorical) else right[node]
