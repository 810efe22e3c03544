"""Ten thousand requests that no client should send, the same from the same seed.

Some are HTTP that is broken; others are as they should be with something else wrong: the path, the method, the headers,
the bytes of the body, or JSON that does not fit. A few turn out to be valid after all, and are then answered.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.serving.hostile_http import (
    ANSWERS,
    BROKEN,
    LONG,
    MODEL,
    QUERIES,
    Hostile,
    Maker,
    good_body,
    request,
)

EVERY = 60
"""One in so many has a body that is too long."""
NUMBERS = (
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "9" * 5000,
    "0.1e-999",
    "-0",
    "1" * 400,
    "1e308",
    "00",
    "0x1",
)
STRINGS = (
    "",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "ß" * 999,
    "a" * 5000,
    "'; drop table",
    "{{7*7}}",
    "../../etc/passwd",
    "é\u0301",
    "\u202e",
)
PATHS = (
    "/v1/models/../../etc/passwd",
    "/v1/models/..%2f..%2f/next",
    "/v1/models/%00/next",
    "/v1/models/%ff%fe/next",
    "/v1/models/animals%2fnext",
    "//v1//models",
    "/page/../app.py",
    "/page/%2e%2e%2fapp.py",
    "/page/....//app.py",
    "/v1/models/" + "a" * 9000,
    "/v1/models?offset=-1&limit=99999999999999999999",
    "/v1/models/animals?offset=nan",
    "/v1/models/animals?limit=1e3&limit=2&limit=%00",
    "/v1/models/animals?offset=99999999999999999999999",
    "/%",
    "/v1/models/animals/next/",
    "/openapi.json/..",
    "*",
    "http://elsewhere.example/v1/models",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "P" * 300)
TYPES = (
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "",
    "application/json; charset=utf-16",
    "a" * 500,
)


def hostile_requests(n: int, seed: int = 0) -> Iterator[Hostile]:
    """n requests, of all kinds in turn."""
    chance = random.Random(seed)
    kinds, rare = list({**BROKEN, **WRONG}.items()), list(LONG.items())
    for i in range(n):
        kind, make = rare[0] if i % EVERY == EVERY - 1 else kinds[i % len(kinds)]
        made = make(chance)
        yield made if isinstance(made, Hostile) else Hostile(kind, (made,))


def _paths(chance: random.Random) -> bytes:
    path = (
        chance.choice(PATHS)
        if chance.random() < 0.7
        else "/" + "".join(chance.choice("/.%2efa?&=#;") for _ in range(20))
    )
    return request(chance.choice(("GET", "POST")), path, json.dumps(good_body(chance)).encode())


def _methods(chance: random.Random) -> bytes:
    routes = (
        "/v1/models",
        f"/v1/models/{MODEL}",
        f"/v1/models/{MODEL}/next",
        "/healthz",
        "/metrics",
        "/",
        "/docs",
        "/nowhere",
    )
    return request(chance.choice(METHODS), chance.choice(routes), json.dumps(good_body(chance)).encode())


def _types(chance: random.Random) -> bytes:
    return request(body=json.dumps(good_body(chance)).encode(), content_type=chance.choice(TYPES))


def _not_text(chance: random.Random) -> bytes:
    body = bytearray(json.dumps(good_body(chance)).encode())
    for _ in range(chance.randint(1, 5)):
        body[chance.randrange(len(body))] = chance.randrange(256)
    codec = chance.choice(("utf-16", "utf-32", "utf-8-sig"))
    return request(body=bytes(body) if chance.random() < 0.7 else json.dumps(good_body(chance)).encode(codec))


def _deep(chance: random.Random) -> bytes:
    depth = chance.choice((50, 300, 600, 900, 950, 990, 5000, 100_000))
    inner = chance.choice(("[", '{"history":', '{"a":'))
    ends = "]" if inner == "[" else "}"
    deep = inner * depth + "0" + (ends * depth if chance.random() < 0.8 else "")
    place = chance.choice(("%s", '{"history": %s}', '{"history": [{"query": "a", "answer": %s}]}', '{"inputs": [%s]}'))
    route = "explain" if "inputs" in place else chance.choice(("next", "report"))
    return request(path=f"/v1/models/{MODEL}/{route}", body=(place % deep).encode())


def _wide(chance: random.Random) -> bytes:
    n = chance.choice((300, 20_000, 100_000))
    body = chance.choice(
        (
            '{"history": [' + "0," * n + "0]}",
            "{" + ",".join(f'"a{i}":0' for i in range(n // 2)) + "}",
            '{"inputs": [' + "[]," * n + "[]]}",
            '{"history": [{"query": "a", "answer": {' + ",".join(f'"a{i}":2' for i in range(n // 2)) + "}}]}",
            '{"history": [' + ",".join(['{"query":"a","answer":null}'] * (n // 8)) + "]}",
            '{"inputs": ["' + "a" * n + '"]}',
        )
    )
    return request(path=f"/v1/models/{MODEL}/{'explain' if 'inputs' in body else 'next'}", body=body.encode())


def _numbers(chance: random.Random) -> bytes:
    number = chance.choice(NUMBERS)
    body = chance.choice(
        (
            '{"history": [], "top": %s}',
            '{"history": [{"query": "is a bird", "answer": {"yes": %s}}]}',
            '{"inputs": [[%s]]}',
            '{"inputs": [%s]}',
            '{"history": %s}',
            '{"inputs": [{"is a bird": %s}]}',
        )
    )
    return request(
        path=f"/v1/models/{MODEL}/{'explain' if 'inputs' in body else 'next'}", body=(body % number).encode()
    )


def _anything(chance: random.Random, depth: int = 3) -> Any:
    leaves: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.random() < 0.5,
        lambda: chance.randint(-(10**18), 10**18),
        lambda: chance.uniform(-1e9, 1e9),
        lambda: chance.choice(STRINGS),
        lambda: chance.choice(QUERIES),
        lambda: chance.choice(ANSWERS),
    ]
    if depth == 0 or chance.random() < 0.5:
        return chance.choice(leaves)()
    if chance.random() < 0.5:
        return [_anything(chance, depth - 1) for _ in range(chance.randint(0, 4))]
    names = (*("history", "inputs", "query", "answer", "top", "explanation"), *STRINGS)
    return {chance.choice(names): _anything(chance, depth - 1) for _ in range(chance.randint(0, 4))}


def _wrong_kinds(chance: random.Random) -> bytes:
    """Something else in one field of a request that was good, or in all of it."""
    body: Any = good_body(chance)
    place = chance.randrange(5)
    if place == 0:
        body = _anything(chance)
    elif place == 1:
        body[chance.choice(("history", "top", "explanation", "more", ""))] = _anything(chance)
    else:
        item: Any = {"query": chance.choice(QUERIES), "answer": "yes"}
        if place == 4:
            item = _anything(chance)
        else:
            item[("query", "answer")[place - 2]] = _anything(chance)
        body["history"].append(item)
    route = chance.choice(("next", "next", "report"))
    return request(path=f"/v1/models/{MODEL}/{route}", body=json.dumps(body).encode())


def _wrong_inputs(chance: random.Random) -> bytes:
    inputs = chance.choice(
        (_anything(chance), [_anything(chance) for _ in range(chance.randint(0, 70))], [[_anything(chance, 1)] * 108])
    )
    return request(path=f"/v1/models/{MODEL}/explain", body=json.dumps({"inputs": inputs}).encode())


def _contradictions(chance: random.Random) -> bytes:
    asked = [
        {"query": chance.choice(QUERIES), "answer": chance.choice(ANSWERS)} for _ in range(chance.choice((3, 30, 300)))
    ]
    return request(
        path=f"/v1/models/{MODEL}/{chance.choice(('next', 'report'))}", body=json.dumps({"history": asked}).encode()
    )


WRONG: dict[str, Maker] = {
    "paths": _paths,
    "methods": _methods,
    "content types": _types,
    "not text": _not_text,
    "deep": _deep,
    "wide": _wide,
    "numbers": _numbers,
    "wrong kinds in a field": _wrong_kinds,
    "wrong inputs": _wrong_inputs,
    "contradictions": _contradictions,
}
