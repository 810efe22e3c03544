"""Tensors that are not what the manifest says, and headers that claim what cannot be."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.hardening.folder import ModelFolder, Tensor, read_tensors, with_header

Chance = np.random.Generator
KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "U8": "<u1"}
"""How numpy calls what safetensors has."""


# ---- the tensors themselves -----------------------------------------------------------------------------------------


def swap_tensors_of_equal_shape(folder: ModelFolder, chance: Chance) -> None:
    """Two tensors of one shape and type in each other's place; where there are none, the rows of one tensor."""
    tensors = folder.tensors()
    alike = [
        (a, b)
        for a in tensors
        for b in tensors
        if a < b and (tensors[a].dtype, tensors[a].shape) == (tensors[b].dtype, tensors[b].shape)
    ]
    if not alike:
        _change(folder, chance, lambda numbers: numbers[::-1].copy())
        return
    one, two = alike[int(chance.integers(len(alike)))]
    tensors[one], tensors[two] = tensors[two], tensors[one]
    folder.write_tensors(tensors)


def swap_tensors_of_other_shapes(folder: ModelFolder, chance: Chance) -> None:
    """Two tensors of different shapes in each other's place."""
    tensors = folder.tensors()
    different = [(a, b) for a in tensors for b in tensors if a < b and tensors[a].shape != tensors[b].shape]
    one, two = different[int(chance.integers(len(different)))]
    tensors[one], tensors[two] = tensors[two], tensors[one]
    folder.write_tensors(tensors)


