"""A manifest whose entries are of another kind, of absurd size, twice there or not at all, or name what is no model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.hardening.folder import ModelFolder

Chance = np.random.Generator
Alteration = Callable[[ModelFolder, Chance], None]
Place = tuple[Any, Any]
"""A mapping or list of the manifest, and a key of it."""


class _Raw:
    """Text that is put into the manifest as it is; `json` would not write it."""

    def __init__(self, text: str) -> None:
        self.text = text


INSTEAD: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "a truth value": (True, False),
    "zero or one": (0, 1),
    "a negative number": (-1, -(2**63), -0.5),
    "a huge whole number": (10**6, 2**31, 2**63, 10**30, _Raw("9" * 5000)),
    "a huge number": (1e308, _Raw("1e999"), _Raw("-1e999")),
    "NaN": (float("nan"),),
    "infinity": (float("inf"), float("-inf")),
    "a small number": (1e-308, 0.5, 3.5),
    "an empty text": ("", " "),
    "a very long text": ("x" * 300_000,),
    "half a character": ("\ud800", "a\udfffb"),
    "text that is odd": ("\0", "a\nb", "\u202e\u0000", "'; --", "<script>", "{}", "%s"),
    "an empty list": ([],),
    "a list": ([1], ["a", "b"], [[]], [None]),
    "an empty mapping": ({},),
    "a mapping": ({"a": 1}, {"kind": "table"}),
    "a list of a million": (_Raw("[" + "0," * 999_999 + "0]"), _Raw("[" + '"",' * 999_999 + '""]')),
    "something nested deeply": (_Raw("[" * 500 + "]" * 500), _Raw('{"a":' * 100_000 + "1" + "}" * 100_000)),
    "the name of a class": (
        "os.system",
        "builtins.eval",
        "infopursuit.models.networks.autoencoder.VAE",
        "__import__('os')",
        "object",
    ),
}
"""What an entry becomes, by the name of the alteration."""


def _becomes(what: str, values: tuple[Any, ...], *, inner: bool) -> Alteration:
    def alter(folder: ModelFolder, chance: Chance) -> None:
        manifest = folder.manifest()
        holder, key = _place(manifest, chance, inner=inner)
        holder[key] = values[int(chance.integers(len(values)))]
        _write(folder, manifest)

    alter.__name__ = f"{'part' if inner else 'entry'} becomes {what}"
    alter.__doc__ = f"An entry of the manifest becomes {what}."
    return alter


# ---- entries that are almost right ----------------------------------------------------------------------------------


def entry_a_little_different(folder: ModelFolder, chance: Chance) -> None:
    """A number one larger or half of it, a text with a letter more, the other truth value: perhaps another model."""
    manifest = folder.manifest()
    holder, key = _place(manifest, chance)
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = value + (1, -1)[int(chance.integers(2))]
    elif isinstance(value, float):
        holder[key] = value * (0.5, 1.01)[int(chance.integers(2))]
    else:
        holder[key] = f"{value or ''}x"
    _write(folder, manifest)


def key_left_out(folder: ModelFolder, chance: Chance) -> None:
    """A key of a mapping, or an entry of a list, is gone."""
    manifest = folder.manifest()
    holder, key = _place(manifest, chance, inner=bool(chance.random() < 0.5))
    del holder[key]
    _write(folder, manifest)


def unknown_key(folder: ModelFolder, chance: Chance) -> None:
    """A mapping has a key more, which may be called like something of Python's."""
    manifest = folder.manifest()
    holders = [each for each, _ in _places(manifest) if isinstance(each, dict)] or [manifest]
    new = str(chance.choice(["more", "__class__", "__init__", "functions", "device", "code", "self", "cls"]))
    holders[int(chance.integers(len(holders)))][new] = "import os; os.abort()"
    _write(folder, manifest)


def duplicate_key(folder: ModelFolder, chance: Chance) -> None:
    """A key stands there twice, first with another value: readers differ about which of them holds."""
    manifest = folder.manifest()
    holders = [each for each, _ in _places(manifest) if isinstance(each, dict)]
    holder = holders[int(chance.integers(len(holders)))]
    key = list(holder)[int(chance.integers(len(holder)))]
    first, second = (None, holder[key]) if chance.random() < 0.5 else (holder[key], holder[key])
    holder[key] = _Raw(f"{json.dumps(first)}, {json.dumps(key)}: {json.dumps(second)}")
    _write(folder, manifest)


def list_longer_or_shorter(folder: ModelFolder, chance: Chance) -> None:
    """A list with its last entry twice, without it, backwards, or with nothing in it."""
    manifest = folder.manifest()
    lists = [value for _, value in _inner(manifest) if isinstance(value, list) and value]
    if lists:
        one = lists[int(chance.integers(len(lists)))]
        one[:] = ([*one, one[-1]], one[:-1], one[::-1], [])[int(chance.integers(4))]
    _write(folder, manifest)


# ---- what the manifest says it is -----------------------------------------------------------------------------------


def newer_version(folder: ModelFolder, chance: Chance) -> None:
    """A format that is newer, older, older than all, or no number."""
    version = (1, 3, 5, 99, 2**63, 0, -1, 1.5, "3", None, [3])[int(chance.integers(11))]
    _write(folder, {**folder.manifest(), "version": version})


def other_format(folder: ModelFolder, chance: Chance) -> None:
    """A file of another program."""
    _write(
        folder,
        {
            **folder.manifest(),
            "format": str(chance.choice(["", "other", "infopursuit.pursuit.trace", "INFOPURSUIT.MODEL"])),
        },
    )


