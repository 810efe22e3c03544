"""The settings of a server, and how its worker processes receive them.

uvicorn starts its workers as new processes that import the application. They read the settings from an environment
variable, and the token from where the operator put it: it is in no settings and on no command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infopursuit.app.server import security
from infopursuit.app.server.limits import Limits
from infopursuit.app.server.observability import QUIET, configure_logging

if TYPE_CHECKING:
    from fastapi import FastAPI

FACTORY = "infopursuit.app.server.settings:app_from_environment"
VARIABLE = "INFOPURSUIT_SERVER"
HEAD_BYTES = 16 * 2**10
"""Maximum size of a request line with all its headers."""
HEALTH_CHECK = 60
"""Seconds without a reply after which uvicorn replaces a worker; compiling a model keeps a worker busy."""


@dataclass(frozen=True)
class Settings:
    """What a process of the server needs to know to build the application.

    Parameters
    ----------
    models : tuple of str, default=()
        As on the command line: names of shipped models, ``FOLDER``, or ``NAME=FOLDER``.
    models_dir : str or None, default=None
        Every saved model in the subfolders of this folder is served too.
    host : str, default="127.0.0.1"
        The address that the server listens on.
    token_file : str or None, default=None
        The file with the bearer token.
    allowed_origins : tuple of str, default=()
        Origins whose pages may ask the API.
    frame_ancestors : tuple of str, default=()
        Origins whose pages may show the page in a frame.
    allow_fit : bool, default=False
        Whether visitors may upload tables.
    log : str, default="quiet"
        The style of the log.
    limits : Limits
        Bounds on requests.
    """

    models: tuple[str, ...] = ()
    models_dir: str | None = None
    host: str = "127.0.0.1"
    token_file: str | None = None
    allowed_origins: tuple[str, ...] = ()
    frame_ancestors: tuple[str, ...] = ()
    allow_fit: bool = False
    log: str = QUIET
    limits: Limits = field(default_factory=Limits)

    @property
    def embedding(self) -> security.Embedding:
        """Other origins that may ask; raises `ValueError` for a text that is not an origin."""
        return security.Embedding(frozenset(self.allowed_origins), self.frame_ancestors)

    @property
    def token(self) -> str | None:
        """The token from the file or from the environment variable."""
        return security.read_token(None if self.token_file is None else Path(self.token_file))

    def to_json(self) -> str:
        """The settings as text for an environment variable.

        >>> Settings.from_json(Settings(models=("animals",)).to_json()).models
        ('animals',)
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote."""
        values = json.loads(text)
        limits = Limits(**values.pop("limits"))
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}

        return cls(limits=limits, **values)

    def create_app(self) -> FastAPI:
        """The application; its models load in the background."""
        from infopursuit.app.server.app import create_app
        from infopursuit.app.server.registry import find_models

        folder = None if self.models_dir is None else Path(self.models_dir)
        hosts = frozenset({*security.LOCAL_HOSTS, self.host}) if security.is_local(self.host) else None
        token = self.token

        return create_app(
            {},
            self.limits,
            loaders=find_models(self.models, folder),
            hosts=hosts,
            token=security.Token(token) if token else None,
            embedding=self.embedding,
            fit=self.allow_fit,
        )


def app_from_environment(environment: Mapping[str, str] = os.environ) -> FastAPI:
    """The application of one process of the server, from the settings in the environment.

    Any ASGI server can run it: ``uvicorn --factory infopursuit.app.server.settings:app_from_environment``.
    """
    settings = Settings.from_json(environment.get(VARIABLE) or Settings().to_json())
    configure_logging(settings.log)

    return settings.create_app()


def uvicorn_options(limits: Limits) -> dict[str, Any]:
    """The arguments of uvicorn that enforce the limits on connections."""
    return {
        "http": "h11",  # which bounds the size of a request head
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "h11_max_incomplete_event_size": HEAD_BYTES,
        "limit_concurrency": limits.max_connections,
        "timeout_keep_alive": limits.keep_alive,
        "timeout_graceful_shutdown": limits.grace,
        "timeout_worker_healthcheck": HEALTH_CHECK,
    }
