"""The registry: how each class of a part of a pursuit is saved and read again.

`register` adds a class of your own; a part whose class has no entry is refused at saving.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from infopursuit.pursuit.stopping import Rule
from infopursuit.support.types import ModelFormatError

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """How one class is saved: ``to_parts(object)`` gives JSON data and arrays, ``from_parts(spec, arrays, queries)``
    checks them and makes the object again."""

    kind: str
    to_parts: Callable[[Any], tuple[dict[str, Any], Arrays]]
    from_parts: Callable[[dict[str, Any], Arrays, Any], Any]


_by_class: dict[str, Entry] = {}
_by_kind: dict[str, Entry] = {}


def register(cls: Any, kind: str, to_parts: Any = None, from_parts: Any = None) -> None:
    """Let objects of a class be saved as parts of a pursuit: a belief, an acquisition function, a stopping rule, noise.

    Parameters
    ----------
    cls: the class; or its full name "module.Class", together with ``from_parts``, so that it need not be imported.
    kind: its name in files. Loading needs the same registration, so register where the class is defined.
    to_parts: object -> (JSON data, arrays). Without it, ``to_spec()`` of the object or the fields of a dataclass.
    from_parts: (data, arrays, queries) -> object; it must refuse data that cannot be. Without it, the class's
        ``from_spec(data)`` or its constructor.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Never(Rule):
    ...     name = "never"
    ...
    ...     def holds(self, check):
    ...         return np.zeros(len(check.n_asked), dtype=bool)
    >>> register(Never, "never")
    """
    name = cls if isinstance(cls, str) else _name(cls)
    entry = Entry(kind, to_parts or _plain_to_parts, from_parts or _plain_from_parts(cls))
    known = _by_kind.get(kind)
    if known is not None and _by_class.get(name) is not known:
        raise ValueError(f"kind={kind!r} is taken by another class; choose another name")
    _by_class[name], _by_kind[kind] = entry, entry


def encode(part: Any, role: str) -> tuple[dict[str, Any], Arrays]:
    """A part as JSON data with its kind, and arrays."""
    entry = _by_class.get(_name(type(part)))
    if entry is None:
        wrong = f"{role} is a {type(part).__name__}, which cannot be saved"
        raise TypeError(f"{wrong}; infopursuit.saving.registry.register({type(part).__name__}, ...) makes it possible")
    spec, arrays = entry.to_parts(part)
    return {"kind": entry.kind, **spec}, arrays


def decode(spec: dict[str, Any], arrays: Arrays, queries: Any) -> Any:
    """The part that `encode` took apart."""
    if spec["kind"] not in _by_kind:
        raise ModelFormatError(f"kind {spec['kind']!r} is not registered here; import the module that registers it")
    rest = {name: value for name, value in spec.items() if name != "kind"}
    return _by_kind[spec["kind"]].from_parts(rest, arrays, queries)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _plain_to_parts(part: Any) -> tuple[dict[str, Any], Arrays]:
    if hasattr(part, "to_spec") and not isinstance(part, Rule):
        return part.to_spec(), {}
    return {field.name: getattr(part, field.name) for field in fields(part)}, {}


def _plain_from_parts(cls: Any) -> Any:
    return lambda spec, arrays, queries: cls.from_spec(spec) if hasattr(cls, "from_spec") else cls(**spec)
