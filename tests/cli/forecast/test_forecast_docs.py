"""Every example of the guide to the command line, as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from calibrant.datasets import load_protein_forecasts

GUIDE = Path(__file__).parents[3] / "docs" / "command-line.md"


def test_the_examples_of_the_guide(calibrant, tmp_path: Path) -> None:
    if not GUIDE.exists():
        pytest.skip("the documentation is not part of this distribution")
    (tmp_path / "demo").mkdir()
    for split in ("validation", "test"):
        frame = pl.DataFrame(load_protein_forecasts(split).to_dict()).head(2_000)
        frame.write_csv(tmp_path / "demo" / f"protein_{split}.csv")
    lines = GUIDE.read_text("utf-8").splitlines()
    start = "    calibrant forecast "
    examples = [line for line in lines if line.startswith(start) and "|" not in line]
    assert len(examples) == 9
    for line in examples:
        run = calibrant(*shlex.split(line)[1:])
        assert (run.code, run.stderr) == (0, ""), line
    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert written == {
        "map.json", "recalibrated.csv", "decisions.csv", "quantiles.parquet", "chances.csv",
    }  # fmt: skip
    assert pl.read_csv(tmp_path / "chances.csv").columns[-2:] == ["cdf_-0.5", "cdf_0"]
