"""The package as a whole: what it exports, what importing it costs, where it can be installed."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import calibrant


def run(code: str, **env: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | env,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_public_name_is_there():
    for name in calibrant.__all__:
        assert getattr(calibrant, name).__doc__, name
    assert set(calibrant.__all__) <= set(dir(calibrant))


def test_the_reference_lists_every_public_name():
    page = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = [path.rpartition(".") for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE)]
    shown = [getattr(importlib.import_module(home), name) for home, _, name in listed]
    homes = ["calibrant"] + [
        f"calibrant.{package.name}"
        for package in pkgutil.iter_modules(calibrant.__path__)
        if package.ispkg
    ]
    for module in map(importlib.import_module, homes):
        for name in getattr(module, "__all__", ()):
            assert any(getattr(module, name) is one for one in shown), (module.__name__, name)


def test_unknown_names_are_attribute_errors():
    assert not hasattr(calibrant, "nonsense")


def test_importing_is_light():
    heavy = "numba matplotlib polars pandas sklearn scipy typer rich"
    loaded = run(
        f"import sys, calibrant; print([m for m in '{heavy}'.split() if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_a_read_only_install_without_a_cache_folder_works(tmp_path):
    package = Path(calibrant.__file__).parent
    shutil.copytree(package, tmp_path / "calibrant", ignore=shutil.ignore_patterns("__pycache__"))
    # A file in the place of the cache folder: it cannot be written, not even by root.
    for folder in [tmp_path / "calibrant", *(tmp_path / "calibrant").rglob("*/")]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    output = run(
        "import calibrant; print(calibrant.__file__); print(calibrant.ece([0, 1], [0.25, 0.5]))",
        PYTHONPATH=str(tmp_path),
        HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(tmp_path / "home" / "cache"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    where, number = output.split()
    assert where.startswith(str(tmp_path))
    assert float(number) == 0.375
