"""Pipes that are closed early, and encodings that lack the characters of a table."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

MAIN = "from calibrant.cli import main; main()"
EVALUATE = ("evaluate", "binary.csv", "--label", "name", "--pos-label", "won", "--prob", "p")


@pytest.fixture
def encoded(calibrant, monkeypatch: pytest.MonkeyPatch):
    """Run a command whose stdout has an encoding: ``encoded("ascii", "evaluate", ...)``."""

    def run(encoding: str, *arguments: str) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
        monkeypatch.setattr("sys.stdout", stream)
        ended = calibrant(*arguments, "--resamples", "9")
        assert (ended.code, ended.stderr) == (0, "")
        return stream.buffer.getvalue().decode(encoding)

    return run


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_encodings_of_stdout(encoded, tmp_path: Path, binary: pl.DataFrame, encoding: str) -> None:
    renamed = binary.with_columns(pl.col("name").replace("lost", "verlören ☹"))
    renamed.write_csv(tmp_path / "binary.csv")
    shown = encoded(encoding, *EVALUATE)
    unicode = encoding == "utf-8"
    assert ("█" in shown) == unicode
    assert ("# obs. | pred." in shown) != unicode
    assert "\\u" not in shown, "all that we draw can be drawn"
    assert max(map(len, shown.splitlines())) <= 80


def test_names_that_the_encoding_lacks_are_escaped(
    encoded, tmp_path: Path, animals: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"cat": "катя", "dog": "été"}
    columns = {f"p_{old}": f"p_{new}" for old, new in names.items()}
    frame = animals.with_columns(pl.col("animal").replace(names)).rename(columns)
    frame.write_parquet(tmp_path / "data.parquet")
    monkeypatch.setenv("COLUMNS", "200")
    evaluate = ("evaluate", "data.parquet", "--label", "animal", "--prob-prefix", "p_")
    assert r"\u043a\u0430\u0442\u044f" in encoded("ascii", *evaluate)
    assert "катя" in json.loads(encoded("ascii", *evaluate, "--json"))["classes"]


@pytest.mark.parametrize(
    ("options", "n_bytes"),
    [((), 0), (("--json",), 0), (("--json", "--bins", "100000"), 1)],
)
def test_a_pipe_that_is_closed_early(
    tmp_path: Path, binary: pl.DataFrame, options: tuple[str, ...], n_bytes: int
) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", MAIN, *EVALUATE, "--resamples", "9", *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(n_bytes)
    running.stdout.close()
    with running.stderr:
        assert running.stderr.read() == b""
    # What fits into the pipe at once may have been written before it was closed.
    assert running.wait() in ((141,) if n_bytes == 0 else (0, 141))
