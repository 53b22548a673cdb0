"""One thread for linear algebra: on data this small, threads mostly wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
