"""What a terminal shows while a command runs, and Ctrl-C."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from calibrant import IsotonicCalibration

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")

MAIN = "from calibrant.cli import main; main()"
BINARY = ("--label", "y", "--prob", "p")
MULTICLASS = ("--label", "y", "--prob-prefix", "p_")

NEVER = "(?!)"

# Seconds; what does not come in this time does not come at all.
PATIENCE = 60

# Seconds that Ctrl-C may take on a busy machine; the work itself would take minutes.
PROMPTLY = 10.0


class Session:
    """A command whose stderr is a terminal, in a group of processes of its own."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        python: tuple[str, ...] = (),
        stdin: int | None = None,
        terminal_output: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        (folder / "tmp").mkdir(exist_ok=True)
        self.folder = folder
        self.terminal, stderr = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *python, "-c", MAIN, *arguments],
            cwd=folder,
            env=os.environ
            | {"TMPDIR": str(folder / "tmp"), "TERM": "xterm", "COLUMNS": "80"}
            | (environment or {}),
            stdin=stdin,
            stdout=stderr if terminal_output else subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
        os.close(stderr)
        self.shown = ""

    def read_until(self, pattern: str) -> None:
        """Read the terminal until it has shown the pattern, or nothing more comes."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.shown) and time.monotonic() < deadline:
            if not select.select([self.terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return
            try:
                read = os.read(self.terminal, 65_536)
            except OSError:  # Linux: the process has closed its side
                return
            if not read:
                return
            self.shown += read.decode(errors="replace")

    def interrupt(self, times: int = 1) -> float:
        """Press Ctrl-C; the seconds until the process has ended."""
        assert self.process.poll() is None, self.shown
        start = time.monotonic()
        for _ in range(times):
            self.process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.read_until(NEVER)
        self.process.wait(PATIENCE)
        return time.monotonic() - start

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())

    def assert_interrupted(self, seconds: float, files: list[str]) -> None:
        assert self.process.returncode == 130, self.shown
        assert seconds < PROMPTLY
        assert "Traceback" not in self.shown
        assert "KeyboardInterrupt" not in self.shown
        assert self.process.stdout is not None
        assert self.process.stdout.read() == b""
        assert self.files() == files
        with pytest.raises(ProcessLookupError):
            os.killpg(self.process.pid, 0)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[type[Session]]:
    begun: list[Session] = []

    def begin(*arguments: str, **options: Any) -> Session:
        begun.append(Session(tmp_path, *arguments, **options))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


@pytest.fixture(scope="module")
def ten_classes() -> pl.DataFrame:
    """So many rows that the canonical test of them takes long."""
    rng = np.random.default_rng(0)
    n, n_classes = 60_000, 10
    prob = rng.dirichlet(np.ones(n_classes), n)
    columns = {f"p_{k}": prob[:, k] for k in range(n_classes)}
    return pl.DataFrame({"y": np.arange(n) % n_classes} | columns)


@pytest.fixture(scope="module")
def two_classes() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.random(1_000_000)
    return pl.DataFrame({"y": (rng.random(len(p)) < p).astype(int), "p": p})


@pytest.mark.parametrize("times", [1, 4])
def test_the_bar_of_a_long_test_and_ctrl_c(session, tmp_path: Path, ten_classes, times) -> None:
    ten_classes.write_parquet(tmp_path / "data.parquet")
    running = session("test", "data.parquet", *MULTICLASS)
    running.read_until(r"test .*[1-9]\d* %")
    assert re.search("test .*━.* [1-9][0-9]* %", running.shown)
    running.assert_interrupted(running.interrupt(times), ["data.parquet"])
    assert running.shown.rstrip().endswith("\x1b[2K"), "the bar is wiped out"


def test_the_bar_of_many_resamples_and_ctrl_c(session, tmp_path: Path, two_classes) -> None:
    two_classes.write_parquet(tmp_path / "data.parquet")
    running = session("evaluate", "data.parquet", *BINARY, "--resamples", "20000")
    running.read_until(r"ECE .*[1-9]\d* %")
    assert re.search("ECE .*━.* [1-9][0-9]* %", running.shown)
    running.assert_interrupted(running.interrupt(), ["data.parquet"])


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_ctrl_c_leaves_no_part_of_a_file(session, tmp_path: Path, two_classes, output) -> None:
    rows = pl.concat([two_classes] * 3)
    rows.write_csv(tmp_path / "data.csv")
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    running = session("apply", "c.json", "data.csv", "--prob", "p", "--output", output)
    running.read_until(r"apply .*[1-9]\d* %")
    assert any(name.endswith(".tmp") for name in running.files()), "it is being written"
    running.assert_interrupted(running.interrupt(), ["c.json", "data.csv"])


@pytest.mark.parametrize("module", ["typer", "numpy", "polars"])
def test_ctrl_c_while_it_starts(session, tmp_path: Path, two_classes, module) -> None:
    two_classes.write_parquet(tmp_path / "data.parquet")
    running = session("evaluate", "data.parquet", *BINARY, python=("-X", "importtime"))
    running.read_until(rf"\| +{module}\._?[a-z]")
    running.assert_interrupted(running.interrupt(), ["data.parquet"])


def test_no_bar_without_a_terminal(calibrant, tmp_path: Path, two_classes) -> None:
    two_classes.head(20_000).write_parquet(tmp_path / "data.parquet")
    for command in ("evaluate", "test"):
        run = calibrant(command, "data.parquet", *BINARY, "--resamples", "50")
        assert run.code in (0, 3)
        assert run.stderr == ""
        assert "\x1b" not in run.stdout
        assert "\r" not in run.stdout


def test_colours_and_the_width_of_a_terminal(session, tmp_path: Path, two_classes) -> None:
    two_classes.head(2_000).write_parquet(tmp_path / "data.parquet")
    command = ("evaluate", "data.parquet", *BINARY, "--resamples", "9")
    for environment in ({}, {"NO_COLOR": "1"}):
        running = session(*command, terminal_output=True, environment=environment)
        running.read_until(NEVER)
        assert running.process.wait(PATIENCE) == 0
        assert "data.parquet: 2,000 rows; p predicts 1" in running.shown
        coloured = re.search(r"\x1b\[[0-9;]*3\dm", running.shown)
        assert not (environment and coloured)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", running.shown)
        assert (
            max(len(line.split("\r")[-1]) for line in plain.replace("\r\n", "\n").split("\n")) <= 80
        )


def test_ctrl_c_while_a_pipe_is_read(session, tmp_path: Path) -> None:
    running = session("evaluate", "-", *BINARY, stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    running.process.stdin.write(b"y,p\n" + b"1,0.5\n" * 50_000)
    running.process.stdin.flush()
    deadline = time.monotonic() + PATIENCE
    while not running.files() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(running.files()) == 1, "the copy of standard input"
    time.sleep(0.5)  # it waits for more by now
    running.assert_interrupted(running.interrupt(), [])
    running.process.stdin.close()