def other_kind_of_model(folder: ModelFolder, chance: Chance) -> None:
    """A model that calls itself one of another kind."""
    manifest = folder.manifest()
    kinds = ("table", "empirical", "vae", "union", "forest", "FiniteModel")
    model = manifest["pursuit"]["belief"]["model"]
    model["kind"] = str(chance.choice([kind for kind in kinds if kind != model["kind"]]))
    _write(folder, manifest)


def other_kind_of_queries(folder: ModelFolder, chance: Chance) -> None:
    """Queries that call themselves some of another kind; functions would be code."""
    manifest = folder.manifest()
    kinds = ("columns", "concepts", "functions", "groups", "panels", "patches", "words", "Recipe")
    queries = manifest["pursuit"]["queries"]
    queries["kind"] = str(chance.choice([kind for kind in kinds if kind != queries["kind"]]))
    _write(folder, manifest)


def other_belief(folder: ModelFolder, chance: Chance) -> None:
    """Another way to compute posteriors than the model was saved with."""
    manifest = folder.manifest()
    many = {"n_chains": 10**9, "n_draws": 10**9}
    others = (
        {"kind": "pruned"},
        {"kind": "exact"},
        {"kind": "smc"},
        {"kind": "auto"},
        {"kind": "smc", "settings": many},
    )
    manifest["pursuit"]["belief"] |= others[int(chance.integers(len(others)))]
    _write(folder, manifest)


def other_kind_of_part(folder: ModelFolder, chance: Chance) -> None:
    """A part that calls itself one for another role, or one that nobody knows."""
    manifest = folder.manifest()
    parts = [part for part in manifest["pursuit"].values() if isinstance(part, dict) and "kind" in part]
    kinds = ("confidence", "mutual_information", "look_ahead", "costs", "answer_noise", "any_of", "oracle")
    parts[int(chance.integers(len(parts)))]["kind"] = str(chance.choice(kinds))
    _write(folder, manifest)


def part_of_another_model(folder: ModelFolder, chance: Chance) -> None:
    """Classes, a part of the pursuit, the pursuit or the classifier of a model of another kind."""
    if folder.other is None:
        return
    other = ModelFolder(folder.other).manifest()
    part = str(chance.choice(["classes", "queries", "belief", "acquisition", "stopping", "pursuit", "classifier"]))
    manifest = folder.manifest()
    if part in other:
        manifest[part] = other[part]
    else:
        manifest["pursuit"][part] = other["pursuit"][part]
    _write(folder, manifest)


def absurd_image(folder: ModelFolder, chance: Chance) -> None:
    """An image, a body or a table that claims 10**12 pixels, weights or states."""
    manifest = folder.manifest()
    huge = int(chance.choice([10**4, 10**6, 10**9]))
    pursuit, model = manifest["pursuit"], manifest["pursuit"]["belief"]["model"]
    claims: list[Callable[[], None]] = [
        lambda: pursuit["queries"]["spec"].update(shape=[huge, huge]),
        lambda: model.update(sizes=[huge] * len(model["sizes"])),
        lambda: model.update(n_classes=huge),
        lambda: model.update(n_latents=huge, n_examples=huge, latent_dim=huge),
        lambda: model.update(body={"kind": "mlp", "widths": [huge] * 50}),
        lambda: model.update(body={"kind": "conv", "shape": [huge, huge], "channels": [huge, huge]}),
        lambda: model.update(smoothing={"kind": "flip", "rates": [0.1] * min(huge, 10**6)}),
        lambda: pursuit.update(memory_limit=huge),
    ]
    claims[int(chance.integers(len(claims)))]()
    _write(folder, manifest)


ALTERATIONS = (
    *(_becomes(what, values, inner=False) for what, values in INSTEAD.items()),
    *(_becomes(what, INSTEAD[what], inner=True) for what in ("null", "zero or one", "a list", "a mapping")),
    entry_a_little_different,
    key_left_out,
    unknown_key,
    duplicate_key,
    list_longer_or_shorter,
    newer_version,
    other_format,
    other_kind_of_model,
    other_kind_of_queries,
    other_belief,
    other_kind_of_part,
    part_of_another_model,
    absurd_image,
)


# ---- finding a place ------------------------------------------------------------------------------------------------


def _places(data: Any) -> list[Place]:
    """All leaves, each with the mapping or list that holds it."""
    found: list[Place] = []
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        value = data[key]
        found += _places(value) if isinstance(value, dict | list) and value else [(data, key)]
    return found


def _inner(data: Any) -> list[tuple[Place, Any]]:
    """All mappings and lists inside, each with its place."""
    found: list[tuple[Place, Any]] = []
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        if isinstance(data[key], dict | list):
            found += [((data, key), data[key]), *_inner(data[key])]
    return found


def _place(manifest: dict[str, Any], chance: Chance, *, inner: bool = False) -> Place:
    """A part of the manifest first, then an entry of it: long lists of texts would else take all the blows."""
    part = str(chance.choice([key for key in manifest if isinstance(manifest[key], dict)]))
    if inner:
        among = [((manifest, part), manifest[part]), *_inner(manifest[part])]
        return among[int(chance.integers(len(among)))][0]
    # of a list one leaf is as good as another: at each level a key is drawn, not a leaf of all
    holder: Any = manifest
    key: Any = part
    while isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        key = keys[int(chance.integers(len(keys)))]
    return holder, key


def _write(folder: ModelFolder, manifest: Any) -> None:
    """The manifest, with raw texts as they are."""
    raw: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, _Raw):
            raw.append(value.text)
            return f"@raw {len(raw) - 1}@"
        raise TypeError(value)

    text = json.dumps(manifest, ensure_ascii=False, indent=1, default=marked)
    for number, each in enumerate(raw):
        text = text.replace(f'"@raw {number}@"', each)
    folder.manifest_file.write_bytes(text.encode("utf-8", "surrogatepass"))
