"""What happens to files by accident: bits that flip, ends that are cut off, files that are gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.hardening.folder import CARD, ModelFolder

Chance = np.random.Generator


def flip_bits_of_the_manifest(folder: ModelFolder, chance: Chance) -> None:
    """One to four bits, anywhere."""
    _rewrite(folder.manifest_file, lambda content: _flipped(content, chance))


def flip_bits_of_the_tensors(folder: ModelFolder, chance: Chance) -> None:
    """One to four bits, anywhere."""
    _rewrite(folder.payload_file, lambda content: _flipped(content, chance))


def flip_bits_of_the_header(folder: ModelFolder, chance: Chance) -> None:
    """One to four bits of what says where the tensors lie."""
    header = int.from_bytes(folder.payload_file.read_bytes()[:8], "little") + 8
    _rewrite(folder.payload_file, lambda content: _flipped(content[:header], chance) + content[header:])


def flip_bits_of_the_card(folder: ModelFolder, chance: Chance) -> None:
    """The card is for people: nothing may depend on it."""
    _rewrite(folder.path / CARD, lambda content: _flipped(content, chance))


def overwrite_a_run(folder: ModelFolder, chance: Chance) -> None:
    """Sixteen bytes become zero, as after a bad sector."""

    def zeroed(content: bytes) -> bytes:
        at = int(chance.integers(len(content)))
        return content[:at] + bytes(len(content[at : at + 16])) + content[at + 16 :]

    _rewrite(_any_file(folder, chance), zeroed)


def insert_bytes(folder: ModelFolder, chance: Chance) -> None:
    """One to eight random bytes more."""

    def longer(content: bytes) -> bytes:
        at = int(chance.integers(len(content)))
        return content[:at] + chance.bytes(int(chance.integers(1, 9))) + content[at:]

    _rewrite(_any_file(folder, chance), longer)


def delete_bytes(folder: ModelFolder, chance: Chance) -> None:
    """One to eight bytes less."""

    def shorter(content: bytes) -> bytes:
        at = int(chance.integers(len(content)))
        return content[:at] + content[at + int(chance.integers(1, 9)) :]

    _rewrite(_any_file(folder, chance), shorter)


def truncate(folder: ModelFolder, chance: Chance) -> None:
    """The end is cut off, as when a copy was interrupted."""
    _rewrite(_any_file(folder, chance), lambda content: content[: int(chance.integers(len(content)))])


def extend(folder: ModelFolder, chance: Chance) -> None:
    """Blanks, zeros or random bytes follow."""
    tail = (b" \n" * 8, bytes(16), chance.bytes(16))[int(chance.integers(3))]
    _rewrite(_any_file(folder, chance), lambda content: content + tail)


def empty(folder: ModelFolder, chance: Chance) -> None:
    """Nothing is left in a file."""
    _rewrite(_any_file(folder, chance), lambda content: b"")


def remove(folder: ModelFolder, chance: Chance) -> None:
    """A file is gone."""
    _any_file(folder, chance).unlink()


def byte_order_mark(folder: ModelFolder, chance: Chance) -> None:
    """An editor has saved the manifest with a mark in front, or in UTF-16."""
    coding = ("utf-8-sig", "utf-16", "utf-32")[int(chance.integers(3))]
    _rewrite(folder.manifest_file, lambda content: content.decode().encode(coding))


ALTERATIONS = (
    flip_bits_of_the_manifest,
    flip_bits_of_the_tensors,
    flip_bits_of_the_header,
    flip_bits_of_the_card,
    overwrite_a_run,
    insert_bytes,
    delete_bytes,
    truncate,
    extend,
    empty,
    remove,
    byte_order_mark,
)


def _any_file(folder: ModelFolder, chance: Chance) -> Path:
    return (folder.manifest_file, folder.payload_file)[int(chance.integers(2))]


def _rewrite(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


def _flipped(content: bytes, chance: Chance) -> bytes:
    changed = bytearray(content)
    for place in chance.integers(len(changed), size=int(chance.integers(1, 5))):
        changed[place] ^= 1 << int(chance.integers(8))
    return bytes(changed)
