"""Files that are none: names that lead elsewhere, links, pipes, devices, and sizes that no disk has."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from benchmarks.hardening.folder import ModelFolder

Chance = np.random.Generator
HOLE = 2**31
"""Bytes of a file with a hole: nothing on the disk, but more than may be read into memory."""


def name_that_leads_elsewhere(folder: ModelFolder, chance: Chance) -> None:
    """The manifest names a file outside of the folder, where the same bytes lie."""
    outside = folder.path.parent / f"{folder.path.name}-outside"
    outside.write_bytes(folder.payload_file.read_bytes())
    inside = folder.path / "inside"
    inside.mkdir()
    (inside / "file").write_bytes(folder.payload_file.read_bytes())
    names = (f"../{outside.name}", str(outside), "inside/file", f"./../{outside.name}", f"inside/../../{outside.name}")
    _rename(folder, names[int(chance.integers(len(names)))])


def name_that_is_no_name(folder: ModelFolder, chance: Chance) -> None:
    """The manifest names a file as no file is called, or as some systems call a device."""
    names = ("", ".", "..", "/", "a\0b", "..\\x", "a\\b", "x" * 5000, "~", "CON", "/dev/zero", "/etc/passwd", "a\nb")
    _rename(folder, names[int(chance.integers(len(names)))])


def directory_in_place_of_a_file(folder: ModelFolder, chance: Chance) -> None:
    """A folder stands where a file should."""
    _replace(folder, chance, os.mkdir)


def pipe_in_place_of_a_file(folder: ModelFolder, chance: Chance) -> None:
    """A pipe that nobody writes to: whoever opens it waits for ever."""
    _replace(folder, chance, os.mkfifo)


def device_in_place_of_a_file(folder: ModelFolder, chance: Chance) -> None:
    """A link to a device that never ends."""
    _replace(folder, chance, lambda path: os.symlink("/dev/zero", path))


def link_in_a_circle(folder: ModelFolder, chance: Chance) -> None:
    """A link to itself."""
    _replace(folder, chance, lambda path: os.symlink(os.path.basename(path), path))


def link_to_other_content(folder: ModelFolder, chance: Chance) -> None:
    """A link to a file of the system's."""
    _replace(folder, chance, lambda path: os.symlink("/etc/passwd", path))


def link_to_the_same_content(folder: ModelFolder, chance: Chance) -> None:
    """A link to the file itself, moved out of the folder, as caches keep models."""
    outside = folder.path.parent / f"{folder.path.name}-moved"
    folder.payload_file.rename(outside)
    folder.payload_file.symlink_to(outside)


def file_with_a_hole(folder: ModelFolder, chance: Chance) -> None:
    """A file that takes no room and is gigabytes long; the manifest may say so, too."""
    file = (folder.manifest_file, folder.payload_file)[int(chance.integers(2))]
    size = (HOLE, 2**40)[int(chance.integers(2))]
    manifest = folder.manifest()
    manifest["tensors"]["bytes"] = size
    if file == folder.payload_file and chance.random() < 0.5:
        folder.write_manifest(manifest)
    if chance.random() < 0.5:
        file.write_bytes(b"")
    os.truncate(file, size)


ALTERATIONS = (
    name_that_leads_elsewhere,
    name_that_is_no_name,
    directory_in_place_of_a_file,
    pipe_in_place_of_a_file,
    device_in_place_of_a_file,
    link_in_a_circle,
    link_to_other_content,
    link_to_the_same_content,
    file_with_a_hole,
)


def _rename(folder: ModelFolder, name: str) -> None:
    manifest = folder.manifest()
    manifest["tensors"]["file"] = name
    folder.write_manifest(manifest)


def _replace(folder: ModelFolder, chance: Chance, make: Callable[[str], None]) -> None:
    file = (folder.manifest_file, folder.payload_file)[int(chance.integers(2))]
    file.unlink()
    make(str(file))
