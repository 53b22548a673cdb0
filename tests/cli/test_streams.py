"""Pipes that are closed early, and encodings that lack the characters of a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

MAIN = "from calibrant.cli import main; main()"
EVALUATE = ("evaluate", "binary.csv", "--label", "name", "--pos-label", "won", "--prob", "p")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, *arguments, "--resamples", "9"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_encodings_of_stdout(tmp_path: Path, binary: pl.DataFrame, encoding: str) -> None:
    renamed = binary.with_columns(pl.col("name").replace("lost", "verlören ☹"))
    renamed.write_csv(tmp_path / "binary.csv")
    ended = subprocess.run(
        command(*EVALUATE),
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "80"},
        capture_output=True,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    shown = ended.stdout.decode(encoding)
    unicode = encoding == "utf-8"
    assert ("█" in shown) == unicode
    assert ("# observed" in shown) != unicode
    assert "\\u" not in shown, "all that we draw can be drawn"
    assert max(map(len, shown.splitlines())) <= 80


def test_names_that_the_encoding_lacks_are_escaped(tmp_path: Path, animals: pl.DataFrame) -> None:
    names = {"cat": "катя", "dog": "été"}
    columns = {f"p_{old}": f"p_{new}" for old, new in names.items()}
    frame = animals.with_columns(pl.col("animal").replace(names)).rename(columns)
    frame.write_parquet(tmp_path / "data.parquet")
    evaluate = ("evaluate", "data.parquet", "--label", "animal", "--prob-prefix", "p_")
    for options, expected in (((), r"\u043a\u0430\u0442\u044f"), (("--json",), "катя")):
        ended = subprocess.run(
            command(*evaluate, *options),
            cwd=tmp_path,
            env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        shown = json.loads(ended.stdout)["classes"] if options else ended.stdout
        assert expected in shown


@pytest.mark.parametrize("options", [(), ("--json",), ("--json", "--bins", "100000")])
@pytest.mark.parametrize("n_bytes", [0, 1])
def test_a_pipe_that_is_closed_early(
    tmp_path: Path, binary: pl.DataFrame, options: tuple[str, ...], n_bytes: int
) -> None:
    running = subprocess.Popen(
        command(*EVALUATE, *options),
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
