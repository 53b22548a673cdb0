"""Logits of a neural network on the images of CIFAR-10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.datasets.parquet import read_columns

CLASS_NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Cifar10:
    """Logits of a classifier of images, with the true classes, one row an image.

    Attributes
    ----------
    y_true : numpy.ndarray of int16, shape (n,)
        The true class, 0 to 9.
    logits : numpy.ndarray of float32, shape (n, 10)
        What the network gave for each class; their softmax are its probabilities.
    class_names : tuple of str
        What the classes 0 to 9 show.
    split : {"validation", "test"}
        Which images these are.
    """

    y_true: NDArray[np.int16]
    logits: NDArray[np.float32]
    class_names: tuple[str, ...]
    split: Literal["validation", "test"]

    def __repr__(self) -> str:
        accuracy = np.mean(self.logits.argmax(axis=1) == self.y_true)
        n_images = f"{len(self.y_true):,} {self.split} images"
        return f"Cifar10: {n_images}, 10 classes; accuracy {accuracy:.3f}"


def load_cifar10(split: Literal["validation", "test"] = "test") -> Cifar10:
    """Logits of a DenseNet-40 for images of CIFAR-10, with the true classes.

    Both splits were held out from training: fit a calibrator on the 5,000 validation images,
    check it on the 10,000 test images. The rows are in the order of their source.

    Parameters
    ----------
    split : {"validation", "test"}, default="test"
        Which images.

    Returns
    -------
    Cifar10
        `y_true` (n,), `logits` (n, 10) and the names of the classes.

    Raises
    ------
    ValueError
        If `split` is neither of the two.
    ImportError
        If neither Polars nor PyArrow is installed to read Parquet.

    Notes
    -----
    Source: Kull et al. (2019), "Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration", NeurIPS 32;
    https://github.com/markus93/NN_calibration, MIT. ATTRIBUTION.md in the folder of this module
    has the licence.

    Examples
    --------
    >>> from calibrant.datasets import load_cifar10
    >>> load_cifar10("validation")
    Cifar10: 5,000 validation images, 10 classes; accuracy 0.938
    """
    if split not in ("validation", "test"):
        raise ValueError(f"split must be 'validation' or 'test', got {split!r}.")
    columns = read_columns(f"cifar10_{split}.parquet")
    return Cifar10(
        y_true=columns["label"],
        logits=np.column_stack([columns[f"z{k}"] for k in range(10)]),
        class_names=CLASS_NAMES,
        split=split,
    )
