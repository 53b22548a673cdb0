"""What a report was made of and with, so that somebody else can make it again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.reporting.panel import library_versions

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib", "altair", "jinja2")


def versions() -> dict[str, str]:
    """Of everything that has a say in the numbers and the pictures."""
    from calibrant import __version__

    found = {name: version(name) for name in _PACKAGES} | library_versions()
    return {"calibrant": __version__, "Python": platform.python_version(), **found}


def fingerprint(columns: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of named columns: the same for the same values, whatever held them.

    Each column adds its name, its shape, and its values: numbers as little-endian doubles, other
    labels as text in UTF-8, each after its length in bytes, and missing ones as no text of the
    largest length.
    """
    digest = hashlib.sha256()
    for name, values in columns.items():
        digest.update(_chunk(name) + _chunk("x".join(map(str, values.shape))))
        if values.dtype.kind in "biuf":
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
        else:
            digest.update(b"".join(map(_chunk, values.ravel().tolist())))
    return digest.hexdigest()


def _chunk(value: Any) -> bytes:
    if value is None:
        return b"\xff" * 8
    text = str(value).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "little") + text
