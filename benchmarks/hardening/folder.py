"""A saved model as somebody sees it who means ill: text and bytes to write over, and checksums to compute again.

Checksums are computed here a second time, not by the code that is tried.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST, CARD = "manifest.json", "CARD.md"


@dataclass
class Tensor:
    """One entry of a safetensors file, its numbers as bytes."""

    dtype: str
    shape: list[int]
    data: bytes


class ModelFolder:
    """A copy of a model folder that may be altered. ``other``: another model, whose parts may be put into this one."""

    def __init__(self, path: Path, other: Path | None = None) -> None:
        self.path, self.other = path, other
        self.manifest_file = path / MANIFEST
        manifest = self.manifest()
        self.payload_file = path / manifest["tensors"]["file"]
        self._checksum: str = manifest["sha256"]
        self._payload: tuple[str, int] = (manifest["tensors"]["sha256"], manifest["tensors"]["bytes"])

    @classmethod
    def copy(cls, source: Path, target: Path, other: Path | None = None) -> ModelFolder:
        """A copy to alter."""
        shutil.copytree(source, target)
        return cls(target, other)

    def manifest(self) -> dict[str, Any]:
        """The manifest as it was saved."""
        content: dict[str, Any] = json.loads(self.manifest_file.read_bytes())
        return content

    def write_manifest(self, content: Any) -> None:
        """Put another manifest in its place, its checksums as they were."""
        self.manifest_file.write_bytes(
            json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
        )

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return read_tensors(self.payload_file.read_bytes())

    def write_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Put other tensors in their place."""
        self.payload_file.write_bytes(write_tensors(tensors))

    def seal(self) -> bool:
        """Compute all checksums again, so that the parser is tried and not the checksums; whether that was possible.

        The text of the manifest is kept as it is but for the checksums themselves: keys that stand there twice, blanks
        and literals that JSON does not have must reach the parser.
        """
        if not _is_readable(self.manifest_file):
            return False
        try:
            text = self.manifest_file.read_bytes().decode("utf-8", "surrogatepass")
            if _is_readable(self.payload_file):
                payload = self.payload_file.read_bytes()
                old, size = self._payload
                text = text.replace(old, hashlib.sha256(payload).hexdigest())
                text = text.replace(f'"bytes": {size}', f'"bytes": {len(payload)}')
            text = text.replace(self._checksum, own_checksum(json.loads(text)))
        except (OSError, ValueError, RecursionError, AttributeError):
            return False  # no longer a text, JSON or a mapping
        self.manifest_file.write_bytes(text.encode("utf-8", "surrogatepass"))
        return True


def own_checksum(manifest: dict[str, Any]) -> str:
    """What a manifest says of itself."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_tensors(payload: bytes) -> dict[str, Tensor]:
    """A safetensors file taken apart, without the library that is tried."""
    (length,) = struct.unpack("<Q", payload[:8])
    header = json.loads(payload[8 : 8 + length])
    start = 8 + length
    return {
        name: Tensor(entry["dtype"], entry["shape"], payload[start + entry["data_offsets"][0] :][: _size(entry)])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def write_tensors(tensors: dict[str, Tensor]) -> bytes:
    """A safetensors file put together; shapes and bytes are written as they are, whether or not they agree."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [at, at + len(tensor.data)]}
        at += len(tensor.data)
    return with_header(header, b"".join(tensor.data for tensor in tensors.values()))


def with_header(header: Any, data: bytes) -> bytes:
    """Bytes of tensors behind any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def _is_readable(file: Path) -> bool:
    """Whether it is a file that somebody would read whole: a pipe never ends, and a file with a hole is too long."""
    return file.is_file() and file.stat().st_size < 2**28


def _size(entry: dict[str, Any]) -> int:
    begin, end = entry["data_offsets"]
    return int(end - begin)
