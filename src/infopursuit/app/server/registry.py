"""The models of a server: loaded from where the operator said, and loaded again when saved anew."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from infopursuit.app import shipped
from infopursuit.app.server.limits import limit_torch
from infopursuit.app.server.observability import log
from infopursuit.estimator.storage import from_files_for_command
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import State
from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import YES_NO
from infopursuit.saving.files import MANIFEST, read_manifest, read_model
from infopursuit.support.types import History

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
STATE_BYTES, GAIN_BYTES = 32 * 2**20, 8 * 2**20
"""What is remembered of each model: states of recent histories, and gains, enough for a hundred conversations."""
RELOAD_INTERVAL = 1.0
MAX_REASON = 300


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
        return "case" if getattr(queries, "base", queries).tabular and self.pursuit.learnt else "game"

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
    """What loads the models that were named (one of the package, FOLDER, or NAME=FOLDER), and all in the subfolders of
    a folder; those of the package where nothing is named. Manifests are checked at once, tensors when they are read."""
    models: dict[str, Loader] = {}
    wanted = [_parse(text) for text in named]
    if folder is not None:
        if not folder.is_dir():
            raise ValueError(f"--models-dir {folder} is not a folder; give one whose subfolders are saved models")
        found = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
        if not found:
            raise ValueError(f"--models-dir {folder} has no subfolder with a {MANIFEST}; save models into it first")
        wanted += [(path.name, path) for path in found]
    for name, path in wanted if named or folder is not None else [(name, None) for name in shipped.names()]:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid model name; say NAME={path} with letters, digits, '.', '_', '-'")
        if name in models:
            raise ValueError(f"two models are called {name!r}; say NAME=FOLDER to rename one")
        if path is not None:
            read_manifest(shipped.check_folder(path))
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


def version_of(path: Path) -> str:
    """The first digits of the checksum of a manifest; empty where there is none."""
    try:
        return shipped.version(path)
    except OSError:
        return ""


class Reloader:
    """Replaces models that were saved anew. Running requests go on with the version that they began with.

    always: check the folders every second; else only after `trigger`, as SIGHUP does.
    """

    def __init__(self, models: dict[str, ServedModel], *, always: bool) -> None:
        self.models, self.always = models, always
        self._seen: dict[str, Any] = {}
        self._triggered = asyncio.Event()

    def trigger(self) -> None:
        self._triggered.set()

    async def run(self, prepare: Callable[[ServedModel], None]) -> None:
        """Check until cancelled. ``prepare``: warms a model up before it serves; if it fails, the old one stays."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._triggered.wait(), RELOAD_INTERVAL if self.always else None)
            triggered = self._triggered.is_set()
            self._triggered.clear()
            for old in [model for model in self.models.values() if model.source is not None]:
                await asyncio.to_thread(self._check, old, triggered, prepare)

    def _check(self, old: ServedModel, triggered: bool, prepare: Callable[[ServedModel], None]) -> None:
        assert old.source is not None
        stat = _stat(old.source)
        if not triggered and stat == self._seen.get(old.name):
            return
        self._seen[old.name] = stat
        limit_torch()
        try:
            if version_of(old.source) == old.version:
                if triggered:
                    log("unchanged", model=old.name, version=old.version)
                return
            new = load_folder(old.name, old.source)
            prepare(new)
        except Exception as error:  # whatever a folder holds, the old model stays
            kind, reason = type(error).__name__, " ".join(str(error).split())[:MAX_REASON]
            log("refused", logging.WARNING, model=old.name, kept=old.version, error=kind, reason=reason)
            return
        self.models[old.name] = new
        log("reloaded", model=old.name, version=new.version, before=old.version)


def _stat(folder: Path) -> tuple[tuple[str, int, int, int], ...] | None:
    """Names, times and sizes of the files, also of tensors, which may be copied after the manifest that names them."""
    try:
        with os.scandir(folder) as files:
            found = [(file.name, file.stat()) for file in files if file.is_file()]
    except OSError:
        return None
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in found))
