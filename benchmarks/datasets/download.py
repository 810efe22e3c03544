"""Fetching the official files, with their checksums; needs a network and the package pooch."""

from __future__ import annotations

import hashlib
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from benchmarks.datasets.birds import ANSWERS, TEXTS
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress


@dataclass(frozen=True)
class Remote:
    """A file that can be fetched.

    urls: addresses to try in order. md5: the checksum of what comes. members: of an archive, the files to keep.
    """

    file: str
    urls: tuple[str, ...]
    md5: str
    members: tuple[str, ...] = ()


def _idx(addresses: tuple[str, ...], *sums: str) -> tuple[Remote, ...]:
    files = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(
        Remote(f"{file}-ubyte.gz", tuple(f"{address}{file}-ubyte.gz" for address in addresses), md5)
        for file, md5 in zip(files, sums, strict=True)
    )


REMOTES: Mapping[str, tuple[Remote, ...]] = MappingProxyType(
    {
        "mnist": _idx(
            ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
        "fashion_mnist": _idx(
            (
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            ),
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        ),
        "kmnist": _idx(
            ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
            "bdb82020997e1d708af4cf47b453dcf7",
            "e144d726b3acfaa3e44228e80efcd344",
            "5c965bf0a639b31b8f53240b1b52f4d7",
            "7320c461ea6c1c855c0b718fb2a4b134",
        ),
        "cub": (
            Remote(
                "CUB_200_2011.tgz",
                ("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",),
                "97eceeb196236b17998738112f37df78",
                members=(*TEXTS, ANSWERS),
            ),
        ),
    }
)
"""What can be fetched, by the name of the data set: official files with checksums that are known."""


def fetch(
    remotes: Sequence[Remote],
    folder: Path,
    *,
    progress: bool | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Put the files into the folder; what is there already stays. ``progress`` and ``clock`` as in `Progress`.

    A file is written only after its checksum was found right. One that is there with another checksum is an error: it
    may be somebody's own.
    """
    for remote in remotes:
        if remote.members and all((folder / member).is_file() for member in remote.members):
            continue
        file = folder / remote.file
        if not file.is_file():
            _fetch_one(remote, folder, progress, clock)
        elif _md5(file) != remote.md5:
            raise ValueError(f"{file} is there, but is not the official file (MD5 {remote.md5}); move it away first")
        if remote.members:
            _unpack(file, remote.members, folder)
            file.unlink()


def _fetch_one(remote: Remote, folder: Path, progress: bool | None, clock: Callable[[], float]) -> None:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"fetching files needs the package pooch; run `pip install pooch`, or put {remote.file} into "
            f"{folder} yourself; it is at {remote.urls[0]}"
        ) from error
    failures = []
    for url in remote.urls:
        bar = _Bar(remote.file, progress, clock)
        downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=2**16)
        try:
            pooch.retrieve(url, f"md5:{remote.md5}", fname=remote.file, path=folder, downloader=downloader)
            return
        except (OSError, ValueError) as error:  # no answer, no such file, no place to write; another checksum
            failures.append(f"{url}: {error}")
        finally:
            bar.close()
    raise OSError(
        f"{remote.file} could not be fetched. {'; '.join(failures)}. Try again, or put the file into {folder} yourself"
    )


def _unpack(archive: Path, members: Sequence[str], folder: Path) -> None:
    """Those members by their names, wherever they are in the archive; nothing else of it is written."""
    wanted = set(members)
    try:
        with tarfile.open(archive) as tar:
            for entry in tar:
                name = PurePosixPath(entry.name).name
                stream = tar.extractfile(entry) if name in wanted and entry.isfile() else None
                if stream is not None:
                    write_atomically(folder / name, stream.read())
                    wanted.discard(name)
                if not wanted:
                    break  # a gigabyte of images may follow
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"{archive} cannot be unpacked ({error})") from None
    if wanted:
        raise ValueError(f"{archive} has no {' and no '.join(sorted(wanted))}")


def _md5(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


class _Bar:
    """The package's own line of progress, as pooch wants it; counts kilobytes."""

    def __init__(self, file: str, show: bool | None, clock: Callable[[], float]) -> None:
        self._progress = Progress(f"fetching {file} (kB)", 1, show=show, clock=clock)
        self._bytes = 0

    @property
    def total(self) -> int:
        """In bytes; pooch sets it once the server has said how many."""
        return 1000 * self._progress.total

    @total.setter
    def total(self, n: int) -> None:
        self._progress.total = max(n // 1000, 1)

    def update(self, n: int) -> None:
        self._bytes += n
        self._progress.advance(self._bytes // 1000 - self._progress.done)

    def reset(self) -> None:
        self._bytes = self._progress.done = 0

    def close(self) -> None:
        self._progress.__exit__(None, None, None)
