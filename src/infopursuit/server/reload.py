"""Models that were saved anew are taken up: read beside the old one, tried, and put in its place in one step."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from infopursuit.server.logs import log
from infopursuit.server.shelf import Offer, open_folder, version_of

EVERY = 1.0
"""Seconds from one look at the folders to the next."""
SHOWN = 300
"""Characters of the reason why a folder was refused."""


class Watch:
    """Looks after the folders of a shelf. Requests that have begun go on with the version that they began with.

    always: look every second; else only when told by `now`, as SIGHUP does.
    """

    def __init__(self, shelf: dict[str, Offer], *, always: bool) -> None:
        self.shelf, self.always = shelf, always
        self._seen: dict[str, Any] = {}
        self._called = asyncio.Event()

    def now(self) -> None:
        """Look at once, also at folders that seem to be as they were."""
        self._called.set()

    async def run(self, prepare: Callable[[Offer], None]) -> None:
        """Look until cancelled. ``prepare``: what is done with a model before it is asked; if it fails, all is kept."""
        pool = ThreadPoolExecutor(1, "reload", initializer=torch.set_num_threads, initargs=(1,))
        try:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._called.wait(), EVERY if self.always else None)
                called = self._called.is_set()
                self._called.clear()
                for name in [name for name, offer in self.shelf.items() if offer.source is not None]:
                    await self._look(name, called, prepare, pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    async def _look(self, name: str, called: bool, prepare: Callable[[Offer], None], pool: ThreadPoolExecutor) -> None:
        old, loop = self.shelf[name], asyncio.get_running_loop()
        assert old.source is not None
        stamp = await loop.run_in_executor(pool, _stamp, old.source)
        if not called and stamp == self._seen.get(name):
            return
        self._seen[name] = stamp
        try:
            new = await loop.run_in_executor(pool, _open_new, old, prepare)
        except Exception as error:  # whatever a folder holds, the old model stays
            reason = " ".join(str(error).split())[:SHOWN]
            log("refused", logging.WARNING, model=name, kept=old.version, error=type(error).__name__, reason=reason)
            return
        if new is None:
            if called:
                log("unchanged", model=name, version=old.version)
            return
        self.shelf[name] = new
        log("reloaded", model=name, version=new.version, before=old.version)


def _open_new(old: Offer, prepare: Callable[[Offer], None]) -> Offer | None:
    """The model that is in the folder now, ready to be asked; None where it is the one that is known."""
    assert old.source is not None
    if version_of(old.source) == old.version:
        return None
    new = open_folder(old.name, old.source)
    prepare(new)
    return new


def _stamp(folder: Path) -> tuple[tuple[str, int, int, int], ...] | None:
    """What changes when something in a folder does: names, times, sizes. Also of the tensors, which may be copied after
    the manifest that names them."""
    try:
        with os.scandir(folder) as files:
            found = [(file.name, file.stat()) for file in files if file.is_file()]
    except OSError:
        return None
    return tuple(sorted((name, told.st_mtime_ns, told.st_size, told.st_ino) for name, told in found))
