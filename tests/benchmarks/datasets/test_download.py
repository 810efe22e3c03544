"""Fetching, from a small server on this machine: what comes, what is refused, what stays."""

import gzip
import hashlib
import io
import re
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import MappingProxyType

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.datasets.download import REMOTES, Remote, fetch
from isolated import run_alone

pytest.importorskip("pooch", reason="pooch is not installed; pip install pooch")


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder, and notes what it was asked for."""

    def log_message(self, *args):
        """Keep the output of the tests clean."""

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()


@pytest.fixture
def server(tmp_path_factory):
    """Its folder, its address and what it was asked for."""
    root = tmp_path_factory.mktemp("served")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    httpd.asked = []
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    httpd.root, httpd.url = root, f"http://127.0.0.1:{httpd.server_address[1]}/"
    yield httpd
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def serve(server, name, content):
    (server.root / name).write_bytes(content)
    return Remote(name, (server.url + name,), hashlib.md5(content).hexdigest())


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return gzip.compress(header + array.tobytes())


@pytest.fixture
def small_mnist(server, monkeypatch):
    """MNIST as the server has it: a few images, with the checksums of those."""
    rng = np.random.default_rng(0)
    arrays = {
        "train-images-idx3-ubyte.gz": rng.integers(256, size=(12, 28, 28), dtype=np.uint8),
        "train-labels-idx1-ubyte.gz": (np.arange(12) % 10).astype(np.uint8),
        "t10k-images-idx3-ubyte.gz": rng.integers(256, size=(5, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte.gz": (np.arange(5) % 10).astype(np.uint8),
    }
    remotes = tuple(serve(server, name, idx(array)) for name, array in arrays.items())
    monkeypatch.setattr(datasets, "REMOTES", MappingProxyType({**REMOTES, "mnist": remotes}))
    return arrays


def test_fetched_files_are_loaded(folder, server, small_mnist):
    assert datasets.download("MNIST") == folder / "mnist"
    data = datasets.load("mnist")
    np.testing.assert_array_equal(data.x_train, small_mnist["train-images-idx3-ubyte.gz"])
    np.testing.assert_array_equal(data.y_test, small_mnist["t10k-labels-idx1-ubyte.gz"])
    assert len(server.asked) == 4
    datasets.download("mnist")
    assert len(server.asked) == 4  # all there
    assert sorted(path.name for path in (folder / "mnist").iterdir()) == sorted(small_mnist)  # nothing is left over


def test_load_fetches_only_when_told_and_only_what_is_missing(folder, server, small_mnist):
    with pytest.raises(FileNotFoundError):
        datasets.load("mnist")
    assert not server.asked
    assert len(datasets.load("mnist", download=True).x_train) == 12
    assert len(server.asked) == 4
    datasets.load("mnist", download=True)
    assert len(server.asked) == 4


def test_what_has_another_checksum_is_not_kept(folder, server):
    remote = serve(server, "a.gz", b"what was meant")
    (server.root / "a.gz").write_bytes(b"what came")
    with pytest.raises(OSError, match=r"a\.gz could not be fetched.*yourself") as caught:
        fetch([remote], folder)
    assert remote.md5 in str(caught.value)
    assert remote.urls[0] in str(caught.value)
    assert not list(folder.iterdir())


def test_the_next_address_is_tried(folder, server):
    good = serve(server, "a.gz", b"content")
    wrong = server.root / "wrong"
    wrong.mkdir()
    (wrong / "a.gz").write_bytes(b"another content")
    urls = (f"{server.url}nowhere/a.gz", f"{server.url}wrong/a.gz", *good.urls)
    fetch([Remote("a.gz", urls, good.md5)], folder)
    assert (folder / "a.gz").read_bytes() == b"content"
    assert [path.split("/")[1] for path in server.asked] == ["nowhere", "wrong", "a.gz"]


def test_all_failures_are_told(folder, server):
    urls = (f"{server.url}one", "http://127.0.0.1:9/two")
    with pytest.raises(OSError, match=r"404.*127\.0\.0\.1:9/two") as caught:
        fetch([Remote("a.gz", urls, "0" * 32)], folder)
    assert str(folder) in str(caught.value)


def test_somebodys_own_file_is_left_alone(folder, server):
    remote = serve(server, "a.gz", b"official")
    (folder / "a.gz").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"is not the official file .*; move it away first") as caught:
        fetch([remote], folder)
    assert str(folder / "a.gz") in str(caught.value)
    assert (folder / "a.gz").read_bytes() == b"mine"
    assert not server.asked


def archive(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_of_an_archive_only_what_is_wanted_is_kept(folder, server):
    content = archive(
        {
            "./top.txt": b"top",
            "CUB/images/bird.jpg": b"x" * 999,
            "CUB/inner/deep.txt": b"deep",
            "../out.txt": b"outside",
        }
    )
    remote = serve(server, "a.tgz", content)
    wanted = Remote("a.tgz", remote.urls, remote.md5, members=("top.txt", "deep.txt", "out.txt"))
    fetch([wanted], folder / "cub")
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {"cub/top.txt": b"top", "cub/deep.txt": b"deep", "cub/out.txt": b"outside"}
    fetch([wanted], folder / "cub")
    assert server.asked == ["/a.tgz"]


def test_an_archive_that_lacks_a_file_or_is_none_is_refused(folder, server):
    remote = serve(server, "a.tgz", archive({"top.txt": b"top"}))
    with pytest.raises(ValueError, match=r"a\.tgz has no deep\.txt"):
        fetch([Remote("a.tgz", remote.urls, remote.md5, members=("top.txt", "deep.txt"))], folder)
    remote = serve(server, "b.tgz", b"not an archive")
    with pytest.raises(ValueError, match=r"b\.tgz cannot be unpacked"):
        fetch([Remote("b.tgz", remote.urls, remote.md5, members=("other.txt",))], folder)


def test_progress_is_shown(folder, server, capsys):
    ticks = count(0, 40)
    fetch(
        [serve(server, "a.gz", b"x" * 300_000)],
        folder,
        progress=True,
        clock=lambda: next(ticks),
    )
    shown = capsys.readouterr().err
    assert re.search(r"fetching a\.gz \(kB\) (.* )?300 of 300", shown)

    fetch(
        [serve(server, "b.gz", b"x" * 300_000)],
        folder,
        progress=False,
        clock=lambda: next(ticks),
    )
    assert "fetching" not in capsys.readouterr().err


WITHOUT_POOCH = """
import sys
from pathlib import Path

