"""HTTP that is broken somewhere, each a few writes to a raw connection."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODEL = "animals"
QUERIES = ("is a mammal", "is a bird", "has fur", "can fly", "has feathers")
ANSWERS = ("yes", "no", None)
LONG_HEAD, LONG_BODY = 70_000, 1_200_000
"""Bytes, above what a server takes."""
NEXT = f"POST /v1/models/{MODEL}/next HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"


@dataclass(frozen=True)
class Hostile:
    """What is written to a connection, part by part; ``closes``: whether the client then says that it is done;
    ``wait``: seconds between two parts; ``waits_for_answer``: False for one that goes away at once."""

    kind: str
    parts: tuple[bytes, ...]
    closes: bool = False
    wait: float = 0.0
    waits_for_answer: bool = True


def request(
    method: str = "POST",
    path: str = f"/v1/models/{MODEL}/next",
    body: bytes = b"",
    *,
    content_type: str = "application/json",
    more: bytes = b"",
    length: int | None = None,
) -> bytes:
    """A request as bytes; ``length``: what it says of its body where that is not true."""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: {content_type}\r\n"
    told = f"content-length: {len(body) if length is None else length}\r\n"
    return head.encode("utf-8", "surrogatepass") + told.encode() + more + b"\r\n" + body


def good_body(chance: random.Random) -> dict[str, Any]:
    """What a client would send."""
    asked = chance.sample(QUERIES, chance.randint(0, 4))
    return {
        "history": [{"query": query, "answer": chance.choice(ANSWERS)} for query in asked],
        "top": chance.randint(0, 20),
    }


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randint(1, 3000)) + b"\r\n\r\n"


def _request_line(chance: random.Random) -> bytes:
    line = chance.choice(
        (
            b"GET",
            b"GET /",
            b"GET / HTTP/9.9",
            b"GET  / HTTP/1.1",
            b"/ GET HTTP/1.1",
            b"GET / HTTP/1.1 more",
            b"",
            b"\x16\x03\x01\x02",
            b"PRI * HTTP/2.0",
            b"GET /\xc3\xa4 HTTP/1.1",
            b"GET /\x00 HTTP/1.1",
            b"GET / http/1.1",
            b"GET /" + b"a" * LONG_HEAD + b" HTTP/1.1",
        )
    )
    return line + b"\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"


def _headers(chance: random.Random) -> bytes:
    more = chance.choice(
        (
            b"x: " + b"a" * LONG_HEAD,
            b"x\r\n",
            b": empty\r\n",
            b"bad name: x\r\n",
            b"x:\x00y\r\n",
            b" folded: x\r\n",
            b"x: a\nb: c\r\n",
            b"".join(b"x%d: y\r\n" % i for i in range(5000)),
            b"host: other\r\n",
            b"content-length: 5\r\n",
            b"transfer-encoding: chunked\r\n",
            b"expect: 100-continue\r\n",
            b"expect: 200-tea\r\n",
            b"upgrade: websocket\r\nconnection: upgrade\r\n",
            b"x: \xff\xfe\r\n",
            b"authorization: Bearer " + b"x" * 3000 + b"\r\n",
            b"if-none-match: " + b'"a",' * 2000 + b"\r\n",
            b"range: bytes=0-1,5-9,-1\r\n",
        )
    )
    return request(body=json.dumps(good_body(chance)).encode(), more=more)


def _lengths(chance: random.Random) -> Hostile:
    body = json.dumps(good_body(chance)).encode()
    told = chance.choice(("-1", "1e3", "0x10", "", "9" * 30, " 5 5", str(len(body) - 3), "+7", "5, 5", "٣"))
    head = f"{NEXT}content-length: {told}\r\n\r\n"
    return Hostile("lengths that are not true", (head.encode() + body,), closes=chance.random() < 0.5)


def _chunks(chance: random.Random) -> Hostile:
    body = json.dumps(good_body(chance)).encode()
    chunked = chance.choice(
        (
            b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
            b"zz\r\n" + body,
            b"-5\r\n" + body,
            b"5\r\n" + body,
            b"f" * 40 + b"\r\n" + body,
            b"1;" + b"x" * 50_000 + b"\r\na\r\n0\r\n\r\n",
            b"%x\r\n%b0\r\n\r\n" % (len(body), body),
            chance.randbytes(400),
            b"%x\r\n%b\r\n0\r\nx: y\r\nbad trailer\r\n\r\n" % (len(body), body),
        )
    )
    head = f"{NEXT}transfer-encoding: chunked\r\n\r\n"
    return Hostile("chunks that are none", (head.encode(), chunked), closes=True)


def _halves(chance: random.Random) -> Hostile:
    whole = request(body=json.dumps(good_body(chance)).encode())
    cut = chance.randint(1, len(whole) - 1)
    return Hostile("cut off in the middle", (whole[:cut],), closes=True)


def _leaving(chance: random.Random) -> Hostile:
    whole = request(body=json.dumps(good_body(chance)).encode())
    return Hostile("gone before the answer", (whole,), waits_for_answer=False)


def _pipelined(chance: random.Random) -> Hostile:
    one = request(body=json.dumps(good_body(chance)).encode()).replace(b"connection: close\r\n", b"")
    return Hostile("several at once", (one * chance.randint(2, 5) + request("GET", "/healthz"),))


def _too_long(chance: random.Random) -> Hostile:
    filler = chance.choice((b" ", b"[", b"{", b'"', b"0,", b"\x00"))
    body = (filler * LONG_BODY)[:LONG_BODY]
    if chance.random() < 0.5:
        return Hostile("bodies that are too long", (request(body=body),))
    head = f"{NEXT}transfer-encoding: chunked\r\n\r\n"
    chunked = b"%x\r\n%b\r\n" % (len(body), body)
    return Hostile("bodies that are too long", (head.encode(), chunked + b"0\r\n\r\n"))


Maker = Callable[[random.Random], bytes | Hostile]
BROKEN: dict[str, Maker] = {
    "noise": _noise,
    "request lines": _request_line,
    "headers": _headers,
    "lengths that are not true": _lengths,
    "chunks that are none": _chunks,
    "cut off in the middle": _halves,
    "gone before the answer": _leaving,
    "several at once": _pipelined,
}
LONG: dict[str, Maker] = {"bodies that are too long": _too_long}
"""Made now and then only, since each is more than a megabyte."""


def slow_ones(n: int, seconds: float) -> list[Hostile]:
    """Clients that send a byte of a body now and then, so as to hold a connection for ever.

    Slow request heads are left to a reverse proxy.
    """
    body = request(body=b"", length=500)
    drip = tuple(b"a" for _ in range(max(2, round(2 * seconds))))
    return [Hostile("too slow", (body, *drip), wait=1.0) for _ in range(n)]
