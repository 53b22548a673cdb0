"""Fixtures shared by all tests."""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROBCAL = Path(__file__).parent / "reference" / "probcal"


@functools.cache
def read_reference(name: str) -> dict[str, Any]:
    with lzma.open(PROBCAL / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


@pytest.fixture(scope="session")
def reference() -> Callable[[str], dict[str, Any]]:
    """Expected values made independently of this project: `reference("binary_b200")`."""
    return read_reference
