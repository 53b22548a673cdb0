"""Running the command line inside the test process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
