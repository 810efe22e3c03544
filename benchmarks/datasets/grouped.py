"""A data set whose inputs belong together in groups, have names of their own, or were drawn from a law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.app.datasets.dataset import Dataset, refuse


@dataclass(frozen=True, eq=False, repr=False)
class GroupedDataset(Dataset):
    """A `Dataset` with more about its inputs.

    groups_train, groups_test: (B,) numbers, the same for inputs that belong together, such as two copies of a headline;
    a group is never in both parts. None: every input stands for itself. ids_train, ids_test: (B,) what each input is
    called, where it has a name. simulated: True when the inputs were drawn from a law, not observed.
    """

    groups_train: Any = None
    groups_test: Any = None
    ids_train: Any = None
    ids_test: Any = None
    simulated: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for part, n in (("train", len(self.x_train)), ("test", len(self.x_test))):
            for what in ("groups", "ids"):
                extra, other = getattr(self, f"{what}_{part}"), getattr(self, f"{what}_train")
                alone = (extra is None) != (other is None)
                refuse(alone, f"{what}_train and {what}_test go together; give both or neither")
                wrong = extra is not None and np.shape(extra) != (n,)
                refuse(wrong, f"{what}_{part} has shape {np.shape(extra)}; expected one for each of {n}")
        if self.groups_train is not None:
            shared = np.intersect1d(self.groups_train, self.groups_test)
            refuse(len(shared), f"group {''.join(map(str, shared[:1]))} is in both parts; keep it in one")

    def __repr__(self) -> str:
        said = super().__repr__()
        return f"{said[:-1]}, simulated>" if self.simulated else said
