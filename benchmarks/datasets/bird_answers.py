"""What people answered about 1,198 images of birds, and the counts behind the published percentages (CUB-200-2011).

The percentages of a species are means of the answers about its images, weighted by certainty (not visible 0, guessing
1, probably 2, definitely 3), so that the counts behind them can be recovered, and an image be left out of its species.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.datasets.files import data_folder
from infopursuit.pursuit.histories import BoolArray
from infopursuit.support.types import FloatArray, IntArray

N_FOLDS, SEED = 5, 0
WEIGHT = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
"""What an answer counts in the published percentages, by certainty 1 (not visible) to 4 (definitely)."""


@dataclass(frozen=True)
class Answers:
    """Answers about B images to A attributes in G groups. yes (B, A); certainty (B, G), 1 to 4; labels (B,);
    group (A,) of each attribute; counts (C, A) and totals (C, G): weighted answers of yes, and of all images."""

    yes: FloatArray
    certainty: IntArray
    labels: IntArray
    group: IntArray
    counts: FloatArray
    totals: FloatArray
    percentages: FloatArray
    attributes: tuple[str, ...]
    groups: tuple[str, ...]
    classes: tuple[str, ...]
    ambiguous: int = 0

    @cached_property
    def weight(self) -> FloatArray:
        """(B, G) what each answer counts in the percentages."""
        return WEIGHT[self.certainty]

    @cached_property
    def known(self) -> FloatArray:
        """(B, A) 1 where the group of the attribute was visible."""
        return np.asarray((self.certainty > 1)[:, self.group], dtype=np.float64)

    @cached_property
    def fold(self) -> IntArray:
        """(B,) the images of each class are spread over the folds."""
        order = np.random.default_rng(SEED).permutation(len(self.labels))
        order = order[np.argsort(self.labels[order], kind="stable")]
        found = np.empty(len(order), dtype=np.int64)
        found[order] = np.arange(len(order)) % N_FOLDS
        return found

    def without(self, rows: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Counts and totals without some images."""
        counts, totals = self.counts.copy(), self.totals.copy()
        np.subtract.at(counts, self.labels[rows], (self.weight[:, self.group] * self.yes)[rows])
        np.subtract.at(totals, self.labels[rows], self.weight[rows])
        return counts, totals


def recover_totals(
    percentages: FloatArray, n_images: int, mine: float, own: FloatArray, expected: float
) -> tuple[int, int]:
    """The denominator of one class and group: percentages times it are whole, at least what the images at hand have.
    Of several, the one nearest to what is expected. Returns it and how many there were."""
    total = np.arange(1, 3 * n_images + 1)
    shares = percentages / 100 * total[:, None]
    fits = (np.abs(shares - np.round(shares)).max(axis=1) < 1e-4) & (np.round(shares) >= own).all(axis=1)
    found = total[fits & (total >= mine)]
    if not len(found):
        raise ValueError("the percentages are no means weighted by certainty")
    return int(found[np.abs(found - expected).argmin()]), len(found)


def read() -> Answers:
    """The files of the data folder."""
    with np.load(data_folder() / "cub_attributes.npz") as stored:
        published = {name: stored[name] for name in stored.files}
    with np.load(data_folder() / "cub_image_attributes_1198.npz") as stored:
        yes, certainty = np.unpackbits(stored["attr"], axis=1)[:, :312], stored["certainty"]
        labels = stored["image_class"].astype(np.int64)
    attributes = published["attribute_names"].tolist()
    of = [name.split("::")[0] for name in attributes]
    groups = list(dict.fromkeys(of))
    group = np.array([groups.index(name) for name in of])
    certainty = certainty[:, [of.index(name) for name in groups]].astype(np.int64)
    percentages = published["class_attr_pct"].astype(np.float64)
    n_images, weight = np.bincount(published["image_class"]), WEIGHT[certainty]
    totals, ambiguous = np.zeros((len(percentages), len(groups))), 0
    for c in range(len(totals)):
        rows = labels == c
        for g in range(len(groups)):
            some, mine = group == g, weight[rows, g]
            own = (mine[:, None] * yes[rows][:, some]).sum(axis=0)
            expected = (mine.sum() + 5 * weight[:, g].mean()) / (len(mine) + 5) * n_images[c]
            totals[c, g], n = recover_totals(percentages[c, some], n_images[c], mine.sum(), own, expected)
            ambiguous += n > 1
    counts = np.round(percentages / 100 * totals[:, group])
    return Answers(
        yes.astype(np.float64), certainty, labels, group, counts, totals, percentages,
        tuple(attributes), tuple(groups), tuple(published["class_names"].tolist()), ambiguous,
    )  # fmt: skip
