"""From stored forecasts to tables and figures."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import polars as pl
import pytest
from paper.forecasts import stored
from paper.tables import COMPARED

from paper import figures, run, tables

PAGE = "\n".join(
    f"{name}:\n<!-- {name} -->\nstale\n<!-- end {name} -->\n"
    for name in ("order", "claims", "thresholds", "families", "beyond")
)


@pytest.fixture(scope="module")
def measured(forecasts, tmp_path_factory):
    """Results and documentation of two runs over the same forecasts."""
    made = []
    for jobs in (1, 2):
        docs = tmp_path_factory.mktemp("docs")
        results = tmp_path_factory.mktemp("cache") / "results.parquet"
        (docs / "paper.md").write_text(PAGE, encoding="utf-8")
        run.main(["--forecasts", str(forecasts), "--results", str(results), "--docs", str(docs),
                  "--methods", *COMPARED, "--jobs", str(jobs)])  # fmt: skip
        made.append((results, docs))
    return made


def test_same_bytes_twice(measured):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    contents = []
    for results, docs in measured:
        figures.main(["--results", str(results), "--docs", str(docs)])
        files = sorted(path for path in docs.rglob("*") if path.is_file())
        contents.append({path.relative_to(docs): path.read_bytes() for path in files})
        contents[-1]["results"] = results.read_bytes()
    assert contents[0].keys() == contents[1].keys()
    assert len(contents[0]) == 7  # the results, two pages, four figures
    for name, content in contents[0].items():
        assert content == contents[1][name], name
    assert b"stale" not in contents[0][Path("paper.md")]


def test_results_are_tidy(measured, forecasts):
    results = pl.read_parquet(measured[0][0])
    keys = [*run.KEYS, "axis", "measure", "index"]
    assert results.select(keys).is_duplicated().sum() == 0
    cases = results.select(run.KEYS).unique()
    assert len(cases) == 2 * 2 * 2 * len(COMPARED)
    assert len(stored(forecasts)) == 8
    [tables] = measured[0][1].glob("paper/*.md")
    text = tables.read_text(encoding="utf-8")
    gap = results.filter(
        (pl.col("axis") == "overall") & (pl.col("measure") == "reliability gap")
        & (pl.col("data") == "protein") & (pl.col("family") == "mixture")
    )  # fmt: skip
    for mean in gap.group_by("method").agg(pl.col("value").mean())["value"]:
        assert f"{mean:.4f}" in text


def test_a_run_replaces_only_what_it_measures(measured, forecasts, tmp_path):
    results, docs = (tmp_path / name for name in ("results.parquet", "docs"))
    shutil.copy(measured[0][0], results)
    shutil.copytree(measured[0][1], docs)
    before = pl.read_parquet(results)
    run.main(["--forecasts", str(forecasts), "--results", str(results), "--docs", str(docs),
              "--sets", "protein", "--seeds", "0", "--methods", "average",
              "calibrant:AverageRecalibration", "--jobs", "1"])  # fmt: skip
    after = pl.read_parquet(results)
    own = pl.col("method") == "calibrant:AverageRecalibration"
    assert after.filter(~own).equals(before)
    added = after.filter(own)
    assert added.select("data", "family", "seed").unique().sort("family").rows() == [
        ("protein", "gaussian", 0),
        ("protein", "mixture", 0),
    ]
    same = ["family", "axis", "index", "measure", "value"]
    average = after.filter(
        (pl.col("method") == "average") & (pl.col("data") == "protein") & (pl.col("seed") == 0)
    )
    assert added.select(same).equals(average.select(same))
    assert "calibrant:AverageRecalibration" in (docs / "paper/tables.md").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--methods", "nothing"], "no method 'nothing'"),
        (["--forecasts", "nowhere"], "there are no forecasts of protein"),
        (["--seeds", "7"], "there are no forecasts of protein"),
    ],
)
def test_what_cannot_be_done(forecasts, tmp_path, capsys, options, words):
    with pytest.raises(SystemExit) as stopped:
        run.main(
            ["--forecasts", str(forecasts), "--results", str(tmp_path / "r.parquet"), *options]
        )
    assert stopped.value.code == 1
    assert words in capsys.readouterr().err


def test_lines_differ_without_colours():
    looks = [(line.style, line.marker) for line in figures.LINES.values()]
    assert all(one != other for one, other in itertools.combinations(looks, 2))


def test_beyond_compares_with_the_better_number_of_layers():
    gaps = {  # of the two seeds, by method
        "protein": [(0.3, 0.5), (0.1, 0.1), (0.2, 0.2), (0.09, 0.11), (0.05, 0.07)],
        "energy": [(0.3, 0.3), (0.4, 0.4), (0.1, 0.3), (0.2, 0.2), (0.1, 0.1)],
    }
    rows = [
        (name, "gaussian", seed, method, "overall", "reliability gap", gap)
        for name, values in gaps.items()
        for method, pair in zip(tables.BEYOND, values, strict=True)
        for seed, gap in enumerate(pair)
    ]
    schema = ["data", "family", "seed", "method", "axis", "measure", "value"]
    lines = tables.beyond(pl.DataFrame(rows, schema=schema, orient="row")).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [row[:2] for row in cells] == [
        ["protein", "gaussian"],
        ["energy", "gaussian"],
        ["all", ""],
    ]
    assert [row[-1] for row in cells] == ["0.60", "0.50", "0.40"]
    assert cells[2][2:-1] == ["0.3500", "0.2500", "0.2000", "0.1500", "0.0800"]
    assert cells[0][-2].startswith("**0.0600")
