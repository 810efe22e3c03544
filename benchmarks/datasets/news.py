"""Headlines of the HuffPost and the part of the paper that each was in."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from benchmarks.datasets.files import data_folder, find_file, not_found, read_lines
from benchmarks.datasets.grouped import GroupedDataset
from infopursuit.app.datasets.dataset import SPLIT_SEED, fold_numbers, parts
from infopursuit.models.folds import number_keys

TOPICS = (
    "Entertainment",
    "Politics",
    "Queer Voices",
    "Business",
    "Travel",
    "Parenting",
    "Style & Beauty",
    "Food & Drink",
    "Home & Living",
    "Wellness",
)
"""The ten classes of the paper, in its order."""

MERGED: Mapping[str, str] = MappingProxyType(
    {
        **{topic.upper(): topic for topic in TOPICS},
        "PARENTS": "Parenting",
        "STYLE": "Style & Beauty",
        "TASTE": "Food & Drink",
        "HEALTHY LIVING": "Wellness",
    }
)
"""The class of each category of the source; all others are left out.

The paper names the ten classes and the size of the outcome, 132,508 articles. With these four mergers the categories of
version 2 of the source add up to exactly that.
"""

OFFICIAL = ("News_Category_Dataset_v3.json", "News_Category_Dataset_v2.json")
PAGE = "https://www.kaggle.com/datasets/rmisra/news-category-dataset"
COLUMNS = ("headline", "category", "in_balanced900")
LICENCE = "CC BY 4.0 (R. Misra, News Category Dataset)"

QUOTES = re.compile("[\u2018\u2019]")
NOT = re.compile(r"\b(\w+?) ?n't\b")
WHOLE = {"wo": "will", "ca": "can", "sha": "shall", "ai": "is"}
HANGING = re.compile(r"(?<=\w) ?'(s|ll|ve|re|d|m)\b")
SPOKEN = {"ll": "will", "ve": "have", "re": "are", "m": "am"}
HALVES = re.compile(r"\b(gon|wan) (na)\b|\b(got) (ta)\b")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
WORDS = re.compile(r"[^\W_]+")


def huffpost(*, extended: bool = False) -> GroupedDataset:
    """HuffPost headlines in the paper's ten classes: lower case, no punctuation, four fifths to learn from.

    Two files will do. The official one, ``News_Category_Dataset_v3.json`` or ``_v2.json`` (one article a line, perhaps
    with ``.gz``), is taken whole; ``extended=True`` appends the short description to the headline, as the paper does.

    ``huffpost.csv.gz`` is put together from several pieces, and where a row came from tells a lot about its class: rows
    with a description are mostly politics and entertainment, the rare classes are mostly headlines in lower case, cut
    into tokens. A classifier of all its rows can score by noticing that instead of the subject. So only its sound part
    is taken, the rows with ``in_balanced900 == 1``, about 900 of every category, and of these the headline only. Both
    spellings are made the same by `clean_headline`. What remains is the time: the pieces are from different years.
    ``extended=True`` is refused.

    Categories go together as in `MERGED`; the others are left out. Equal headlines have the same number in
    ``groups_train`` or ``groups_test`` and are never in both parts; `folds` keeps them together too.

    Both parts keep the order of the file, which is not random: a smaller part is drawn, not cut off.
    """
    path = _find()
    is_csv = path.name.startswith("huffpost.csv")
    if extended and is_csv:
        raise ValueError(
            f"extended is True, but in {path} a short description gives away which piece a row came from, and so its "
            f"class; put {OFFICIAL[0]} into {data_folder()} (it is at {PAGE}), or say extended=False"
        )
    topics, texts = [], []
    for category, headline, description in _read_csv(path) if is_csv else _read_json(path):
        if category not in MERGED:
            continue
        text = clean_headline(f"{headline} {description}" if extended else headline)
        if text:
            topics.append(TOPICS.index(MERGED[category]))
            texts.append(text)
    labels, groups = np.array(topics, dtype=np.int64), number_keys(texts)
    try:
        is_test = fold_numbers(labels, groups, seed=SPLIT_SEED) == 0
        return GroupedDataset(
            "huffpost",
            **parts(is_test, x=np.array(texts, dtype=object), y=labels, groups=groups),
            class_names=TOPICS,
            description=_describe(path, is_csv, extended, labels),
            licence=LICENCE,
        )
    except ValueError as error:
        raise ValueError(f"{path} has {len(texts)} headlines in the ten classes, which is too few: {error}") from None


def clean_headline(text: str) -> str:
    """Lower case, words and numbers only; written as it was printed or cut into tokens, the outcome is the same.

    >>> clean_headline("Trump's Team WON'T Say: 'We're Gonna Pay $1,000'")
    'trump s team will not say we are gonna pay 1000'
    >>> clean_headline("trump 's team wo n't say : ' we 're gon na pay $ 1,000 '")
    'trump s team will not say we are gonna pay 1000'
    """
    text = QUOTES.sub("'", unicodedata.normalize("NFKC", text).lower())
    text = NOT.sub(lambda found: f"{WHOLE.get(found[1], found[1])} not", text).replace("cannot", "can not")
    text = HANGING.sub(lambda found: f" {SPOKEN.get(found[1], found[1])}", text)
    text = HALVES.sub(lambda found: "".join(part for part in found.groups() if part), text)
    return " ".join(WORDS.findall(THOUSANDS.sub("", text)))


def _find() -> Path:
    for name in (*OFFICIAL, "huffpost.csv"):
        path = find_file(name, ("", "huffpost"), ("", ".gz"))
        if path is not None:
            return path
    raise not_found(
        "huffpost.csv.gz",
        f"Or put the official {OFFICIAL[0]} into {data_folder()}; it is at {PAGE}, where a download needs an account, "
        f"so that this package cannot fetch it.",
    )


def _read_json(path: Path) -> Iterator[tuple[str, str, str]]:
    """Category, headline and description of each line that is not empty."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            article = json.loads(line)
            row = article["category"], article["headline"], article.get("short_description", "")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"line {number} of {path} is not an article ({type(error).__name__}: {error}); expected JSON with "
                f"category and headline"
            ) from None
        if not all(isinstance(part, str) for part in row):
            raise ValueError(f"line {number} of {path} has a category, headline or description that is not a text")
        yield row


