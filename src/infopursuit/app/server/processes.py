"""Several processes of a server on one port: started, replaced where one dies, told to reload, stopped together.

They share their metrics (files that prometheus_client maps into memory) and `Readiness`; nothing else, since every
request has its whole history. Each has a listening socket of its own, among which Linux spreads connections; a socket
that all share would leave most of them to one process. A supervisor of our own: that of uvicorn makes servers of its
own kind, which do not linger when they stop, and its interface changes from version to version.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from infopursuit.app.server.observability import SHARED_METRICS, log

FAILED = 2
"""The exit code of a process that will not get further when it is started again."""
PAUSE = 1.0
"""Seconds before a process that died is replaced."""


@dataclass
class Readiness:
    """Whether the models are loaded, in each of the processes."""

    flags: MutableSequence[int] = field(default_factory=lambda: [0])
    index: int = 0

    def set(self) -> None:
        self.flags[self.index] = 1

    @property
    def all(self) -> bool:
        return all(self.flags)


def supervise(target: Callable[[socket.socket, Readiness], None], listeners: Sequence[socket.socket]) -> int:
    """Run ``target`` in a process for each listening socket, until SIGTERM (returns 0), SIGINT (`KeyboardInterrupt`),
    or until one of them ends with `FAILED`. SIGHUP is passed on."""
    from prometheus_client.multiprocess import mark_process_dead

    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads hold
    flags: Any = context.RawArray("b", len(listeners))
    processes: dict[int, BaseProcess] = {}
    code: list[int] = []  # of the end, once it has begun

    def start(index: int) -> None:
        if code:
            return
        flags[index] = 0
        process = context.Process(target=target, args=(listeners[index], Readiness(flags, index)), daemon=True)
        process.start()
        processes[index] = process
        if code:  # a signal came meanwhile
            process.terminate()

    def stop(number: int, frame: Any = None) -> None:
        code.append(number)
        for listener in listeners:
            listener.close()  # else clients would still be connected, to nobody
        for process in processes.values():
            process.terminate()

    def reload(number: int, frame: Any) -> None:
        for process in processes.values():
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, number)

    handlers: dict[int, Any] = {signal.SIGTERM: stop, signal.SIGINT: stop}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = reload
    with tempfile.TemporaryDirectory(prefix="infopursuit-metrics-") as metrics:
        os.environ[SHARED_METRICS] = metrics
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            for index in range(len(listeners)):
                start(index)
            while processes:
                wait([process.sentinel for process in processes.values()])
                for index, process in [each for each in processes.items() if each[1].exitcode is not None]:
                    mark_process_dead(process.pid, metrics)  # type: ignore[no-untyped-call]
                    del processes[index]
                    if process.exitcode == FAILED and not code:
                        stop(-FAILED)
                    elif not code:
                        log("replaced", logging.WARNING, process=process.pid, exit_code=process.exitcode)
                        time.sleep(PAUSE)
                        start(index)
        finally:
            del os.environ[SHARED_METRICS]
            for number, handler in before.items():
                signal.signal(number, handler)
    if code[0] == signal.SIGINT:
        raise KeyboardInterrupt
    return FAILED if code[0] == -FAILED else 0


def end_with_parent() -> None:
    """Let this process stop in order when its supervisor is gone, and not hold the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