def fill_with_nan(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor, or one of them."""
    _fill(folder, chance, np.nan, floats=True)


def fill_with_infinity(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor, or one of them."""
    _fill(folder, chance, np.inf, floats=True)


def fill_with_minus_infinity(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor, or one of them: a logarithm of zero."""
    _fill(folder, chance, -np.inf, floats=True)


def fill_with_negative(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor, or one of them."""
    _fill(folder, chance, -3)


def fill_with_huge(folder: ModelFolder, chance: Chance) -> None:
    """The largest number that the type has, everywhere or once."""
    _fill(folder, chance, None)


def fill_with_zero(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor, or one of them."""
    _fill(folder, chance, 0)


def scale(folder: ModelFolder, chance: Chance) -> None:
    """All numbers of a tensor a thousand times as large."""
    _change(folder, chance, lambda numbers: numbers * numbers.dtype.type(100 if numbers.dtype.itemsize == 1 else 1000))


def change_dtype(folder: ModelFolder, chance: Chance) -> None:
    """The same numbers in another type."""
    tensors = folder.tensors()
    name = _pick(tensors, chance)
    tensor = tensors[name]
    other = str(chance.choice([kind for kind in KINDS if kind != tensor.dtype]))
    with np.errstate(all="ignore"):
        numbers = np.frombuffer(tensor.data, KINDS[tensor.dtype]).astype(KINDS[other])
    tensors[name] = Tensor(other, tensor.shape, numbers.tobytes())
    folder.write_tensors(tensors)


def reshape(folder: ModelFolder, chance: Chance) -> None:
    """The same numbers in another shape."""
    tensors = folder.tensors()
    name = _pick(tensors, chance)
    shape = tensors[name].shape
    shapes = [shape[::-1], [1, *shape], [int(np.prod(shape))], [*shape, 1], [0, *shape]]
    tensors[name].shape = shapes[int(chance.integers(len(shapes)))]
    folder.write_tensors(tensors)


def cut_a_row(folder: ModelFolder, chance: Chance) -> None:
    """A tensor with one row less, or one more, shape and bytes in agreement."""
    tensors = folder.tensors()
    name = _pick({name: tensor for name, tensor in tensors.items() if tensor.shape}, chance)
    numbers = _numbers(tensors[name])
    numbers = numbers[:-1] if chance.random() < 0.5 else np.concatenate([numbers, numbers[-1:]])
    tensors[name] = Tensor(tensors[name].dtype, list(numbers.shape), numbers.tobytes())
    folder.write_tensors(tensors)


def rename_a_tensor(folder: ModelFolder, chance: Chance) -> None:
    """A tensor under another name, or a name of another kind of model's."""
    tensors = folder.tensors()
    name = _pick(tensors, chance)
    new = str(chance.choice([f"{name}_", "probs", "encoder.weight", "", "../x", "__class__"]))
    folder.write_tensors({new if key == name else key: tensor for key, tensor in tensors.items()})


def leave_a_tensor_out(folder: ModelFolder, chance: Chance) -> None:
    """A tensor is missing."""
    tensors = folder.tensors()
    del tensors[_pick(tensors, chance)]
    folder.write_tensors(tensors)


def add_a_tensor(folder: ModelFolder, chance: Chance) -> None:
    """A tensor that nobody asked for."""
    folder.write_tensors({**folder.tensors(), "more": Tensor("U8", [3], b"abc")})


def tensors_of_another_model(folder: ModelFolder, chance: Chance) -> None:
    """A whole file of tensors from elsewhere."""
    if folder.other is not None:
        folder.payload_file.write_bytes(next(folder.other.glob("tensors-*.safetensors")).read_bytes())


# ---- the header of the file -----------------------------------------------------------------------------------------


def absurd_header_length(folder: ModelFolder, chance: Chance) -> None:
    """The first eight bytes say that the header is longer than any file, or than this one."""
    content = folder.payload_file.read_bytes()
    length = (2**60, 2**64 - 1, len(content), len(content) - 7, 0, 1)[int(chance.integers(6))]
    folder.payload_file.write_bytes(struct.pack("<Q", length) + content[8:])


def absurd_shape(folder: ModelFolder, chance: Chance) -> None:
    """A tensor that claims 10**12 numbers and more; the offsets may claim them, too."""
    shape = ([10**12], [2**62, 2**62], [10**6, 10**6, 0], [-1], [2**64], [1.5], "many", None)[int(chance.integers(8))]
    far = 8 * 10**12 if chance.random() < 0.3 else None

    def absurd(entry: dict[str, Any]) -> None:
        entry["shape"] = shape
        if far is not None:
            entry["data_offsets"][1] = far

    _change_entry(folder, chance, absurd)


def overlapping_offsets(folder: ModelFolder, chance: Chance) -> None:
    """Offsets that overlap, leave a hole, run backwards, or lie beyond the file."""
    shift = ((-8, 0), (8, 8), (0, 8), (0, 2**62), (-(2**63), 0), (10**30, 10**30))[int(chance.integers(6))]

    def moved(entry: dict[str, Any]) -> None:
        begin, end = entry["data_offsets"]
        entry["data_offsets"] = [begin + shift[0], end + shift[1]]

    _change_entry(folder, chance, moved)


def unknown_dtype(folder: ModelFolder, chance: Chance) -> None:
    """A type of numbers that the file format has not, or that torch reads otherwise."""
    kinds = ("F8_E4M3", "F4", "O", "object", "BOOL", "C64", "", None, 7)
    _change_entry(folder, chance, lambda entry: entry.update(dtype=kinds[int(chance.integers(len(kinds)))]))


def header_that_is_no_header(folder: ModelFolder, chance: Chance) -> None:
    """A list, a number, nothing, something nested a hundred thousand deep, or a name that stands there twice."""
    content = folder.payload_file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + length].strip(), content[8 + length :]
    twice = header[:-1] + b"," + header[1:]
    metadata = header[:-1] + b', "__metadata__": {"format": 5}}'
    headers = (b"[]", b"7", b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"\xff" * 32, twice, metadata)
    folder.payload_file.write_bytes(with_header(headers[int(chance.integers(len(headers)))], data))


ALTERATIONS = (
    swap_tensors_of_equal_shape,
    swap_tensors_of_other_shapes,
    fill_with_nan,
    fill_with_infinity,
    fill_with_minus_infinity,
    fill_with_negative,
    fill_with_huge,
    fill_with_zero,
    scale,
    change_dtype,
    reshape,
    cut_a_row,
    rename_a_tensor,
    leave_a_tensor_out,
    add_a_tensor,
    tensors_of_another_model,
    absurd_header_length,
    absurd_shape,
    overlapping_offsets,
    unknown_dtype,
    header_that_is_no_header,
)


def _pick(tensors: dict[str, Tensor], chance: Chance) -> str:
    names = [name for name, tensor in tensors.items() if tensor.data]
    return names[int(chance.integers(len(names)))]


def _numbers(tensor: Tensor) -> Any:
    return np.frombuffer(tensor.data, KINDS[tensor.dtype]).reshape(tensor.shape)


def _change(folder: ModelFolder, chance: Chance, change: Callable[[Any], Any], *, floats: bool = False) -> None:
    """One tensor with other numbers in it."""
    tensors = folder.tensors()
    able = {name: tensor for name, tensor in tensors.items() if not floats or tensor.dtype[0] == "F"}
    name = _pick(able, chance)
    with np.errstate(all="ignore"):
        tensors[name].data = change(_numbers(tensors[name]).copy()).tobytes()
    folder.write_tensors(tensors)


def _fill(folder: ModelFolder, chance: Chance, value: float | None, *, floats: bool = False) -> None:
    everywhere = chance.random() < 0.5
    place = chance.random()

    def filled(numbers: Any) -> Any:
        info = np.finfo(numbers.dtype) if numbers.dtype.kind == "f" else np.iinfo(numbers.dtype)
        flat = numbers.reshape(-1)
        which = slice(None) if everywhere else int(place * len(flat))
        flat[which] = np.array(info.max if value is None else value).astype(numbers.dtype)
        return flat.reshape(numbers.shape)

    _change(folder, chance, filled, floats=floats)


def _change_entry(folder: ModelFolder, chance: Chance, change: Callable[[dict[str, Any]], None]) -> None:
    """What the header says of one tensor, the numbers left where they are."""
    content = folder.payload_file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header[_pick(read_tensors(content), chance)])
    folder.payload_file.write_bytes(with_header(header, content[8 + length :]))
