"""Data sets to try things on, which come with scikit-learn, and the readers of data files.

>>> from infopursuit.app import datasets
>>> datasets.load("digits")
<digits: 1437 images of 8 x 8 to learn from, 360 to test on, 10 classes>
"""

from infopursuit.app.datasets.dataset import NAMES, Dataset, breast_cancer, digits, fold_numbers, load

__all__ = ["NAMES", "Dataset", "breast_cancer", "digits", "fold_numbers", "load"]
