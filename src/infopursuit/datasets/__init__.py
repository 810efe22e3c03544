"""Data sets to try things on, and the readers of data files.

Two data sets come with scikit-learn; the images are read from npz files in the folder that ``INFOPURSUIT_DATA`` names,
or else in ``infopursuit`` in the user's cache.

>>> from infopursuit import datasets
>>> datasets.load("digits")
<digits: 1437 images of 8 x 8 to learn from, 360 to test on, 10 classes>
"""

from infopursuit.datasets.catalog import NAMES, breast_cancer, data_folder, digits, fashion_mnist, kmnist, load, mnist
from infopursuit.datasets.dataset import Dataset, fold_numbers

# fmt: off
__all__ = [
    "NAMES", "Dataset", "breast_cancer", "data_folder", "digits", "fashion_mnist", "fold_numbers", "kmnist", "load",
    "mnist",
]
# fmt: on