def _read_csv(path: Path) -> Iterator[tuple[str, str, str]]:
    """Category and headline of each row of the balanced part."""
    rows = csv.DictReader(read_lines(path), strict=True)
    try:
        absent = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if absent:
            raise ValueError(
                f"{path} has no column {' and no '.join(map(repr, absent))}; found {', '.join(rows.fieldnames or ())}"
            )
        for row in rows:
            if None in row or None in row.values() or row["in_balanced900"] not in ("0", "1"):
                raise ValueError(
                    f"line {rows.line_num} of {path} has the wrong number of fields, or in_balanced900 is not 0 or 1"
                )
            if row["in_balanced900"] == "1":
                yield row["category"], row["headline"], ""
    except csv.Error as error:
        raise ValueError(f"line {rows.reader.line_num} of {path} is not CSV ({error})") from None


def _describe(path: Path, is_csv: bool, extended: bool, labels: np.ndarray) -> str:
    counts = ", ".join(f"{topic} {n:,}" for topic, n in zip(TOPICS, np.bincount(labels, minlength=10), strict=True))
    what = "Headlines and short descriptions" if extended else "Headlines"
    source = (
        f"From {path.name}: only the part with about 900 headlines of every category, because elsewhere the piece that "
        f"a row came from gives its class away. The shares of the classes are therefore not the natural ones, and "
        f"figures cannot be compared with the paper's."
        if is_csv
        else f"From {path.name}, all articles of the ten classes."
    )
    return (
        f"{what} of the HuffPost in lower case and without punctuation, in the paper's ten classes: {counts}. {source} "
        f"The split is fixed, stratified and random; equal texts are in one part."
    )
