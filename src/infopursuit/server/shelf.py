"""The models that a server offers: opened at the start, from where the operator said. No request names a path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infopursuit import shipped
from infopursuit.engine import Pursuit, State
from infopursuit.queries.choices import YES_NO
from infopursuit.queries.patches import Patches
from infopursuit.storage import MANIFEST
from infopursuit.types import History

if TYPE_CHECKING:
    from cachetools import LRUCache

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CACHE_BYTES = 64 * 2**20
"""Size of the cache of states of each model."""
DIGITS = 12
"""Of the checksum that says which version of a model has answered."""
TRIES = 3
INPUTS = {"patches": "images", "words": "texts"}
"""What the inputs of a kind of queries are; all others are about rows of a table."""


@dataclass(frozen=True)
class Offer:
    """A model that can be asked, with its name and a line on what it is.

    version: the first digits of the checksum of its manifest. source: the folder that it was read from, None for one
    that comes along.
    """

    name: str
    summary: str
    pursuit: Pursuit
    version: str = "unsaved"
    source: Path | None = None

    @cached_property
    def states(self) -> LRUCache[History, State]:
        """The states of recent histories: the next request of a conversation has one answer more."""
        from cachetools import LRUCache

        return LRUCache(max(1, CACHE_BYTES // (2 * self.pursuit.posterior.row_bytes + 8192)))

    @cached_property
    def index_of(self) -> dict[str, int]:
        """The index of each query by its name."""
        return {name: i for i, name in enumerate(self.pursuit.queries.names)}

    @cached_property
    def classes(self) -> list[str]:
        """The labels, as they stand in JSON."""
        return [str(label) for label in self.pursuit.classes.tolist()]

    @cached_property
    def described(self) -> dict[str, Any]:
        """What there is to know before the first question."""
        queries = self.pursuit.queries
        return {
            "name": self.name,
            "version": self.version,
            "summary": self.summary,
            "kind": queries.kind,
            "inputs": INPUTS.get(queries.kind, "rows"),
            "classes": self.classes,
            "n_queries": len(queries),
            "yes_no": all(tuple(queries.choices(q)) == YES_NO for q in range(len(queries)))
            if queries.width == 1
            else False,
            "image": _image(queries) if isinstance(queries, Patches) else None,
            "stopping": str(self.pursuit.stopping),
            "exact_gains": self.pursuit.chooser.exact,
        }


def open_shelf(named: Sequence[str], folder: Path | None = None) -> dict[str, Offer]:
    """The models that were named (one that comes along, FOLDER, or NAME=FOLDER), and all in the subfolders of a folder;
    where nothing is named, those that come along."""
    shelf: dict[str, Offer] = {}
    wanted = [_read(text) for text in named]
    if folder is not None:
        if not folder.is_dir():
            raise ValueError(f"--models-dir {folder} is not a folder; give one whose subfolders are saved models")
        found = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
        if not found:
            raise ValueError(f"--models-dir {folder} has no subfolder with a {MANIFEST}; save models into it first")
        wanted += [(path.name, path) for path in found]
    if not named and folder is None:
        wanted = [(name, None) for name in shipped.names()]
    for name, path in wanted:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} does not serve as the name of a model; say NAME={path} with letters, digits, '.', '_' or '-'"
            )
        if name in shelf:
            raise ValueError(f"two models are called {name!r}; say NAME=FOLDER to give one another name")
        shelf[name] = _open(name, path)
    return shelf


def _read(text: str) -> tuple[str, Path | None]:
    """A name and a folder, None for a model that comes along."""
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        return name, Path(path)
    if text in shipped.names():
        return text, None
    if not Path(text).is_dir():
        raise ValueError(
            f"{text!r} is neither a folder nor one of the models that come along ({', '.join(shipped.names())})"
        )
    return Path(text).resolve().name, Path(text)


def _open(name: str, path: Path | None) -> Offer:
    if path is not None:
        return open_folder(name, path)
    thing = shipped.load(name)
    pursuit = thing if isinstance(thing, Pursuit) else thing.pursuit_
    return Offer(name, shipped.summary(name), pursuit, shipped.fingerprint(name)[:DIGITS])


def open_folder(name: str, path: Path) -> Offer:
    """The model in a folder, and its version; read again where somebody saved another one meanwhile."""
    for tried in range(TRIES):
        version = version_of(path)
        try:
            thing = shipped.open_model(path)
        except (ValueError, OSError):
            if tried + 1 < TRIES and version_of(path) != version:
                continue
            raise
        if version_of(path) == version:
            break
    else:
        raise ValueError(f"{path} is written again and again while it is read; try later")
    pursuit = thing if isinstance(thing, Pursuit) else thing.pursuit_
    summary = f"{len(pursuit.classes)} classes told apart by {len(pursuit.queries)} {pursuit.queries.kind}"
    return Offer(name, summary, pursuit, version, path)


def version_of(path: Path) -> str:
    """The first digits of the checksum of a manifest; nothing where there is none."""
    try:
        with open(path / MANIFEST, "rb") as manifest:
            return hashlib.file_digest(manifest, "sha256").hexdigest()[:DIGITS]
    except OSError:
        return ""


def _image(queries: Patches) -> dict[str, Any]:
    return {
        "shape": list(queries.shape),
        "patch": list(queries.size),
        "stride": list(queries.stride),
        "threshold": queries.threshold,
    }
