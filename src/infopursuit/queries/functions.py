"""Any callables as queries: a rule, a trained network's outputs, a unit inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from infopursuit.queries.frames import is_missing
from infopursuit.queries.queryset import YES_NO, QuerySet, check_spec, shown
from infopursuit.support.types import UNKNOWN, IntArray

Function = Callable[[Any], Any]
Returned = npt.NDArray[Any]


class Functions(QuerySet):
    """A query for each callable, or for each output of one.

    A callable returns one answer for each input: True or False, 1 or 0, one of its ``choices`` or the index of one, and
    NaN or None where the answer is not known. Arrays, tensors and lists will do.

    Parameters
    ----------
    mapping: names and their callables; or one callable that returns (B, Q) answers, together with ``names``.
    batched: True calls with the whole batch of inputs, False with one input at a time.
    threshold: for callables that return real numbers, the number above which the answer is "yes"; or name to number.
    choices: name to the possible answers, for a callable that tells apart more than yes and no.
    sentences: how the queries are asked, by name or one for each.
    names: what the outputs of a single callable are called.

    The callables are code and are not saved with a model.

    >>> qs = functions(
    ...     {"is long": lambda texts: [len(t) > 9 for t in texts], "mood": lambda texts: ["glad" for t in texts]},
    ...     choices={"mood": ["glad", "sad", "cross"]},
    ... )
    >>> qs.observe(["hello", "hello, world"]).tolist()
    [[0, 0], [1, 0]]
    >>> network = lambda X: X @ np.array([[1.0, -1.0], [0.5, 2.0]])
    >>> functions(network, names=["unit 0", "unit 1"], threshold=0).observe(np.array([[1.0, 0.2]])).tolist()
    [[1, 0]]
    """

    kind = "functions"
    spec: ClassVar = {
        "names": "texts",
        "single": "flag",
        "batched": "flag",
        "thresholds": "any",
        "choices": "any",
        "sentences": "texts",
    }

    def __init__(
        self,
        mapping: Mapping[str, Function] | Function,
        *,
        batched: bool = True,
        threshold: float | Mapping[str, float] | None = None,
        choices: Mapping[str, Sequence[str]] | None = None,
        sentences: Mapping[str, str] | Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.functions: Any = mapping
        self.single, self.batched = not isinstance(mapping, Mapping), batched
        if isinstance(mapping, Mapping):
            if names is not None:
                raise ValueError("names is for a single callable with many outputs; a mapping has its names already")
            names, self.functions = list(mapping), tuple(mapping.values())
            for name, function in mapping.items():
                if not callable(function):
                    raise TypeError(f"mapping[{name!r}] is {function!r}; give a callable")
        elif not callable(mapping):
            raise TypeError(f"mapping is {mapping!r}; give {{name: callable}}, or one callable with names=[...]")
        elif names is None or isinstance(names, str):
            raise ValueError("names is missing: a single callable needs names=[...], one name for each of its outputs")
        names = [str(name) for name in names]
        if isinstance(sentences, Mapping):
            _check_known("sentences", sentences, names)
            sentences = [sentences.get(name, f"{name}?") for name in names]
        if threshold is not None and not isinstance(threshold, Mapping):
            threshold = {name: float(threshold) for name in names if name not in (choices or {})}
        self.thresholds = {str(name): float(limit) for name, limit in (threshold or {}).items()}
        self.named_choices = {str(name): tuple(words) for name, words in (choices or {}).items()}
        _check_known("threshold", self.thresholds, names)
        _check_known("choices", self.named_choices, names)
        for name, words in self.named_choices.items():
            if name in self.thresholds:
                raise ValueError(f"choices and threshold both name {name!r}; a threshold gives yes or no, drop one")
            if len(words) < 2 or not all(isinstance(word, str) for word in words):
                raise ValueError(f"choices[{name!r}] is {list(words)!r}; give two or more texts")
        super().__init__(
            names,
            sizes=[len(self.named_choices.get(name, YES_NO)) for name in names],
            variables=np.arange(len(names))[:, None],
            sentences=sentences,
            choices=[self.named_choices.get(name, ()) for name in names],
        )

    def observe(self, X: Any) -> IntArray:
        """(B, A) what the functions answer about every input, -1 where they return NaN or None."""
        if not hasattr(X, "shape") and not hasattr(X, "__len__"):
            raise ValueError(f"X is {X!r}; give a batch of inputs, such as a list or an array")
        n_inputs = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if n_inputs == 0:
            return np.zeros((0, len(self)), dtype=np.int64)  # many a network refuses an empty batch
        if self.single:
            where = f"the function of queries {shown(self.names, 6)}"
            columns = list(self._call(self.functions, X, (n_inputs, len(self)), where).T)
        else:
            columns = [
                self._call(function, X, (n_inputs,), f"the function of query {name!r}")
                for name, function in zip(self.names, self.functions, strict=True)
            ]
        return np.stack([self._encode(name, column) for name, column in zip(self.names, columns, strict=True)], axis=1)

    def to_spec(self) -> dict[str, Any]:
        """Everything but the functions themselves, which ``from_spec`` needs again."""
        choices = {name: list(words) for name, words in self.named_choices.items()}
        return {**super().to_spec(), "choices": choices}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        """The saved query set with its functions: the mapping, or the one callable, that it was made of."""
        found = check_spec(spec, cls.spec)
        names, single = found.pop("names"), found.pop("single")
        what = "one callable" if single else f"a mapping from each of {shown(names, 6)} to its callable"
        absent = [name for name in names if not isinstance(functions, Mapping) or name not in functions]
        if callable(functions) != single or (absent and not single):
            wrong = f"has no entry {absent[0]!r}" if isinstance(functions, Mapping) else f"is {functions!r:.80}"
            raise ValueError(f"functions {wrong}; functions are not saved; give functions=..., {what}")
        code = functions if single else {name: functions[name] for name in names}
        return cls(code, names=names if single else None, threshold=found.pop("thresholds"), **found)

    def _call(self, function: Function, X: Any, shape: tuple[int, ...], where: str) -> Returned:
        """What a function returns for all inputs; an error of its own comes through, with a note on where it arose."""
        try:
            returned = _as_array(function(X) if self.batched else [function(item) for item in _items(X)])
        except Exception as error:
            error.add_note(f"raised by {where}")
            raise
        if returned.shape == (*shape, 1):
            returned = returned[..., 0]  # as networks with one output return it
        if returned.shape != shape:
            found = f"an array of shape {returned.shape}" if returned.ndim else f"{returned.item()!r}"
            how = "all inputs at once" if self.batched else "one input at a time"
            wrong = f"{where} returned {found} for {shape[0]} inputs; expected shape {shape}. It was given {how}"
            raise ValueError(f"{wrong}: say batched={not self.batched} if that is wrong")
        return returned

    def _encode(self, name: str, answers: Returned) -> IntArray:
        """(B,) answers as 0, 1, ..., and -1 where one is missing."""
        choices, limit = self.named_choices.get(name), self.thresholds.get(name)
        if answers.dtype.kind in "biuf":
            numbers = answers.astype(np.float64)
            bad = np.zeros(len(answers), dtype=bool)
        else:
            place = {word: index for index, word in enumerate(choices or ())}
            read = [_read(answer, place) for answer in answers.tolist()]
            numbers = np.array([np.nan if number is None else number for number in read])
            bad = np.array([number is None for number in read])
        known = ~np.isnan(numbers)
        if limit is None:
            bad |= known & ~np.isin(numbers, range(len(choices or YES_NO)))
        if bad.any():
            row = int(bad.argmax())
            wanted = f"one of {shown(choices, 6)}, its index" if choices else "True, False, 1, 0"
            remedy = "" if choices else f"; for other answers say threshold={{{name!r}: ...}} or choices=..."
            wrong = f"query {name!r} returned {answers[row : row + 1].tolist()[0]!r} for input {row}"
            raise ValueError(f"{wrong}; return {wanted}, or None where it is not known{remedy}")
        cells = numbers if limit is None else numbers > limit
        return np.where(known, cells, UNKNOWN).astype(np.int64)


functions = Functions
"""The name of the builder, as of the other query sets."""


def _check_known(argument: str, given: Iterable[str], names: Sequence[str]) -> None:
    stray = [name for name in given if name not in names]
    if stray:
        raise ValueError(f"{argument} names {stray[0]!r}, which is no query; the queries are {shown(names, 6)}")


def _as_array(returned: Any) -> Returned:
    """What a function returned as an array of numbers, or of objects where it is something else."""
    if hasattr(returned, "detach"):  # a tensor, perhaps with gradients, on a device, in half precision
        returned = returned.detach().cpu()
        returned = returned.double() if returned.is_floating_point() else returned
    if isinstance(returned, (list, tuple)):
        returned = [entry.detach().tolist() if hasattr(entry, "detach") else entry for entry in returned]
    try:
        array = np.asarray(returned)
    except ValueError:  # rows of different lengths
        array = np.fromiter(returned, dtype=object, count=len(returned))
    return np.array(returned, dtype=object) if array.dtype.kind in "US" else array


def _read(answer: Any, place: Mapping[str, int]) -> float | None:
    """An answer as a number, NaN where it is missing, None where it cannot be read."""
    if is_missing(answer):
        return np.nan
    if isinstance(answer, str):
        return place.get(answer)
    return float(answer) if isinstance(answer, (bool, int, float, np.bool_, np.number)) else None


def _items(X: Any) -> Iterable[Any]:
    """The inputs one by one; rows of a frame."""
    if hasattr(X, "iloc"):
        return (X.iloc[row] for row in range(len(X)))
    items: Iterable[Any] = X.iter_rows(named=True) if hasattr(X, "iter_rows") else X
    return X.to_pylist() if hasattr(X, "to_pylist") else items
