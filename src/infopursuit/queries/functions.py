"""Any callables as queries: a rule, a trained network's outputs, a unit inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from infopursuit.queries.choices import YES_NO
from infopursuit.queries.missing import is_missing
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.stated import texts
from infopursuit.types import UNKNOWN, IntArray

Threshold = float | Mapping[str, float] | None
Returned = npt.NDArray[Any]


class Functions(QuerySet):
    """One query for each function, or for each output of one function.

    Parameters
    ----------
    names: what the queries are called.
    functions: a callable for each name, or one callable that answers all of them at once.
    batched: True hands a function all inputs at once, False one after the other.
    thresholds: for real-valued functions the number above which the answer is "yes".
    choices: for functions with more answers than yes and no what these are called.
    sentences: how each query is asked.
    """

    kind = "functions"

    def __init__(
        self,
        names: Sequence[str],
        functions: Sequence[Callable[[Any], Any]] | Callable[[Any], Any],
        *,
        batched: bool = True,
        thresholds: Mapping[str, float] | None = None,
        choices: Mapping[str, Sequence[str]] | None = None,
        sentences: Sequence[str] | None = None,
    ) -> None:
        self.functions = functions if callable(functions) else tuple(functions)
        self.batched = batched
        self.thresholds = {str(name): float(limit) for name, limit in (thresholds or {}).items()}
        self.named_choices = {str(name): tuple(words) for name, words in (choices or {}).items()}
        for argument, given in (("threshold", self.thresholds), ("choices", self.named_choices)):
            stray = [name for name in given if name not in names]
            if stray:
                raise ValueError(f"{argument} names {stray[0]!r}, which is no query; the queries are {_shown(names)}")
        for name, words in self.named_choices.items():
            _check_choices(name, words, name in self.thresholds)
        super().__init__(
            names,
            sizes=[len(self.named_choices.get(name, YES_NO)) for name in names],
            atoms=np.arange(len(names))[:, None],
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
        if callable(self.functions):
            columns = self._call_one(self.functions, X, n_inputs)
        else:
            columns = [self._call(name, f, X, n_inputs) for name, f in zip(self.names, self.functions, strict=True)]
        return np.stack([self._encode(name, column) for name, column in zip(self.names, columns, strict=True)], axis=1)

    def to_spec(self) -> dict[str, Any]:
        """Everything but the functions themselves, which ``from_spec`` needs again."""
        return {
            "names": list(self.names),
            "single": callable(self.functions),
            "batched": self.batched,
            "thresholds": dict(self.thresholds),
            "choices": {name: list(words) for name, words in self.named_choices.items()},
            "sentences": list(self.sentences),
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Functions:
        """The saved query set with its functions: the mapping, or the one callable, that it was made of."""
        names = texts(spec, "names")
        what = "one callable" if spec["single"] else f"a mapping from each of {_shown(names)} to its callable"
        remedy = f"functions are not saved; give functions=..., {what}"
        if functions is None:
            raise ValueError(f"functions is missing: {remedy}")
        if callable(functions) != spec["single"] or not (callable(functions) or isinstance(functions, Mapping)):
            raise ValueError(f"functions is {functions!r}; {remedy}")
        if not spec["single"]:
            missing = [name for name in names if name not in functions]
            if missing:
                raise ValueError(f"functions has no entry {missing[0]!r}; {remedy}")
            functions = [functions[name] for name in names]
        return cls(
            names,
            functions,
            batched=bool(spec["batched"]),
            thresholds=spec["thresholds"],
            choices=spec["choices"],
            sentences=spec["sentences"],
        )

    def _call(self, name: str, function: Callable[[Any], Any], X: Any, n_inputs: int) -> Returned:
        """(B,) the answers of one function."""
        where = f"the function of query {name!r}"
        returned = self._run(function, X, where)
        if returned.shape == (n_inputs, 1):
            returned = returned[:, 0]  # as networks with one output return it
        if returned.shape != (n_inputs,):
            how = "one input at a time" if self.batched else "all inputs at once"
            raise ValueError(
                f"{where} returned {_describe(returned)} for {n_inputs} inputs; return one answer for each, "
                f"or say batched={not self.batched} if it takes {how}"
            )
        return returned

    def _call_one(self, function: Callable[[Any], Any], X: Any, n_inputs: int) -> list[Returned]:
        """Q columns (B,) of the answers of one function that answers all queries."""
        where = f"the function of the {len(self)} queries {_shown(self.names)}"
        returned = self._run(function, X, where)
        if returned.shape != (n_inputs, len(self)):
            raise ValueError(
                f"{where} returned {_describe(returned)}; expected shape ({n_inputs}, {len(self)}), a row for each "
                f"input with an answer for each name"
            )
        return list(returned.T)

    def _run(self, function: Callable[[Any], Any], X: Any, where: str) -> Returned:
        """What a function returns for all inputs; an error of its own comes through, with a note on where it arose."""
        try:
            return _as_array(function(X) if self.batched else [function(item) for item in _items(X)])
        except Exception as error:
            error.add_note(f"raised by {where}")
            raise

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
            got = answers[row : row + 1].tolist()[0]
            raise ValueError(f"query {name!r} returned {got!r} for input {row}; {_remedy(name, choices, got)}")
        cells = numbers if limit is None else numbers > limit
        return np.where(known, cells, UNKNOWN).astype(np.int64)


def functions(
    mapping: Mapping[str, Callable[[Any], Any]] | Callable[[Any], Any],
    *,
    batched: bool = True,
    threshold: Threshold = None,
    choices: Mapping[str, Sequence[str]] | None = None,
    sentences: Mapping[str, str] | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Functions:
    """A query for each callable.

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
    if isinstance(mapping, Mapping):
        if names is not None:
            raise ValueError("names is for a single callable with many outputs; a mapping has its names already")
        labels = [str(name) for name in mapping]
        called: Any = list(mapping.values())
        wrong = [name for name, function in zip(labels, called, strict=True) if not callable(function)]
        if wrong:
            raise TypeError(f"mapping[{wrong[0]!r}] is {mapping[wrong[0]]!r}; give a callable")
    elif callable(mapping):
        if names is None or isinstance(names, str):
            raise ValueError(
                "a single callable needs names=[...], one name for each of its outputs; or give {name: callable}"
            )
        labels, called = [str(name) for name in names], mapping
    else:
        raise TypeError(f"mapping is {mapping!r}; give {{name: callable}}, or one callable with names=[...]")
    if isinstance(sentences, Mapping):
        stray = [name for name in sentences if name not in labels]
        if stray:
            raise ValueError(f"sentences names {stray[0]!r}, which is no query; the queries are {_shown(labels)}")
        sentences = [sentences.get(name, f"{name}?") for name in labels]
    if threshold is not None and not isinstance(threshold, Mapping):
        threshold = {name: float(threshold) for name in labels if name not in (choices or {})}
    return Functions(labels, called, batched=batched, thresholds=threshold, choices=choices, sentences=sentences)


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
    items: Iterable[Any] = X
    if hasattr(X, "iter_rows"):
        items = X.iter_rows(named=True)
    elif hasattr(X, "to_pylist"):
        items = X.to_pylist()
    return items


def _check_choices(name: str, words: Sequence[Any], has_threshold: bool) -> None:
    if has_threshold:
        raise ValueError(f"{name!r} has a threshold and choices; a threshold gives yes or no, take one of them away")
    if isinstance(words, str) or len(words) < 2 or not all(isinstance(word, str) for word in words):
        raise ValueError(
            f"choices[{name!r}] is {list(words)!r}; give two or more texts (a number that a function returns is the "
            f"index of a choice)"
        )


def _remedy(name: str, choices: Sequence[str] | None, answer: Any) -> str:
    if choices:
        return f"return one of {_shown(choices)}, its index 0 to {len(choices) - 1}, or None where it is not known"
    advice = "return True, False, 1, 0, or None where it is not known"
    if isinstance(answer, (int, float)):
        return f"{advice}; for real numbers say threshold=... or threshold={{{name!r}: ...}}"
    return f"{advice}; for other answers say choices={{{name!r}: [...]}}" if isinstance(answer, str) else advice


def _describe(returned: Returned) -> str:
    return f"an array of shape {returned.shape}" if returned.ndim else f"{returned.item()!r}"


def _shown(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:6]) + (", ..." if len(names) > 6 else "")
