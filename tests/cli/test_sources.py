"""What FILE may be besides a file: standard input, a folder, a pattern; and JSON lines."""

from __future__ import annotations

import gc
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from calibrant import BetaCalibration

COLUMNS = ("--label", "y", "--prob", "p")
QUICK = (*COLUMNS, "--resamples", "0", "--json")
NORMAL = ("--mean", "z", "--sd", "w", "--target", "p")

FORMATS = [("csv", "CSV"), ("parquet", "Parquet"), ("ndjson", "JSON lines")]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Let standard input bring something."""

    def bring(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return bring


@pytest.fixture
def files(binary: pl.DataFrame, tmp_path: Path) -> pl.DataFrame:
    binary.write_ndjson(tmp_path / "binary.ndjson")
    return binary


@pytest.fixture
def parts(binary: pl.DataFrame, tmp_path: Path) -> pl.DataFrame:
    """The rows in scores/1.parquet, scores/2.parquet and scores/3.parquet."""
    (tmp_path / "scores").mkdir()
    for k, start in enumerate((0, 150, 290)):
        end = (150, 290, 400)[k]
        binary[start:end].write_parquet(tmp_path / "scores" / f"{k + 1}.parquet")
    return binary


@pytest.mark.parametrize(("suffix", "words"), FORMATS)
def test_standard_input_is_recognised(
    calibrant, files: pl.DataFrame, pipe, tmp_path: Path, suffix: str, words: str
) -> None:
    content = (tmp_path / f"binary.{suffix}").read_bytes()
    expected = calibrant("evaluate", f"binary.{suffix}", *QUICK).json
    pipe(content)
    run = calibrant("evaluate", "-", *QUICK)
    assert (run.code, run.stderr) == (0, "")
    source = f"standard input ({words})"
    assert run.json == expected | {"file": source}
    pipe(content)
    assert calibrant("evaluate", "-", *QUICK[:-1]).text.startswith(f"{source}: 400 rows; p pred")


def test_every_command_reads_standard_input(calibrant, files, pipe, tmp_path: Path) -> None:
    calibrant("fit", "binary.csv", *COLUMNS, "--method", "beta", "-o", "beta.json")
    fit = ("forecast", "recalibrate", "binary.csv", *NORMAL, "--method", "average", "-o")
    assert calibrant(*fit, "map.json").code == 0
    decide = ("--threshold", "0", "--cost-false-alarm", "1", "--cost-miss", "2")
    for command in [
        ("test", "-", *COLUMNS, "--resamples", "9"),
        ("compare", "-", *COLUMNS, "--resamples", "9", "--cv", "2"),
        ("fit", "-", *COLUMNS, "--method", "beta", "-o", "new.json"),
        ("apply", "beta.json", "-", "--prob", "p", "-o", "new.csv"),
        ("report", "-", *COLUMNS, "--resamples", "9", "--by", "name", "-o", "page.html"),
        ("forecast", "evaluate", "-", *NORMAL),
        ("forecast", "recalibrate", "-", *NORMAL, "--method", "average", "-o", "m.json"),
        ("forecast", "apply", "map.json", "-", *NORMAL[:4], "-o", "new.parquet"),
        ("forecast", "decide", "-", *NORMAL[:4], *decide, "-o", "decisions.csv"),
        ("forecast", "report", "-", *NORMAL, "--resamples", "9", "-o", "forecast.html"),
    ]:
        pipe((tmp_path / "binary.csv").read_bytes())
        run = calibrant(*command, "--json")
        assert run.code in (0, 3), (command, run)
        assert run.json["file"] == "standard input (CSV)"
    assert pl.read_csv(tmp_path / "new.csv").height == 400


def test_the_copy_of_standard_input_is_deleted(
    calibrant, binary, pipe, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for content, code in [((tmp_path / "binary.csv").read_bytes(), 0), (b"", 2), (b"y,p\n1", 2)]:
        pipe(content)
        assert calibrant("evaluate", "-", *QUICK).code == code
        gc.collect()
        assert not [*(tmp_path / "tmp").iterdir()]


@pytest.mark.parametrize(("content", "message"), [
    (b"", "standard input is empty"),
    (b"PAR1", "standard input (Parquet) is damaged or not a Parquet file"),
    (b"\x00\xff", "standard input (CSV) is not text in UTF-8"),
    (b"y,p\n1,0.5\n0,x\n", 'standard input (CSV), line 3: column "p" is "x"'),
    (b'{"y":1,"p":0.5}\n\n{"y":0,"p":2}\n', 'JSON lines), line 3: column "p" is 2.0, which is not'),
    (b'{"y":1,"p":0.5}\n{"y":0}\n', '(JSON lines), line 2: column "p" is empty'),
    (b'{"y":1,"p":0.5}\n{"y":0,"p":NaN}\n', "line 2 of standard input (JSON lines) is not valid"),
    (b'{"y":1,"p":0.5}\n{"y":0,"p"', "line 2 of standard input (JSON lines) is not valid JSON"),
    (b'{"y":1,"p":0.5}\n[0, 0.5]\n', "line 2 of standard input (JSON lines) is not a JSON object"),
    (b'{"y":1,"p":0.5,"y":0}\n', '"y" is there twice'),
])  # fmt: skip
def test_what_is_wrong_with_standard_input(calibrant, pipe, content: bytes, message: str) -> None:
    pipe(content)
    refused(calibrant("evaluate", "-", *QUICK), message)


def test_standard_input_that_nobody_feeds(calibrant, pipe, monkeypatch) -> None:
    pipe(b"")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    refused(calibrant("evaluate", "-", *QUICK), "pipe a file into it")
    monkeypatch.setattr("sys.stdin", None)
    refused(calibrant("evaluate", "-", *QUICK), "pipe a file into it")


def test_output_is_a_file(calibrant, binary, tmp_path: Path) -> None:
    refused(calibrant("fit", "binary.csv", *COLUMNS, "-o", "-"), "writes to files only")
    assert not (tmp_path / "-").exists()


def test_json_lines_keep_types(calibrant, files: pl.DataFrame, tmp_path: Path) -> None:
    BetaCalibration().fit(files["p"].to_numpy(), files["y"].to_numpy()).save(tmp_path / "c.json")
    assert calibrant("apply", "c.json", "binary.ndjson", "--prob", "p", "-o", "o.parquet").code == 0
    assert pl.read_parquet(tmp_path / "o.parquet").drop("calibrated_p").equals(files)
    refused(
        calibrant("apply", "c.json", "binary.ndjson", "--prob", "p", "-o", "o.ndjson"),
        "o.ndjson is neither .csv nor .parquet",
    )


@pytest.mark.parametrize("file", ["scores", "scores/*.parquet", "scores/[0-9].parquet"])
def test_parts_are_read_as_one_table(calibrant, parts: pl.DataFrame, tmp_path, file: str) -> None:
    run = calibrant("evaluate", file, *QUICK)
    assert (run.code, run.stderr) == (0, "")
    assert run.json["file"] == f"{file} (3 Parquet files)"
    assert run.json["n"] == 400
    BetaCalibration().fit([0.1, 0.6, 0.4, 0.9], [0, 0, 1, 1]).save(tmp_path / "c.json")
    assert calibrant("apply", "c.json", file, "--prob", "p", "-o", "new.parquet").code == 0
    assert pl.read_parquet(tmp_path / "new.parquet").drop("calibrated_p").equals(parts)


def test_one_part_is_named(calibrant, parts, binary) -> None:
    assert calibrant("evaluate", "scores/2*", *QUICK).json["file"] == "scores/2.parquet"
    assert calibrant("evaluate", "bin*.csv", *QUICK).json["file"] == "binary.csv"


def test_a_name_like_a_pattern_is_a_name(calibrant, binary, tmp_path: Path) -> None:
    binary[:100].write_csv(tmp_path / "b[i].csv")
    binary.write_csv(tmp_path / "bi.csv")
    assert calibrant("evaluate", "b[i].csv", *QUICK).json["n"] == 100


def test_the_place_in_a_part(calibrant, parts: pl.DataFrame, tmp_path: Path) -> None:
    wrong = parts[150:290].with_columns(pl.lit(2.0).alias("p"))
    wrong.write_parquet(tmp_path / "scores" / "2.parquet")
    refused(
        calibrant("evaluate", "scores", *QUICK),
        'scores (3 Parquet files), row 1 of scores/2.parquet: column "p" is 2.0',
    )


@pytest.mark.parametrize(("change", "message"), [
    (pl.col("p").cast(pl.String), '"p" is String in scores/2.parquet, but Float64 in scores/1.par'),
    (pl.exclude("p"), 'scores/2.parquet has no column "p", which scores/1.parquet has'),
    (pl.all().name.suffix("_"), 'scores/2.parquet has no column "y", which scores/1.parquet has'),
])  # fmt: skip
def test_parts_that_differ(calibrant, parts: pl.DataFrame, tmp_path, change, message) -> None:
    kept = (
        parts.select(change) if change.meta.has_multiple_outputs() else parts.with_columns(change)
    )
    kept.write_parquet(tmp_path / "scores" / "2.parquet")
    refused(calibrant("evaluate", "scores", *QUICK), message)


def test_a_column_more_and_another_order(calibrant, parts: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "scores" / "2.parquet"
    parts[150:290].select(reversed(parts.columns)).write_parquet(path)
    assert calibrant("evaluate", "scores", *QUICK).json["n"] == 400
    parts.with_columns(more=1).write_parquet(path)
    refused(calibrant("evaluate", "scores", *QUICK), 'scores/2.parquet has a column "more", which')


def test_parts_that_cannot_be_read(calibrant, parts: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "scores" / "2.parquet").write_bytes(b"PAR1")
    refused(calibrant("evaluate", "scores", *QUICK), "scores/2.parquet is damaged or not a Parquet")
    (tmp_path / "empty").mkdir()
    refused(calibrant("evaluate", "empty", *QUICK), "empty is a folder without Parquet files")
    refused(
        calibrant("evaluate", "no*", *QUICK), "there is no file no*, and none that this pattern"
    )
    message = "binary.* stands for 2 files, among them binary.csv: only Parquet files are"
    refused(calibrant("evaluate", "binary.*", *QUICK), message)


def test_folders_that_name_a_column(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    # The folder above is none of those that were asked for: it must not overwrite y.
    root = tmp_path / "y=7"
    for place, rows in (("north sea", binary[:250]), ("007", binary[250:])):
        folder = root / "all" / f"place={place.replace(' ', '%20')}"
        folder.mkdir(parents=True)
        rows.write_parquet(folder / "part.parquet")
    (root / "all" / "_temporary").mkdir()
    (root / "all" / "_temporary" / "half.parquet").write_bytes(b"")
    BetaCalibration().fit([0.1, 0.6, 0.4, 0.9], [0, 0, 1, 1]).save(tmp_path / "c.json")
    for file in ("y=7/all", "y=7/all/place=*/*.parquet"):
        apply = ("apply", "c.json", file, "--prob", "p", "-o", "new.parquet", "--force")
        assert calibrant(*apply).code == 0
        written = pl.read_parquet(tmp_path / "new.parquet")
        assert written["place"].to_list() == ["007"] * 150 + ["north sea"] * 250
        expected = pl.concat([binary[250:], binary[:250]])
        assert written.drop("place", "calibrated_p").equals(expected)
    (root / "all" / "part.parquet").write_bytes((folder / "part.parquet").read_bytes())
    refused(calibrant("evaluate", "y=7/all", *QUICK), "read one of the two at a time")


def test_parts_are_not_overwritten(calibrant, parts: pl.DataFrame, tmp_path: Path) -> None:
    BetaCalibration().fit([0.1, 0.6, 0.4, 0.9], [0, 0, 1, 1]).save(tmp_path / "c.json")
    before = {path: path.read_bytes() for path in (tmp_path / "scores").iterdir()}
    apply = ("apply", "c.json", "--prob", "p", "--force", "-o")
    run = calibrant(*apply, "scores/1.parquet", "scores/*.parquet")
    refused(run, "scores/1.parquet is a file to be read")
    refused(calibrant(*apply, "scores/new.parquet", "scores"), "is in the folder to be read")
    assert before == {path: path.read_bytes() for path in (tmp_path / "scores").iterdir()}


def refused(run, message: str) -> None:
    assert run.code == 2, run
    assert run.stderr.startswith("Error: ")
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, "one message, no traceback"
    assert not run.stdout
