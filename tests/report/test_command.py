"""`calibrant report` and `calibrant forecast report`."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from calibrant.cli import main
from calibrant.forecasts import Normal
from calibrant.reporting import forecast_report, report


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command in `tmp_path`: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calibrant", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def scored(tmp_path) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    prob = rng.random(200)
    frame = pl.DataFrame(
        {"won": rng.random(200) < prob**2, "p": prob, "league": rng.choice(["a", "b"], 200)}
    )
    frame.write_csv(tmp_path / "scored.csv")
    return frame


CLASSES = ("report", "scored.csv", "--label", "won", "--prob", "p", "--resamples", "19")


def test_report_writes_the_page(run, scored, tmp_path):
    code, out, err = run(*CLASSES, "--by", "league", "-o", "report.html")
    assert (code, err) == (0, "")
    assert "Wrote report.html" in out
    expected = report(
        scored["won"], scored["p"], by=scored["league"], title="scored.csv", n_resamples=19
    )
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == expected.html
    assert " ".join(out.split()).startswith(expected.verdict)


def test_logits_stay_logits(run, tmp_path):
    rng = np.random.default_rng(2)
    z = rng.normal(size=60)
    frame = pl.DataFrame({"won": rng.random(60) < 1.0 / (1.0 + np.exp(-z / 2.0)), "z": z})
    frame.write_csv(tmp_path / "z.csv")
    code, _, err = run(
        "report", "z.csv", "--label", "won", "--prob", "z", "--input", "logit", "--resamples", "9",
        "-o", "z.html",
    )  # fmt: skip
    assert (code, err) == (0, "")
    expected = report(frame["won"], z, input="logit", title="z.csv", n_resamples=9)
    assert (tmp_path / "z.html").read_text(encoding="utf-8") == expected.html


def test_forecast_report_writes_the_page(run, tmp_path):
    rng = np.random.default_rng(1)
    mu = rng.normal(size=100)
    frame = pl.DataFrame({"mu": mu, "sigma": np.full(100, 0.5), "y": mu + rng.normal(size=100)})
    frame.write_csv(tmp_path / "f.csv")
    code, out, _ = run(
        "forecast", "report", "f.csv", "--mean", "mu", "--sd", "sigma", "--target", "y",
        "--title", "Tomorrow", "--date", "today", "-o", "f.html", "--json",
    )  # fmt: skip
    assert code == 0
    expected = forecast_report(Normal(mu, 0.5), frame["y"], title="Tomorrow", date="today")
    assert json.loads(out) == {
        "file": "f.csv", "output": "f.html", "verdict": expected.verdict
    }  # fmt: skip
    assert (tmp_path / "f.html").read_text(encoding="utf-8") == expected.html


def test_nothing_is_overwritten_unasked(run, scored, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    code, _, err = run(*CLASSES, "-o", "report.html")
    assert code == 2
    assert "report.html exists already" in err
    assert (tmp_path / "report.html").read_text() == "mine"
    assert run(*CLASSES, "-o", "report.html", "--force")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "report.pdf"), "the report is an HTML page"),
        (("-o", "report.html", "--by", "leage"), 'Did you mean "league"?'),
        (("-o", "report.html", "--by", "p"), "which is no label"),
    ],
)
def test_mistakes_are_explained(run, scored, options, message):
    code, _, err = run(*CLASSES, *options)
    assert code == 2
    assert message in " ".join(err.split())


BLOCKED = """
import sys
sys.modules[sys.argv[1]] = None
from calibrant.reporting import report
try:
    report([0, 1], [0.2, 0.7])
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("package", ["jinja2", "vl_convert"])
def test_without_its_packages_the_error_says_what_to_install(package):
    result = subprocess.run(
        [sys.executable, "-c", BLOCKED, package], capture_output=True, text=True, check=True
    )
    assert result.stdout == (
        "a report needs altair, jinja2, matplotlib and vl-convert-python: "
        'pip install "calibrant[report]"\n'
    )
