"""The token that those who ask must show, where the operator wants one."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from infopursuit.server.limits import Problem

VARIABLE = "INFOPURSUIT_TOKEN"
SHAPE = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What may stand after "Bearer" (RFC 6750)."""
SHORTEST, LONGEST = 16, 512
MAKE = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'
FREE = frozenset({"/", "/docs", "/healthz", "/openapi.json"})
"""What is told to everybody: the page, which then asks for the token, and that the server is there."""
FREE_FOLDER = "/page/"


class Token:
    """What to compare with. Only a digest is kept, of one length for all, so that the time it takes tells nothing."""

    def __init__(self, text: str) -> None:
        self._digest = hashlib.sha256(text.encode()).digest()

    def check(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """`Problem` 401 where the path is not free to all and the right token does not come with it."""
        if path in FREE or path.startswith(FREE_FOLDER) or self.is_shown(headers):
            return
        remedy = "send the header Authorization: Bearer TOKEN; the operator of the server has the token"
        raise Problem(401, "this server wants a token", remedy=remedy)

    def is_shown(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the token is among the headers of a request."""
        shown = [value for name, value in headers if name == b"authorization"]
        scheme, _, given = (shown[0] if len(shown) == 1 else b"").partition(b" ")
        # compared in any case, so that a missing one takes as long as a wrong one
        same = hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)
        return same and scheme.lower() == b"bearer"


def read_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token from a file or from the environment, None where there is none; never from the command line, which
    everybody on the machine can see."""
    said = environment.get(VARIABLE)
    if file is None:
        return None if said is None else _checked(said, VARIABLE)
    if said is not None:
        raise ValueError(f"--token-file {file} and the variable {VARIABLE} both give a token; leave one of them out")
    with open(file, "rb") as stream:
        content = stream.read(LONGEST + 3)
    return _checked(content.decode("utf-8", "replace"), f"--token-file {file}")


def is_seen_by_others(file: Path) -> bool:
    """Whether other users of the machine may read a file."""
    return os.name == "posix" and bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not SHORTEST <= len(token) <= LONGEST:
        raise ValueError(
            f"the token of {where} has {len(token)} characters; use {SHORTEST} to {LONGEST}, such as {MAKE} writes"
        )
    if not SHAPE.fullmatch(token):
        raise ValueError(
            f"the token of {where} has other signs than letters, digits and -._~+/; use what {MAKE} writes"
        )
    return token
