"""Images of birds: found, cut to a square, made smaller, refused where they are none."""

import numpy as np
import pytest

from benchmarks import datasets

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def unpacked(folder):
    """Two images as the archive has them: one wide, left half red and right half blue; one grey."""
    place = folder / "CUB_200_2011" / "images" / "001.Gull"
    place.mkdir(parents=True)
    wide = np.zeros((40, 80, 3), dtype=np.uint8)
    wide[:, :40, 0] = wide[:, 40:, 2] = 255
    Image.fromarray(wide).save(place / "a.png")
    Image.fromarray(np.full((30, 20), 100, dtype=np.uint8)).save(place / "b.png")
    return place


def test_images_are_cut_to_a_square_and_made_smaller(unpacked):
    images = datasets.cub_images(["001.Gull/a.png", "001.Gull/b.png"], size=8)
    assert images.shape == (2, 8, 8, 3)
    assert images.dtype == np.uint8
    assert images[0, 4, 1].tolist() == [255, 0, 0]
    assert images[0, 4, 6].tolist() == [0, 0, 255]
    assert (images[1] == 100).all()  # grey is as much red as green and blue


def test_what_is_missing_or_no_image_is_named(unpacked):
    with pytest.raises(FileNotFoundError, match=r"001\.Gull/c\.png is not in .* CUB_200_2011\.tgz with its images"):
        datasets.cub_images(["001.Gull/c.png"])
    (unpacked / "d.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"d\.png is no image, or is cut off"):
        datasets.cub_images(["001.Gull/d.png"])
    (unpacked / "e.png").write_bytes((unpacked / "a.png").read_bytes()[:60])
    with pytest.raises(ValueError, match=r"e\.png is no image, or is cut off"):
        datasets.cub_images(["001.Gull/e.png"])


@pytest.mark.parametrize(("arguments", "message"), [(("a.png",), "ids is 'a.png'"), (([],), r"ids is \[\]")])
def test_bad_names_are_refused(folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.cub_images(*arguments)


def test_bad_sizes_are_refused(folder):
    with pytest.raises(ValueError, match="size=0 must be a whole number of pixels"):
        datasets.cub_images(["a.png"], size=0)
