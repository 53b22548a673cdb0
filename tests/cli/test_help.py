"""Help and its examples, completion, colours, and what `--json` prints."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer.main

from calibrant.cli.app import app


def commands() -> dict[str, list[str]]:
    """All commands by name, with the arguments that call them."""
    found: dict[str, list[str]] = {}

    def walk(command: typer.main.TyperCommand, path: list[str]) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found[" ".join(path)] = path
        for name, one in (inner or {}).items():
            walk(one, [*path, name])

    walk(typer.main.get_command(app), [])
    return found


COMMANDS = commands()


def example(help_text: str) -> list[str]:
    found = re.search(r"Example:\n((?:    .+\n)+)", help_text)
    assert found, "no example"
    return shlex.split(found[1].replace("\\\n", " "))[1:]


@pytest.fixture
def scored(tmp_path: Path) -> None:
    """The files that examples name."""
    rng = np.random.default_rng(0)
    p = rng.random(120)
    happened = rng.random(120) < 0.25 + p / 2  # the forecasts are overconfident
    frame = pl.DataFrame({
        "bought": happened.astype(int), "p_buy": p,
        "mu": 6 * p, "sigma": 1.0, "y": 6 * p + rng.normal(size=120),
    })  # fmt: skip
    for name in ("scored.csv", "past.csv", "new.csv"):
        frame.write_csv(tmp_path / name)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(calibrant, command: str) -> None:
    run = calibrant(*COMMANDS[command], "--help")
    assert (run.code, run.stderr) == (0, "")
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert "..." not in run.stdout.split("Example:")[0]
    wanted = example(run.stdout)
    assert wanted[: len(COMMANDS[command])] == COMMANDS[command]


def test_every_command_is_listed_in_full(calibrant) -> None:
    for group, n in (((), 8), (("forecast",), 5)):
        listed = calibrant(*group, "--help").stdout.split("Commands:\n")[1].splitlines()
        assert len(listed) == n
        assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_the_examples_run(calibrant, scored: None) -> None:
    """Each as it stands there, and again with --json: one object on stdout."""
    order = ["fit", "forecast recalibrate", *COMMANDS]  # what the others read comes first
    for command in dict.fromkeys(order):
        if command == "demo":
            continue  # has a test of its own
        arguments = example(calibrant(*COMMANDS[command], "--help").stdout)
        run = calibrant(*arguments)
        rejected = 3 if command == "test" else 0
        assert (run.code, run.stderr) == (rejected, ""), command
        assert max(map(len, run.stdout.splitlines())) <= 80
        if "report" in command:
            continue  # slow; what it prints is looked at elsewhere
        again = calibrant(*arguments, "--json", *(["--force"] if "-o" in arguments else []))
        assert (again.code, again.stderr) == (rejected, ""), command
        assert again.stdout.count("\n") == 1
        assert again.json["file"] in ("scored.csv", "past.csv", "new.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_the_same_everywhere(calibrant, command: str) -> None:
    text = calibrant(*COMMANDS[command], "--help").stdout
    assert ("--output" in text) == ("-o, --output" in text)
    assert "--json" in text
    if "-o, --output" in text:
        assert "--force" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(calibrant, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv("_CALIBRANT_COMPLETE", f"source_{shell}")
    run = calibrant()
    assert (run.code, run.stderr) == (0, "")
    assert "_CALIBRANT_COMPLETE=complete_" in run.stdout


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_show_completion() -> None:
    """For the shell that it is called from."""
    command = shlex.join([sys.executable, "-c", "from calibrant.cli import main; main()"])
    ran = subprocess.run(
        ["bash", "-c", f"{command} --show-completion; exit $?"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "complete -o default -F _calibrant_completion calibrant" in ran.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("calibrant ev", ["evaluate"]),
        ("calibrant evaluate scored.csv --prob", ["--prob", "--prob-prefix"]),
        ("calibrant forecast re", ["recalibrate", "report"]),
        ("calibrant forecast decide a.csv --act-when b", ["below"]),
    ],
)
def test_completion(calibrant, monkeypatch: pytest.MonkeyPatch, line: str, expected) -> None:
    monkeypatch.setenv("_CALIBRANT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert calibrant().stdout.split() == expected
