"""A server in a process of its own, as an operator starts it, and clients that ask it without pause."""

import contextlib
import http.client
import json
import re
import subprocess
import sys
import threading
import time

START = 90


class Process:
    """A running server: its address, and what it has written to stderr so far."""

    def __init__(self, popen, port):
        self.popen, self.port = popen, port
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with contextlib.suppress(ValueError):  # closed, while processes of its own still have it
            for line in self.popen.stderr:
                self.lines.append(line)

    def ended(self):
        """The exit code, when all that was written has been read."""
        code = self.popen.wait(60)
        self._reader.join(10)
        return code

    def wait_until_ready(self):
        """Until all models are loaded, in all processes of the server."""
        end = time.monotonic() + START
        while True:
            with contextlib.suppress(OSError):
                if ask(self.port, "GET", "/readyz")[0] == 200:
                    return
            assert time.monotonic() < end, self.lines[-5:]
            assert self.popen.poll() is None, self.lines[-5:]
            time.sleep(0.05)

    def wait_for(self, words, n=1):
        """Until so many lines have the words; fails where they do not come."""
        for _ in range(1200):
            if sum(words in line for line in self.lines) >= n:
                return
            time.sleep(0.05)
        raise AssertionError(f"{words!r} was not logged {n} times: {self.lines[-5:]}")


@contextlib.contextmanager
def process(*arguments, env=None):
    """``infopursuit serve`` with some arguments, on a free port, ready to answer."""
    command = [sys.executable, "-m", "infopursuit", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as popen:
        try:
            told = ""
            for line in popen.stdout:
                told += line
                if found := re.search(r"open http://[^:]+:(\d+)/", line):
                    break
            else:
                raise AssertionError(f"did not start: {told} {popen.stderr.read()}")
            server = Process(popen, int(found[1]))
            server.wait_until_ready()
            yield server
        finally:
            popen.kill()


def ask(port, method, path, body=None, headers=None, line=None):
    """(status, headers, content) of one request; ``line``: a connection to use again."""
    here = line or http.client.HTTPConnection("127.0.0.1", port, timeout=START)
    try:
        content = None if body is None else json.dumps(body)
        here.request(method, path, content, {"content-type": "application/json", **(headers or {})})
        answer = here.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        if line is None:
            here.close()


class Crowd:
    """Clients that ask one thing after the other, each on a connection that it keeps while it may.

    ``answers`` has (status, headers, content, what was sent); ``failed`` what went wrong after a request was sent;
    ``refused`` counts connections that were not taken, after which a client goes home: refused at once, or reset with
    their first request, because they waited in the queue of a socket that was closed.
    """

    def __init__(self, port, n, path, bodies):
        self.port, self.path, self.bodies = port, path, bodies
        self.answers, self.failed, self.refused = [], [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._client, args=(i,), daemon=True) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Everybody ends after the request that is under way."""
        self.over.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()

    def _client(self, i):
        line, n, fresh = None, 0, True
        while not self.over.is_set():
            try:
                if line is None:
                    line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                    line.connect()
                    fresh = True
            except OSError:
                self.refused += 1
                line.close()
                return
            try:
                body = self.bodies[(i + n) % len(self.bodies)]
                answer = ask(self.port, "POST", self.path, body, line=line)
            except (OSError, http.client.HTTPException) as error:
                if fresh and isinstance(error, ConnectionResetError):
                    self.refused += 1
                else:
                    self.failed.append(repr(error))
                line.close()
                return
            n, fresh = n + 1, False
            self.answers.append((*answer, json.dumps(body)))
            if answer[1].get("connection") == "close":
                line.close()
                line = None
        if line is not None:
            line.close()
