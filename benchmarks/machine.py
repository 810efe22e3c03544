"""Where and from what a measurement was taken, so that it can be taken again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from infopursuit.support.files import write_atomically


def describe() -> dict[str, Any]:
    """Processor, cores, threads, versions, commit and time."""
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _git("rev-parse", "--short", "HEAD") or "unknown",
        "changed_since_commit": bool(_git("status", "--porcelain", "--untracked-files=no", "--", ":/src")),
        "processor": _processor(),
        "cores": os.cpu_count(),
        **_torch(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "scikit_learn": metadata.version("scikit-learn"),
    }


def write_result(folder: Path, name: str, command: str, result: dict[str, Any]) -> Path:
    """A measurement as JSON, with the command that takes it and the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    content = {"command": command, "machine": describe(), **result}
    write_atomically(file, f"{json.dumps(content, indent=1)}\n".encode())
    return file


def _torch() -> dict[str, Any]:
    """What is to be known of torch, where it is in use."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"torch": torch.__version__, "torch_threads": torch.get_num_threads(), "accelerator": accelerator}


def _git(*arguments: str) -> str:
    try:
        here = Path(__file__).parent
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
