"""Fixtures shared by all tests."""

from __future__ import annotations

import functools
import json
import lzma
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# One thread for linear algebra, here and in processes that tests start: on data this small, threads
# mostly wait for each other. The package's own threads are others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from calibrant.forecasts import Ensemble, Forecast, Mixture, Normal

# First calls compile, and machines differ: no test is timed. A gate gives the same verdict twice;
# everywhere else each run tries other examples.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")

FAMILIES = {
    "gaussian": Normal,
    "mixture": Mixture.gaussian_laplace,
    "ensemble": Ensemble,
}

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


@pytest.fixture(scope="session")
def family() -> Callable[[str], Callable[..., Forecast]]:
    """The constructor of a family of the reference files."""
    return FAMILIES.__getitem__


@pytest.fixture(
    params=[
        "gaussian_120",
        "gaussian_ties_160",
        "mixture_90",
        "ensemble_100_m20",
        "naval_gaussian_s0_300",
        "protein_mixture_s1_200",
        "crime_mixture_s2_250",
    ]
)
def case(
    request: pytest.FixtureRequest, threshold_reference: Callable[[str], dict[str, Any]]
) -> tuple[dict[str, Any], Forecast, np.ndarray]:
    """A reference file, its forecast and its outcomes."""
    content = threshold_reference(request.param)
    inputs = content["inputs"]
    forecast = FAMILIES[inputs["family"]](**inputs["params"])
    return content, forecast, np.array(inputs["y"])


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no `java` on the path")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("calibrant tests")
    for key, value in {
        "spark.sql.shuffle.partitions": 2,
        "spark.default.parallelism": 2,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Minutes are too few for what a second compiler and more collectors would gain.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
