"""What ``infopursuit --version`` prints: versions, the platform, and which extras are installed."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from infopursuit import __version__

__all__ = ["describe_installation"]

EXTRAS = ("cluster", "images", "networks", "notebook", "plots", "report", "server", "tables", "text")
"""The extras for users; the others are for developers."""


def describe_installation() -> str:
    """The version of infopursuit, of Python and of the dependencies, then the extras, in four lines or fewer."""
    dependencies = [f"{name} {installed_version(name) or 'missing'}" for name in required_packages("")]
    missing = {name: [each for each in required_packages(name) if not installed_version(each)] for name in EXTRAS}
    installed = [name for name in EXTRAS if not missing[name]]
    absent = [f"{name} (needs {', '.join(packages)})" for name, packages in missing.items() if packages]

    lines = [f"infopursuit {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    if dependencies:  # a checkout that was not installed has no metadata
        lines += [", ".join(dependencies), f"extras: {', '.join(installed) or 'none'}"]
    if absent:
        lines += [f"extras that are not installed: {', '.join(absent)}"]

    return "\n".join(lines)


def required_packages(extra: str) -> list[str]:
    """The packages that an extra needs, or for ``""`` the core, by the metadata of the installed package.

    >>> "numpy" in required_packages("") or not required_packages("")
    True
    """
    packages = []
    for requirement in _requirements():
        parts = re.match(r"([\w.-]+)[^;]*(?:;.*extra == ['\"](\w+)['\"])?", requirement)  # such as "ray[data]>=2.20"
        if parts is not None and (parts[2] or "") == extra:
            packages.append(parts[1])

    return packages


def _requirements() -> list[str]:
    try:
        return metadata.requires("infopursuit") or []
    except metadata.PackageNotFoundError:
        return []


def installed_version(package: str) -> str | None:
    """The version of a package, None where it is not installed; the package is not imported."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
