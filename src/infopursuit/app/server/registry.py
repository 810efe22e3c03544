"""The models of a server: found where the operator said, and loaded one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from infopursuit.app import shipped
from infopursuit.estimator.storage import from_files_for_command
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import State
from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import YES_NO
from infopursuit.saving.files import MANIFEST, read_model
from infopursuit.support.types import History

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
STATE_BYTES, GAIN_BYTES = 32 * 2**20, 8 * 2**20
"""What is remembered of each model: states of recent histories, and gains, enough for a hundred conversations."""


@dataclass(frozen=True)
class ServedModel:
    """A loaded model. version: the first digits of the checksum of its manifest. source: the folder that it was read
    from, None for one that is part of the package. classifier: that it is of, which knows on what it was calibrated."""

    name: str
    summary: str
    pursuit: Pursuit[Any]
    version: str = "unsaved"
    source: Path | None = None
    classifier: Any = None

    @cached_property
    def states(self) -> LRUCache[tuple[History, History], State[Any]]:
        """Of recent histories: the next request of a conversation has one answer more."""
        bytes_per_state = self.pursuit.belief.capabilities.bytes_per_history + 8192
        return LRUCache(max(1, STATE_BYTES // bytes_per_state))

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.pursuit.queries.names)}

    @cached_property
    def classes(self) -> list[str]:
        return [str(label) for label in self.pursuit.classes.tolist()]

    @cached_property
    def topics(self) -> Sequence[tuple[str, str]]:
        return self.pursuit.queries.topics

    @property
    def mode(self) -> str:
        """ "case" where rows of a table were learnt from, "game" where facts were stated, and for images and texts."""
        queries = self.pursuit.queries
        return "case" if queries.ungrouped.tabular and self.pursuit.learnt else "game"

    @cached_property
    def info(self) -> dict[str, Any]:
        """The model as JSON data (`schemas.ModelInfo`)."""
        queries = self.pursuit.queries
        image = None
        if isinstance(queries, Patches):
            sizes = {"shape": queries.shape, "patch": queries.size, "stride": queries.stride}
            kinds = {"threshold": queries.threshold, "levels": queries.n_levels, "channels": queries.channels}
            image = {**{name: list(size) for name, size in sizes.items()}, **kinds}
        return {
            "name": self.name, "version": self.version, "summary": self.summary, "classes": self.classes,
            "kind": queries.kind, "inputs": {"patches": "images", "words": "texts"}.get(queries.kind, "rows"),
            "n_queries": len(queries), "image": image,
            "yes_no": queries.width == 1 and all(tuple(queries.choices(q)) == YES_NO for q in range(len(queries))),
            "stopping": str(self.pursuit.stopping), "exact_gains": self.pursuit.exact_gains,
            "mode": self.mode, "label_name": self.pursuit.label_name,
        }  # fmt: skip


Loader = Callable[[], ServedModel]


def find_models(named: Sequence[str], folder: Path | None = None) -> dict[str, Loader]:
    """What loads each model of the server.

    Parameters
    ----------
    named : sequence of str
        Each the name of a shipped model, ``FOLDER``, or ``NAME=FOLDER``.
    folder : Path or None, default=None
        Every saved model in its subfolders is served too.

    Without arguments these are all shipped models whose optional packages are installed. Files are read and checked at
    once, so that a damaged model is reported before the server listens.
    """
    models: dict[str, Loader] = {}
    wanted = [_parse(text) for text in named]
    if folder is not None:
        if not folder.is_dir():
            raise ValueError(f"--models-dir {folder} is not a folder; give one whose subfolders are saved models")
        found = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
        if not found:
            raise ValueError(f"--models-dir {folder} has no subfolder with a {MANIFEST}; save models into it first")
        wanted += [(path.name, path) for path in found]
    if not named and folder is None:
        wanted = [(name, None) for name in shipped.names() if shipped.is_usable(name)]

    for name, path in wanted:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid model name; say NAME={path} with letters, digits, '.', '_', '-'")
        if name in models:
            raise ValueError(f"two models are called {name!r}; say NAME=FOLDER to rename one")
        if path is None and not shipped.is_usable(name):
            raise ImportError(f"the model {name} needs numba; pip install 'infopursuit[images]'")
        if path is not None:
            read_model(shipped.check_folder(path))
        models[name] = partial(load_shipped, name) if path is None else partial(load_folder, name, path)
    return models


def load_models(named: Sequence[str], folder: Path | None = None) -> dict[str, ServedModel]:
    """The same, loaded."""
    return {name: load() for name, load in find_models(named, folder).items()}


def load_shipped(name: str) -> ServedModel:
    """A model of the package."""
    return served(name, shipped.load(name), shipped.summary(name), shipped.version(name))


def _parse(text: str) -> tuple[str, Path | None]:
    """A name and a folder, None for a model of the package."""
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        return name, Path(path)
    if text in shipped.names():
        return text, None
    if not Path(text).is_dir():
        raise ValueError(f"{text!r} is neither a folder nor a model of the package ({', '.join(shipped.names())})")
    return Path(text).resolve().name, Path(text)


def load_folder(name: str, path: Path) -> ServedModel:
    """Load the model in a folder, and its version."""
    files = read_model(shipped.check_folder(path))
    version = files.checksum[: shipped.VERSION_DIGITS]
    return served(name, from_files_for_command(files), version=version, source=path)


def served(
    name: str, thing: Any, summary: str = "", version: str = "unsaved", source: Path | None = None
) -> ServedModel:
    """A pursuit or a fitted classifier as a server has it; its gains are remembered within `GAIN_BYTES`."""
    pursuit = (thing if isinstance(thing, Pursuit) else thing.pursuit_).clear_cache(GAIN_BYTES)
    told = summary or f"{len(pursuit.classes)} classes told apart by {len(pursuit.queries)} {pursuit.queries.kind}"
    return ServedModel(name, told, pursuit, version, source, thing)
