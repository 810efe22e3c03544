"""One VAE in one file: the same bytes, the same decoder, and nothing believed without a check."""

import hashlib
import json

import numpy as np
import pytest
import safetensors.torch
import torch

import infopursuit as ip
from benchmarks.vae_files import load_vae, save_vae
from infopursuit.models import ConvArchitecture, MLPArchitecture, Training
from infopursuit.support import files
from test_serialization import Crash, read


def trained_by_hand(sizes=(2,) * 9, seed=0):
    """Weights that are not those of a new model, and statistics of batch norm that are not 0 and 1."""
    rng = np.random.default_rng(seed)
    model = ip.models.VAE(sizes, np.full(3, 1 / 3), MLPArchitecture((8, 4)), 2, seed=seed)
    values = np.stack([rng.integers(-1, size, 40) for size in sizes], axis=1)
    return ip.models.train(model, values, np.arange(40) % 3, Training(epochs=1, batch_size=10))[0]


def assert_same_decoder(one, two):
    for name, weight in one.decoder.state_dict().items():
        assert torch.equal(weight, two.decoder.state_dict()[name]), name


def test_the_weights_for_images_of_28_by_28_pixels_are_below_six_megabytes(tmp_path):
    save_vae(ip.models.VAE((2,) * 784, [0.1] * 10, ConvArchitecture((28, 28)), 20), tmp_path / "vae")
    assert (tmp_path / "vae").stat().st_size < 6e6


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        save_vae(trained_by_hand(sizes=(2, 3, 5)), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    save_vae(load_vae(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("where", ["_rename", "_flush"])
def test_a_crash_while_saving_leaves_the_old_file(where, tmp_path, monkeypatch):
    file = tmp_path / "vae.safetensors"
    save_vae(trained_by_hand(), file)
    before = file.read_bytes()

    def crash(*arguments):
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(files, where, crash)
        with pytest.raises(Crash):
            save_vae(trained_by_hand(seed=1), file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["vae.safetensors"]


def test_a_model_stays_as_it_is_when_its_file_changes(tmp_path):
    """The file is not mapped into memory once it has been read."""
    file = tmp_path / "vae"
    save_vae(trained_by_hand(), file)
    model = load_vae(file)
    before = {name: weight.clone() for name, weight in model.networks.state_dict().items()}
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.write(bytes(size))
    for name, weight in model.networks.state_dict().items():
        assert torch.equal(weight, before[name])


def test_what_is_no_vae_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"model is TableModel; expected an ip\.models\.VAE"):
        save_vae(ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), tmp_path / "x")
    with pytest.raises(ValueError, match="is a folder; give the name of a file in it"):
        save_vae(trained_by_hand(), tmp_path)
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"is not there; give a file that save_vae\(\) wrote"):
            load_vae(path)


def parts(file):
    """What a file says of itself, and its tensors."""
    payload = file.read_bytes()
    length = int.from_bytes(payload[:8], "little")
    about = json.loads(json.loads(payload[8 : 8 + length])["__metadata__"]["infopursuit"])
    return about, safetensors.torch.load(payload)


def put_together(file, about, tensors):
    """Alter a file as somebody would who can compute checksums; written here a second time."""
    found = hashlib.sha256(json.dumps(about["model"], sort_keys=True).encode())
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        found.update(tensors[name].numpy().tobytes())
    about["sha256"] = found.hexdigest()
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    file.write_bytes(safetensors.torch.save(tensors, metadata={"infopursuit": json.dumps(about)}))


@pytest.fixture
def file(tmp_path):
    save_vae(trained_by_hand(), tmp_path / "vae.safetensors")
    return tmp_path / "vae.safetensors"


def test_the_checksum_is_computed_as_the_package_does(file):
    """Else the tests below would only find that checksums differ."""
    before = file.read_bytes()
    put_together(file, *parts(file))
    assert file.read_bytes() == before
    assert_same_decoder(load_vae(file), trained_by_hand())


def test_files_that_were_cut_off(file):
    payload = file.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, len(payload) // 2, len(payload) - 1]:
        file.write_bytes(payload[:length])
        with pytest.raises(ip.ModelFormatError, match="cannot be read, it may be cut off or altered"):
            load_vae(file)
    file.write_bytes(payload + b"x")
    with pytest.raises(ip.ModelFormatError, match="cannot be read"):
        load_vae(file)


def test_a_flipped_bit_anywhere_is_found(file):
    payload = file.read_bytes()
    for place in np.random.default_rng(0).integers(len(payload), size=60):
        damaged = bytearray(payload)
        damaged[place] ^= 1 << int(place % 8)
        file.write_bytes(bytes(damaged))
        with pytest.raises(
            ip.ModelFormatError, match=r"cannot be read|was altered|is no VAE|has format version|is damaged"
        ):
            load_vae(file)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "is no VAE of this package"),
        ({"infopursuit": "[1]"}, "its metadata does not say format 'infopursuit.vae'"),
        ({"infopursuit": "{"}, "cannot be read"),
        ({"infopursuit": "[" * 100_000}, "cannot be read"),
        ({"infopursuit": '{"format": "infopursuit.vae"}'}, "format version None; this infopursuit reads 1"),
        ({"infopursuit": '{"format": "infopursuit.vae", "version": 2}'}, "format version 2"),
        ({"infopursuit": '{"format": "infopursuit.vae", "version": 1}'}, "is damaged: KeyError"),
        ({"infopursuit": '{"format": "infopursuit.vae", "version": 1, "model": 1, "sha256": 1}'}, "was altered"),
    ],
)
def test_other_files_are_no_vaes(metadata, message, tmp_path):
    file = tmp_path / "other.safetensors"
    file.write_bytes(safetensors.torch.save({"x": torch.zeros(2)}, metadata=metadata))
    with pytest.raises(ip.ModelFormatError, match=message):
        load_vae(file)


def test_a_table_is_no_vae(tmp_path):
    pursuit = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"]))
    ip.save(pursuit, tmp_path)
    manifest, payload = read(tmp_path)
    about = {"format": "infopursuit.vae", "version": 1, "model": manifest["pursuit"]["belief"]["model"]}
    put_together(tmp_path / "file", about, safetensors.torch.load(payload))
    with pytest.raises(ip.ModelFormatError, match="holds a model of kind 'table', which is no VAE"):
        load_vae(tmp_path / "file")
