"""Who may ask: bearer token, host names, and the security headers of every response."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from infopursuit.app.server.errors import Problem

VARIABLE = "INFOPURSUIT_TOKEN"
SHAPE = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # what may stand after "Bearer" (RFC 6750)
SHORTEST, LONGEST = 16, 512
GENERATE = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'
PUBLIC = frozenset({"/", "/docs", "/healthz", "/openapi.json", "/readyz"})  # and /page/, which asks for the token
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:\d{1,5})?")
EXPOSED = "x-model-version, x-request-id, retry-after"
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "600",
    "content-length": "0",
}


@dataclass(frozen=True)
class Embedding:
    """Which other origins, such as https://example.org, may ask the API (CORS), and which may show the page in a frame.

    >>> Embedding(frozenset({"https://example.org"})).headers(b"https://example.org")["access-control-allow-origin"]
    'https://example.org'
    """

    origins: frozenset[str] = frozenset()
    ancestors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for origin in (*self.origins, *self.ancestors):
            if not ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin; give scheme, host and port alone: https://example.org:8443")

    def headers(self, origin: bytes | None) -> dict[str, str]:
        """The security headers of a response to a request from an origin."""
        found = {**HEADERS, "content-security-policy": POLICY + (" ".join(("'self'", *self.ancestors)))}
        if not self.ancestors:
            found |= {"content-security-policy": f"{POLICY}'none'", "x-frame-options": "DENY"}
        if self.origins:
            found["vary"] = "origin"
        if origin is not None and (shown := origin.decode("latin-1")) in self.origins:
            found |= {"access-control-allow-origin": shown, "access-control-expose-headers": EXPOSED}
        return found


class Token:
    """A bearer token, kept as a digest and compared in constant time."""

    def __init__(self, text: str) -> None:
        self._digest = hashlib.sha256(text.encode()).digest()

    def check(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """`Problem` 401 where a path is not public and the headers lack the token."""
        if path in PUBLIC or path.startswith("/page/") or self.matches(headers):
            return
        remedy = "send the header Authorization: Bearer TOKEN; the operator of the server has the token"
        raise Problem(401, "a token is required", remedy=remedy)

    def matches(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the headers of a request have the token."""
        shown = [value for name, value in headers if name == b"authorization"]
        scheme, _, given = (shown[0] if len(shown) == 1 else b"").partition(b" ")
        # compared in any case, so that a missing token takes as long as a wrong one
        same = hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)
        return same and scheme.lower() == b"bearer"


def read_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token from a file or from the environment, None without one; never from the command line, which every user
    of the machine can see."""
    text, source = environment.get(VARIABLE), VARIABLE
    if file is not None:
        if text is not None:
            raise ValueError(f"--token-file {file} and the variable {VARIABLE} both give a token; give one of them")
        with open(file, "rb") as stream:
            text, source = stream.read(LONGEST + 3).decode("utf-8", "replace"), f"--token-file {file}"
    if text is None:
        return None
    token = text.strip()
    if not SHORTEST <= len(token) <= LONGEST or not SHAPE.fullmatch(token):
        raise ValueError(
            f"the token of {source} has {len(token)} characters; use {SHORTEST} to {LONGEST} letters, digits and "
            f"-._~+/, such as {GENERATE} writes"
        )
    return token


def is_readable_by_others(file: Path) -> bool:
    """Whether other users of the machine may read a file."""
    return os.name == "posix" and bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_exposure(host: str, *, has_token: bool, open_to_all: bool) -> None:
    """`ValueError` where other machines could ask without a token and without ``--open``."""
    if not (is_local(host) or has_token or open_to_all):
        raise ValueError(
            f"--host {host} is reachable from other machines; give --token-file FILE (or the variable {VARIABLE}) to "
            f"require a token, or --open to let everybody ask"
        )


def check_host(headers: Iterable[tuple[bytes, bytes]], hosts: frozenset[str] | None) -> None:
    """`Problem` 421 for a Host header that is not allowed: on loopback this prevents DNS rebinding."""
    host = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    if hosts is not None and name.lower() not in hosts:
        remedy = f"use one of {', '.join(sorted(hosts))}, or start the server with another --host"
        raise Problem(421, "unknown host name", field="Host", value=host, remedy=remedy)
