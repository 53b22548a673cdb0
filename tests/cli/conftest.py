"""Running the command line inside the test process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from calibrant.cli import main


@dataclass(frozen=True)
class Run:
    """What a command gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.stdout)
        return content

    @property
    def text(self) -> str:
        """stdout without line breaks, which depend on the lengths of paths."""
        return " ".join(self.stdout.split())


Command = Callable[..., Run]


@pytest.fixture
def calibrant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Run a command, with paths relative to `tmp_path`: ``calibrant("fit", "data.csv", ...)``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CALIBRANT_DEBUG", raising=False)

    def run(*arguments: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["calibrant", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Run(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


@pytest.fixture
def binary(tmp_path: Path) -> pl.DataFrame:
    """Overconfident forecasts of two classes, also written to binary.csv and binary.parquet."""
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-z / 2))).astype(int)
    weight = rng.integers(1, 4, 400)
    names = np.where(y == 1, "won", "lost")
    frame = pl.DataFrame(
        {"y": y, "name": names, "flag": y == 1, "p": 1 / (1 + np.exp(-z)), "z": z, "w": weight}
    )
    frame.write_csv(tmp_path / "binary.csv")
    frame.write_parquet(tmp_path / "binary.parquet")
    return frame


@pytest.fixture
def animals(tmp_path: Path) -> pl.DataFrame:
    """Overconfident forecasts of three classes, columns in no sorted order; animals.csv too."""
    rng = np.random.default_rng(1)
    z = 2 * rng.normal(size=(400, 3))
    prob = softmax(z, axis=1)
    truth = softmax(z / 2, axis=1)
    codes = (rng.random((400, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    names = ["dog", "cat", "eel"]
    frame = pl.DataFrame(
        {"animal": np.array(names)[codes], "code": codes}
        | {f"p_{name}": prob[:, k] for k, name in enumerate(names)}
        | {f"z_{name}": z[:, k] for k, name in enumerate(names)}
    )
    frame.write_csv(tmp_path / "animals.csv")
    frame.write_parquet(tmp_path / "animals.parquet")
    return frame
