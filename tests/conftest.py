"""Fixtures shared by all tests."""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parent / "reference"


@functools.cache
def read_reference(folder: str, name: str) -> dict[str, Any]:
    with lzma.open(REFERENCE / folder / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


@pytest.fixture(scope="session")
def reference() -> Callable[[str], dict[str, Any]]:
    """Expected values made independently of this project: `reference("binary_b200")`."""
    return functools.partial(read_reference, "probcal")


@pytest.fixture(scope="session")
def threshold_reference() -> Callable[[str], dict[str, Any]]:
    """The same for forecasts of a real outcome: `threshold_reference("gaussian_120")`."""
    return functools.partial(read_reference, "threshold")
