"""A server in a process of its own, as an operator starts it."""

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
            popen.terminate()  # which also stops the workers
            try:
                popen.wait(30)
            finally:
                popen.kill()


def ask(port, method, path, body=None, headers=None):
    """(status, headers, content) of one request."""
    here = http.client.HTTPConnection("127.0.0.1", port, timeout=START)
    try:
        content = None if body is None else json.dumps(body)
        here.request(method, path, content, {"content-type": "application/json", **(headers or {})})
        answer = here.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        here.close()
