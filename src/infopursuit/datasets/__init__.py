"""Data sets to try things on: two come along with scikit-learn, the others are read from files that you have.

The files are looked for in the folder that ``INFOPURSUIT_DATA`` names, or else in ``infopursuit`` in the user's cache:
each loader says which. A file that is missing is an error that says where it can be had. `download` fetches some.

>>> from infopursuit import datasets
>>> datasets.load("digits")
<digits: 1437 images of 8 x 8 to learn from, 360 to test on, 10 classes>
"""

from infopursuit.datasets.bird_images import cub_images
from infopursuit.datasets.birds import Birds, cub
from infopursuit.datasets.catalog import NAMES, download, load
from infopursuit.datasets.dataset import Dataset
from infopursuit.datasets.files import data_folder
from infopursuit.datasets.folds import fold_numbers, folds
from infopursuit.datasets.images import digits, fashion_mnist, kmnist, mnist
from infopursuit.datasets.news import clean_headline, huffpost
from infopursuit.datasets.tables import breast_cancer, diseases, zoo

__all__ = [
    "NAMES",
    "Birds",
    "Dataset",
    "breast_cancer",
    "clean_headline",
    "cub",
    "cub_images",
    "data_folder",
    "digits",
    "diseases",
    "download",
    "fashion_mnist",
    "fold_numbers",
    "folds",
    "huffpost",
    "kmnist",
    "load",
    "mnist",
    "zoo",
]
