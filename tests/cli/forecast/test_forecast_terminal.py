"""What a terminal shows while forecasts are worked on, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import AverageRecalibration
from calibrant.forecasts import Normal

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")

MAIN = "from calibrant.cli import main; main()"
NORMAL = ("--mean", "mu", "--sd", "sigma")


@pytest.fixture(scope="module")
def many() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    mu = rng.normal(size=300_000)
    return pl.DataFrame({"mu": mu, "sigma": np.ones(len(mu)), "y": rng.normal(0.8 * mu, 1.3)})


@pytest.mark.parametrize(
    ("command", "bar"),
    [
        (("evaluate", "data.parquet", "--target", "y"), "threshold calibration"),
        (("recalibrate", "data.parquet", "--target", "y", "-o", "new.json"), "fit on two thirds"),
        (("apply", "map.json", "data.parquet", "-o", "new.csv"), "apply"),
        (("apply", "map.json", "data.parquet", "-o", "new.parquet"), "apply"),
    ],
)
def test_the_bar_and_ctrl_c(
    tmp_path: Path, many: pl.DataFrame, command: tuple[str, ...], bar: str
) -> None:
    # As many as take long, not more: the first step must be seen.
    rows = many.head(60_000) if command[0] == "recalibrate" else many
    rows.write_parquet(tmp_path / "data.parquet")
    fitted = AverageRecalibration().fit(Normal(many["mu"][:5000], 1.0), many["y"][:5000])
    fitted.save(tmp_path / "map.json")
    terminal, stderr = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "forecast", *command, *NORMAL],
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )
    os.close(stderr)
    try:
        shown = _read_until(terminal, bar + r" .*[1-9]\d* %")
        assert process.poll() is None, shown
        process.send_signal(signal.SIGINT)
        shown += _read_until(terminal, "(?!)")
        assert process.wait(60) == 130, shown
        assert "Traceback" not in shown
        assert process.stdout is not None
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.parquet", "map.json"]


def _read_until(terminal: int, pattern: str) -> str:
    """What the terminal shows until the pattern comes, or the process ends."""
    shown, deadline = "", time.monotonic() + 60
    while not re.search(pattern, shown) and time.monotonic() < deadline:
        try:
            read = os.read(terminal, 65_536)
        except OSError:  # Linux: the process has closed its side
            break
        if not read:
            break
        shown += read.decode(errors="replace")
    return shown
