"""Data sets to try things on: scikit-learn's digits come along, the others are read from files that you have.

>>> from infopursuit import datasets
>>> datasets.load("digits")
<digits: 1437 images of 8 x 8 to learn from, 360 to test on, 10 classes>
"""

from infopursuit.datasets.dataset import Dataset
from infopursuit.datasets.files import data_folder
from infopursuit.datasets.images import NAMES, digits, fashion_mnist, kmnist, load, mnist

__all__ = ["NAMES", "Dataset", "data_folder", "digits", "fashion_mnist", "kmnist", "load", "mnist"]
