"""What the figures were measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

PACKAGES = (
    "calibrant", "numpy", "scipy", "scikit-learn", "numba", "torch", "torchmetrics", "netcal",
    "betacal", "uncertainty-calibration", "probcal", "probmetrics", "dirichletcal", "jax",
)  # fmt: skip


def _first_value(path: str, field: str) -> str:
    """The value of the first `field : value` line of a file such as /proc/cpuinfo."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.split(":")[1].strip() for line in lines if line.startswith(field)), "unknown")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> str:
    import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS, beside NumPy's)
    from threadpoolctl import threadpool_info

    pools = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')}, "
        f"{pool['num_threads']} threads)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return ", ".join(sorted(pools))


def describe() -> dict[str, object]:
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": _first_value("/proc/meminfo", "MemTotal"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blas": _blas(),
        "versions": {package: _version(package) for package in PACKAGES},
    }