from benchmarks.datasets.download import Remote, fetch

try:
    fetch([Remote("a.gz", ("http://example/a.gz",), "0" * 32)], Path(sys.argv[1]))
except ImportError as error:
    print(error)
"""


def test_without_pooch_the_error_says_what_to_do(tmp_path):
    told = run_alone(WITHOUT_POOCH, tmp_path, without=["pooch"])
    assert re.search(r"pip install pooch.*a\.gz into .*http://example", told)
    assert str(tmp_path) in told


def test_what_cannot_be_fetched_says_where_it_is(folder):
    with pytest.raises(
        ValueError, match=r"'huffpost' cannot be fetched.*News_Category_Dataset_v3.json.*https://www.kaggle"
    ):
        datasets.download("huffpost")
    with pytest.raises(ValueError, match=r"'zoo' cannot be fetched.*zoo\.data.*https://archive\.ics\.uci\.edu"):
        datasets.download("zoo")
    with pytest.raises(ValueError, match="nothing to fetch"):
        datasets.download("digits")
    with pytest.raises(ValueError, match="there is no data set 'cifar'"):
        datasets.download("cifar")
    with pytest.raises(FileNotFoundError, match=r"zoo\.npz"):
        datasets.load("zoo", download=True)


def test_every_remote_file_has_a_checksum_and_is_one_that_the_loaders_look_for():
    for name, remotes in REMOTES.items():
        assert name in datasets.NAMES
        for remote in remotes:
            assert re.fullmatch("[0-9a-f]{32}", remote.md5)
            assert remote.urls
            assert all(url.startswith("http") and url.endswith(remote.file) for url in remote.urls)
    sums = [remote.md5 for remotes in REMOTES.values() for remote in remotes]
    assert len(set(sums)) == len(sums) == 13
