"""Mistakes in options, what `calibrant` says of itself, and names that could command a terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import calibrant as cb

BINARY = ("binary.csv", "--label", "y", "--prob", "p")
UNPRINTABLE = "\x1b]0;owned\x07\x1b[31mred\x9b0m\u202e"
ESCAPED = r"\x1b]0;owned\x07\x1b[31mred\x9b0m\u202e"


def test_version(calibrant) -> None:
    run = calibrant("--version")
    assert (run.code, run.stdout, run.stderr) == (0, f"calibrant {cb.__version__}\n", "")


@pytest.mark.parametrize(
    ("command", "option", "given", "meant"),
    [
        ("fit", "--method", "isotnic", "isotonic"),
        ("fit", "--method", "Platt", "platt"),
        ("evaluate", "--strategy", "quantil", "quantile"),
        ("evaluate", "--input", "logits", "logit"),
    ],
)
def test_choices(calibrant, binary, command: str, option: str, given: str, meant: str) -> None:
    run = calibrant(command, *BINARY, option, given)
    assert (run.code, run.stdout) == (2, "")
    assert f"Invalid value for '{option}': '{given}' is not one of '" in run.stderr
    assert run.stderr.endswith(f'. Did you mean "{meant}"?\n')


def test_a_choice_that_is_like_none(calibrant, binary) -> None:
    run = calibrant("evaluate", *BINARY, "--strategy", "xyz")
    assert run.stderr.endswith("'xyz' is not one of 'uniform', 'quantile'.\n")


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_completion_takes_no_shell(calibrant, option: str) -> None:
    run = calibrant(option, "zsh")
    assert (run.code, run.stdout) == (2, "")
    assert f"{option} is for the shell that calls it, and takes no other: leave out zsh" in (
        run.stderr
    )
    assert "_CALIBRANT_COMPLETE=source_zsh calibrant prints the script for Zsh" in run.stderr


@pytest.mark.parametrize("output", ["c.pkl", "c.joblib", "c.parquet", "c.html", "c"])
def test_a_calibrator_is_saved_as_json(calibrant, binary, tmp_path: Path, output: str) -> None:
    run = calibrant("fit", *BINARY, "--method", "platt", "-o", output)
    assert run.code == 2
    assert f"the calibrator is saved as JSON: {output} should end with .json." in run.stderr
    assert not (tmp_path / output).exists()


def test_names_and_labels_cannot_command_the_terminal(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), 60)
    labels = [UNPRINTABLE, "b", "c"]
    columns = {f"p_{label}": prob[:, k] for k, label in enumerate(labels)}
    frame = pl.DataFrame({UNPRINTABLE: [labels[k] for k in np.arange(60) % 3], **columns})
    file = f"{UNPRINTABLE}.parquet"
    frame.write_parquet(tmp_path / file)
    read = (file, "--label", UNPRINTABLE, "--prob-prefix", "p_")
    found = f"{UNPRINTABLE}.json"
    for command in (
        ("evaluate", *read, "--resamples", "9"),
        ("evaluate", *read, "--engine", "polars"),
        ("evaluate", file),
        ("compare", *read, "--resamples", "9"),
        ("fit", *read, "--method", "vector", "-o", found),
        ("apply", found, file, "--prob-prefix", "p_", "-o", f"{UNPRINTABLE}.csv"),
        ("evaluate", *read[:3], "--prob", "nope"),
        ("evaluate", UNPRINTABLE),
        ("evaluate", *BINARY, f"--{UNPRINTABLE}"),
        ("evaluate", *BINARY, UNPRINTABLE),
        ("fit", *BINARY, "--method", UNPRINTABLE, "-o", "c.json"),
    ):
        run = calibrant(*command)
        shown = run.stdout + run.stderr
        assert all(sign.isprintable() or sign == "\n" for sign in shown), command
        assert "owned" in shown, command
    assert ESCAPED in calibrant("evaluate", UNPRINTABLE).stderr
    assert (tmp_path / f"{UNPRINTABLE}.csv").exists()
    assert calibrant("evaluate", *read, "--resamples", "0", "--json").json["file"] == file


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("bins", ["5", "10"])
def test_the_table_of_bins_has_a_line_for_each(
    calibrant, binary: pl.DataFrame, tmp_path: Path, strategy: str, bins: str
) -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    rare = pl.DataFrame({"y": rng.integers(0, 2, n), "p": rng.random(n) ** 3 / 3})
    rare.with_columns(w=rng.random(n)).write_csv(tmp_path / "rare.csv")
    for file in ("binary.csv", "rare.csv"):
        options = ("--strategy", strategy, "--bins", bins, "--weight", "w", "--resamples", "0")
        lines = calibrant("evaluate", file, *BINARY[1:], *options).stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert not any("…" in line for line in lines)
        start = next(k for k, line in enumerate(lines) if line.startswith(" predictions "))
        assert lines[start].split("gap")[1].strip() == "█ obs. | pred."
        assert lines[start - 1].strip() == "", "the heading takes one line"
        rows = [line for line in lines[start + 2 :] if line.strip()]
        assert all(set(line.split()[-1]) <= set("█·|") for line in rows)


def test_without_room_there_is_no_bar(
    calibrant, binary: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.cli.show.out.width", 60)
    lines = calibrant("evaluate", *BINARY, "--resamples", "0").stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert any(line.split() == ["predictions", "rows", "predicted", "observed", "gap"]
               for line in lines)  # fmt: skip


@pytest.fixture
def unwritable(binary: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that looks as if it could be written to, and cannot."""
    closed = Path("/proc")
    if not closed.is_dir():
        pytest.skip("needs /proc")
    monkeypatch.setattr("calibrant.cli.files.os.access", lambda path, mode: True)


@pytest.mark.parametrize(
    "command",
    [
        ("fit", *BINARY, "--method", "platt", "-o", "/proc/x.json"),
        ("apply", "c.json", "binary.csv", "--prob", "p", "-o", "/proc/x.csv"),
        ("apply", "c.json", "binary.csv", "--prob", "p", "-o", "/proc/x.parquet"),
        ("report", *BINARY, "--resamples", "9", "-o", "/proc/x.html"),
    ],
)
def test_an_output_that_cannot_be_written_is_named(calibrant, unwritable, command) -> None:
    if command[0] == "apply":
        calibrant("fit", *BINARY, "--method", "platt", "-o", "c.json")
    run = calibrant(*command)
    assert run.code == 2
    assert run.stderr.startswith(f"Error: {command[-1]}: ")
    assert ".tmp" not in run.stderr


def test_a_full_disk_is_no_fault_of_ours(calibrant, binary, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="no limits on this system")
    pl.concat([binary] * 50).write_csv(tmp_path / "data.csv")
    calibrant("fit", *BINARY, "--method", "platt", "-o", "c.json")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for output in ("out.csv", "out.parquet"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            run = calibrant("apply", "c.json", "data.csv", "--prob", "p", "-o", output)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert run.code == 2
        assert run.stderr.startswith(f"Error: {output}: cannot be written (")
        assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == []


def test_long_names_of_outputs(calibrant, binary, tmp_path: Path) -> None:
    longest = "a" * 250 + ".json"
    assert calibrant("fit", *BINARY, "--method", "platt", "-o", longest).code == 0
    assert (tmp_path / longest).exists()
