"""Every mistake in what the user gives: exit code 2 and one message that says what to do."""

from __future__ import annotations

import csv
import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import BetaCalibration, IsotonicCalibration, TemperatureScaling, reliability_table

EVALUATE = ("evaluate", "data.csv", "--label", "y", "--prob", "p", "--resamples", "0")
HEADER = "y,p\n"
FINE = "0,0.2\n1,0.7\n"

PROBABILITIES = [
    ("text", "1,high\n", 'line 4: column "p" is "high", which is not a number'),
    ("a percentage sign", "1,57%\n", 'line 4: column "p" is "57%", which is not a number'),
    ("a decimal comma", '1,"0,5"\n', 'line 4: column "p" is "0,5", which is not a number'),
    ("NaN", "1,NaN\n", 'line 4: column "p" is "NaN", which is not a number'),
    ("infinity", "1,inf\n", 'line 4: column "p" is "inf", which is not a number'),
    ("nothing", "1,\n", 'line 4: column "p" is empty'),
    ("blanks", "1,  \n", 'line 4: column "p" is empty'),
    ("a percentage", "1,57.5\n", 'line 4: column "p" is "57.5", which is not a probability'),
    ("less than zero", "1,-0.1\n", 'line 4: column "p" is "-0.1", which is not a probability'),
]

LABELS = [
    ("nothing", ",0.5\n", 'line 4: column "y" is empty'),
    ("half a win", "0.5,0.5\n", 'line 4: column "y" is 0.5, which is no label'),
    ("a third label", "2,0.5\n", "has the labels 0, 1, 2: say with --pos-label"),
    ("text among numbers", "yes,0.5\n", "has the labels 0, 1, yes: say with --pos-label"),
]

LINES = [
    ("too many values", "1,0.5,9\n", "line 4 of data.csv has 3 values, but the first line names 2"),
    ("too few values", "1\n", "line 4 of data.csv has 1 value, but the first line names 2"),
    ("a blank line", "\n1,0.5\n", "line 4 of data.csv is blank: delete it"),
    ("a quote left open", '1,"0.5\n1,0.3\n', "line 4 of data.csv is not valid CSV"),
]


@pytest.mark.parametrize(
    ("line", "message"),
    [case[1:] for case in PROBABILITIES + LABELS + LINES],
    ids=[case[0] for case in PROBABILITIES + LABELS + LINES],
)
def test_a_wrong_line(calibrant, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE + line)
    assert_refused(calibrant(*EVALUATE), message)


def test_the_line_is_right_where_text_runs_over_several(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('name,y,p\n"two\nlines",1,0.5\nshort,0,nope\n')
    assert_refused(calibrant(*EVALUATE), 'line 4: column "p" is "nope"')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data.csv is empty"),
        (b"y,p\n", "has the names of columns, but no rows"),
        (b"y,p", "has the names of columns, but no rows"),
        (b"y,p\n\n", "has the names of columns, but no rows"),
        (b"p,y,p\n1,0,1\n", 'data.csv has two columns named "p"'),
        (b"y;p\n1;0,5\n", "the values must be separated by commas"),
        ("y,p,né\n1,0.5,é\n".encode("latin-1"), "is not text in UTF-8"),
        ("y,p,n\n1,0.5,é\n".encode("latin-1"), "is not text in UTF-8"),
        (b"\x00\xff\xfe\x01", "is not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_table(calibrant, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    assert_refused(calibrant(*EVALUATE), message)


def test_a_byte_order_mark_is_no_mistake(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"\xef\xbb\xbfy,p\r\n0,0.2\r\n1,0.7\r\n")
    assert calibrant(*EVALUATE, "--json").json["n"] == 2


def test_double_quotes_in_the_names_of_columns(calibrant, tmp_path: Path) -> None:
    name = 'p_Medium, "maybe"'
    rows = "".join(f"{k % 2},0.{k}\n" for k in range(1, 10))
    (tmp_path / "data.csv").write_text('y,"p_Medium, ""maybe"""\n' + rows)
    found = calibrant("evaluate", "data.csv", "--resamples", "0", "--json").json
    assert (found["n"], found["columns"]) == (9, [name])
    fit = ("fit", "data.csv", "--label", "y", "--prob", name, "--method", "platt", "-o", "c.json")
    assert calibrant(*fit).code == 0
    for output, read in (("out.csv", pl.read_csv), ("out.parquet", pl.read_parquet)):
        assert calibrant("apply", "c.json", "data.csv", "--prob", name, "-o", output).code == 0
        written = read(tmp_path / output)
        assert written.height == 9
        if output == "out.parquet":
            assert written.columns == ["y", name, f"calibrated_{name}"]
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert next(csv.reader([header])) == ["y", name, f"calibrated_{name}"]


def test_stray_quotes_in_the_names_of_columns(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('y,"p"x\n' + FINE)
    assert_refused(calibrant(*EVALUATE), "and write those inside twice, or rename the columns")


def test_columns_that_are_not_there(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("outcome,prob\n0,0.2\n1,0.7\n")
    run = calibrant("evaluate", "data.csv", "--label", "outcom", "--prob", "prob")
    assert_refused(run, 'no column "outcom". Did you mean "outcome"? Its columns: outcome, prob.')
    run = calibrant("evaluate", "data.csv", "--label", "outcome", "--prob-prefix", "z_")
    assert_refused(run, 'begins with "z_". Its columns: outcome, prob')
    run = calibrant("evaluate", "data.csv", "--label", "prob", "--prob", "prob")
    assert_refused(run, 'column "prob" is asked for twice')
    run = calibrant("evaluate", "data.csv", "--label", "outcome", *["--prob", "prob"] * 2)
    assert_refused(run, 'column "prob" is asked for twice')


def test_files_that_are_not_there_or_of_no_known_kind(calibrant, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "data.xlsx").write_text("")
    for name, message in [
        ("none.csv", "there is no file none.csv"),
        ("folder.csv", "folder.csv is a folder"),
        ("data.xlsx", "data.xlsx is neither .csv nor .parquet"),
    ]:
        assert_refused(calibrant("evaluate", name, "--label", "y", "--prob", "p"), message)


@pytest.mark.parametrize("damage", ["text", "start", "middle"])
def test_a_damaged_parquet_file(calibrant, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "data.parquet"
    rng = np.random.default_rng(0)
    pl.DataFrame({"y": rng.integers(0, 2, 5_000), "p": rng.random(5_000)}).write_parquet(path)
    whole = path.read_bytes()
    if damage == "text":
        path.write_text("y,p\n0,0.5\n")
    elif damage == "start":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        path.write_bytes(whole[:1_000] + b"\xaa" * 20_000 + whole[21_000:])
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p", "--resamples", "0")
    assert run.code == 2
    assert "data.parquet" in run.stderr


def test_parquet_names_the_row(calibrant, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, None, 0.2], "t": ["a", "b", "c"]})
    frame.write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p")
    assert_refused(run, 'data.parquet, row 2: column "p" is empty')
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "t")
    assert_refused(run, 'row 1: column "t" is "a", which is not a number')


def test_weights(calibrant, tmp_path: Path) -> None:
    for weights, message in [
        ((1, -2), 'line 3: column "w" is "-2"'),
        ((1, ""), 'line 3: column "w" is empty'),
        ((0, 0), "zero in every row"),
    ]:
        a, b = weights
        (tmp_path / "data.csv").write_text(f"w,y,p\n{a},0,0.2\n{b},1,0.7\n")
        assert_refused(calibrant(*EVALUATE, "--weight", "w"), message)


def test_labels_of_a_single_column(calibrant, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("y,p\nno,0.2\nyes,0.7\n")
    assert_refused(calibrant(*EVALUATE), "has the labels no, yes: say with --pos-label")
    run = calibrant(*EVALUATE, "--pos-label", "maybe")
    assert_refused(run, '--pos-label maybe is not among the labels of column "y": no, yes.')
    path.write_text("y,p\nNo,0.2\nYes,0.7\n")
    run = calibrant(*EVALUATE, "--pos-label", "yes")
    assert_refused(run, 'is not among the labels of column "y": No, Yes. Did you mean "Yes"?')
    path.write_text("y,p\na,0.2\nb,0.7\nc,0.7\n")
    run = calibrant(*EVALUATE, "--pos-label", "b")
    assert_refused(run, "has 3 labels (a, b, c), but there is a single column of predictions")
    path.write_text("y,p\nyes,0.2\nyes,0.7\n")
    assert_refused(calibrant(*EVALUATE, "--pos-label", "yes"), "has the single label yes")


def test_one_class_only_cannot_be_fitted(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + "1,0.2\n" * 20)
    fit = ("fit", "data.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    assert_refused(calibrant(*fit, "--method", "beta"), "BetaCalibration needs both classes")
    assert not (tmp_path / "c.json").exists()


def test_probabilities_of_several_classes(calibrant, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    several = ("evaluate", "data.csv", "--label", "y", "--prob-prefix", "p_", "--resamples", "0")
    path.write_text("y,p_a,p_b,p_c\na,0.2,0.3,0.5\nb,0.2,0.3,0.4\nc,0.2,0.3,0.5\n")
    assert_refused(calibrant(*several), "line 3: the probabilities p_a, p_b, p_c sum to 0.9")
    path.write_text("y,p_a,p_b,p_c\na,0.2,0.3,0.5\nd,0.2,0.3,0.5\n")
    assert_refused(
        calibrant(*several), 'column "y" of data.csv has 2 labels (a, d), but there are 3'
    )
    path.write_text("y,p_a,p_b\na,0.7,0.3\nb,0.2,0.8\n")
    assert_refused(calibrant(*several, "--pos-label", "a"), "--pos-label is for a single column")


def test_fit_refuses_what_cannot_work(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE * 10)
    (tmp_path / "there.json").write_text("mine")
    fit = ("fit", "data.csv", "--label", "y", "--prob", "p", "--output")
    assert_refused(calibrant(*fit, "there.json"), "there.json exists already")
    assert (tmp_path / "there.json").read_text() == "mine"
    assert_refused(calibrant(*fit, "c.json", "--method", "vector"), "does not fit 2 classes")
    assert_refused(calibrant(*fit, "no/c.json"), "the folder no does not exist")


def test_calibrator_files(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    rng = np.random.default_rng(0)
    prob = rng.random(50)
    BetaCalibration().fit(prob, rng.random(50) < prob).save(tmp_path / "beta.json")
    whole = (tmp_path / "beta.json").read_text()
    (tmp_path / "half.json").write_text(whole[: len(whole) // 2])
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "newer.json").write_text(whole.replace('"schema": 1', '"schema": 99'))
    reliability_table([0, 1], [0.2, 0.7]).save(tmp_path / "table.json")
    scores = rng.normal(size=(50, 3))
    labels = np.array(["a", "b", "c"])[np.arange(50) % 3]
    TemperatureScaling().fit(scores, labels).save(tmp_path / "three.json")
    apply = ("data.csv", "--prob", "p", "--output", "out.csv")
    for name, message in [
        ("none.json", "none.json"),
        ("half.json", "half.json is not a complete JSON file"),
        ("other.json", "other.json was not written by calibrant"),
        ("newer.json", "newer than this version of calibrant reads"),
        ("table.json", "table.json holds a ReliabilityTable, not a calibrator"),
        ("three.json", "fitted on 3 columns of predictions (classes a, b, c), but 1 are named: p"),
        ("data.csv", "data.csv is not a complete JSON file"),
    ]:
        assert_refused(calibrant("apply", name, *apply), message)
        assert not (tmp_path / "out.csv").exists()


def test_apply_refuses_what_it_would_destroy_or_cannot_write(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("y,p,calibrated_p\n0,0.2,0.1\n1,0.7,0.8\n")
    (tmp_path / "there.csv").write_text("mine")
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    apply = ("apply", "c.json", "data.csv", "--prob", "p", "--output")
    assert_refused(calibrant(*apply, "out.csv"), 'a column "calibrated_p" already')
    named = (*apply, "there.csv", "--prefix", "new_")
    assert_refused(calibrant(*named), "there.csv exists already")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert calibrant(*named, "--force").code == 0
    named = ("--prefix", "new_")
    assert_refused(calibrant(*apply, "out.txt", *named), "out.txt is neither .csv nor .parquet")
    assert_refused(calibrant(*apply, "no/out.csv", *named), "the folder no does not exist")
    run = calibrant(*apply, "data.csv", *named, "--force")
    assert_refused(run, "data.csv is a file to be read: choose another name")


def test_apply_leaves_nothing_behind_when_a_late_row_is_wrong(calibrant, tmp_path: Path) -> None:
    rows = "1,0.5\n" * 300_000
    (tmp_path / "data.csv").write_text(HEADER + rows + "1,oops\n")
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    run = calibrant("apply", "c.json", "data.csv", "--prob", "p", "--output", "out.csv")
    assert_refused(run, 'line 300002: column "p" is "oops", which is not a number')
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.json", "data.csv"]


def test_logits_given_as_probabilities_or_the_other_way_round(calibrant, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-z))).astype(int)
    pl.DataFrame({"y": y, "p": z}).write_csv(tmp_path / "data.csv")
    assert_refused(calibrant(*EVALUATE), "--input logit")
    TemperatureScaling(input="logit").fit(z, y).save(tmp_path / "c.json")
    (tmp_path / "new.csv").write_text("p\n0.5\n0.1\n")
    run = calibrant("apply", "c.json", "new.csv", "--prob", "p", "--output", "out.csv")
    assert_refused(
        run, "the calibrator takes logits: pass --input logit with columns that hold them"
    )


def test_values_of_options(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    for wrong in (["--bins", "0"], ["--bins", "x"], ["--input", "odds"], ["--unknown"]):
        run = calibrant(*EVALUATE, *wrong)
        assert run.code == 2
        assert wrong[0] in run.stderr
        assert not run.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\ny,p\n1,0.5\n", "the first line of data.csv is blank"),
        ("y,p\r1,0.5\r0,0.2\r", "lines must end with LF or CR LF"),
        ("y,p,t\n1,0.5,a\n0,0.2,b,c\n", "line 3 of data.csv has 4 values"),
        ("t,y,p\nSmith, J,1,0\nx,0,0.2\n", "line 2 of data.csv has 4 values"),
        ('t,y,p\n5" pipe,1,0.5\n3" pipe,0,0.2\n', "a double quote in the text '5\" pipe'"),
        ("y,p\n1e300,0.5\n0,0.2\n", "below 2^53"),
        ("y,p\n99999999999999999999999,0.5\n0,0.2\n", "below 2^53"),
        ("y,p\n2024-01-01,0.5\n2024-01-02,0.2\n", "has the labels 2024-01-01, 2024-01-02"),
    ],
)
def test_files_that_are_nearly_right(calibrant, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "data.csv").write_bytes(content.encode())
    assert_refused(calibrant(*EVALUATE), message)


def test_stray_quotes_do_not_swallow_rows(calibrant, tmp_path: Path) -> None:
    # Two quotes that do not belong together: what is between them would be skipped.
    (tmp_path / "data.csv").write_text("y,p,t,u\n" + '1,0.5,5" pipe,a\n0,0.2,b,c\n' * 50)
    assert_refused(calibrant(*EVALUATE), "a double quote in the text")


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([[0], [1]], [0.2, 0.3], 'column "y" of data.parquet holds values of type List(Int64)'),
        ([0, 1], [[0.2], [0.3]], 'column "p" of data.parquet holds values of type List(Float64)'),
        ([dt.date(2024, 1, 1)] * 2, [0.2, 0.3], "holds values of type Date"),
        ([0.5, 1.0], [0.2, 0.3], 'row 1: column "y" is 0.5, which is no label'),
        ([float("nan"), 1.0], [0.2, 0.3], 'row 1: column "y" is nan'),
        ([0, None], [0.2, 0.3], 'row 2: column "y" is empty'),
        ([0, 1], [True, False], "holds values of type Boolean, not numbers"),
        ([0, 1], [None, None], "holds values of type Null, not numbers"),
    ],
)
def test_types_of_parquet_columns(
    calibrant, tmp_path: Path, y: list[object], p: list[object], message: str
) -> None:
    pl.DataFrame({"y": y, "p": p}, strict=False).write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p", "--resamples", "0")
    assert_refused(run, message)


def test_a_parquet_file_of_no_rows(calibrant, tmp_path: Path) -> None:
    frame = pl.DataFrame(schema={"y": pl.Int64, "p": pl.Float64})
    frame.write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p")
    assert_refused(run, "has the names of columns, but no rows")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["y,p", "p"])
def test_a_blank_line_at_the_end_is_no_mistake(
    calibrant, tmp_path: Path, header: str, end: str
) -> None:
    lines = [header, "1,0.5", "0,0.2", "1,0.7"] if header == "y,p" else [header, "0.5", "0.2"]
    path = tmp_path / "data.csv"
    path.write_bytes("".join(line + end for line in [*lines, ""]).encode())
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    apply = ("apply", "c.json", "data.csv", "--prob", "p", "--output", "out.csv", "--json")
    assert calibrant(*apply).json["rows"] == len(lines) - 1
    assert len((tmp_path / "out.csv").read_text().splitlines()) == len(lines)
    if header == "y,p":
        assert calibrant(*EVALUATE, "--json").json["n"] == 3
    path.write_bytes("".join(line + end for line in [*lines, "", ""]).encode())
    run = calibrant(*apply[:-1], "--force")
    assert_refused(run, f"line {len(lines) + 1} of data.csv is blank: delete it.")


def test_a_blank_line_at_the_end_of_a_block(calibrant, tmp_path: Path) -> None:
    # The last line begins where a block of the file that is read at a time ends.
    row = b"0.250000\n"
    n_rows = -(-(2**22) // len(row)) + 1
    (tmp_path / "data.csv").write_bytes(b"p\n" + row * n_rows + b"\n")
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    apply = ("apply", "c.json", "data.csv", "--prob", "p", "--output", "out.csv", "--json")
    assert calibrant(*apply).json["rows"] == n_rows


@pytest.mark.parametrize("label", [2**64, -(2**63) - 1, 10**30])
def test_labels_beyond_64_bits(calibrant, tmp_path: Path, label: int) -> None:
    (tmp_path / "data.csv").write_text(f"y,p\n0,0.2\n{label},0.5\n")
    assert_refused(calibrant(*EVALUATE), "labels are text, booleans or whole numbers below 2^53")
    column = pl.Series("y", [0, label], dtype=pl.Int128)
    pl.DataFrame([column, pl.Series("p", [0.2, 0.5])]).write_parquet(tmp_path / "data.parquet")
    run = calibrant("evaluate", "data.parquet", "--label", "y", "--prob", "p")
    assert_refused(run, 'row 2: column "y" is ')
    assert "which is no label: whole numbers must fit into 64 bits" in run.stderr


def test_columns_named_after_labels_beyond_64_bits(calibrant, tmp_path: Path) -> None:
    for name in ("99999999999999999999", "²", "--1"):
        (tmp_path / "data.csv").write_text(f"y,p_0,p_1,p_{name}\n0,1,0,0\n1,0,1,0\n")
        run = calibrant("evaluate", "data.csv", "--label", "y", "--prob-prefix", "p_")
        assert_refused(run, "has 2 labels (0, 1), but there are 3 columns of predictions")


def test_labels_of_64_bits(calibrant, tmp_path: Path) -> None:
    for dtype, label in ((pl.UInt64, 2**64 - 1), (pl.Int128, 2**63 - 1), (pl.Int64, -(2**63))):
        column = pl.Series("y", [0, label] * 5, dtype=dtype)
        frame = pl.DataFrame([column, pl.Series("p", [0.2, 0.5] * 5)])
        frame.write_parquet(tmp_path / "data.parquet")
        given = ("data.parquet", "--label", "y", "--prob", "p", "--pos-label", str(label), "--json")
        run = calibrant("evaluate", *given, "--resamples", "9")
        assert run.json["classes"] == [0, label]


def test_one_row(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("y,p\n1,0.5\n")
    assert calibrant(*EVALUATE[:-2]).code == 0
    fit = ("fit", "data.csv", "--label", "y", "--prob", "p", "--output", "c.json")
    assert_refused(calibrant(*fit), "no calibrator can be compared on these folds")
    assert_refused(calibrant("test", "data.csv", "--label", "y", "--prob", "p"), "")


def test_output_never_destroys_what_is_read(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    (tmp_path / "link.json").symlink_to("data.csv")
    (tmp_path / "folder.csv").mkdir()
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.csv")
    fit = ("fit", "data.csv", "--label", "y", "--prob", "p", "--force", "--output")
    apply = ("apply", "c.csv", "data.csv", "--prob", "p", "--force", "--output")
    for command, message in [
        ((*fit, "data.csv"), "saved as JSON: data.csv should end with .json"),
        ((*fit, "link.json"), "link.json is a file to be read"),
        ((*fit, "."), "is a folder"),
        ((*fit, "/dev/null"), "/dev/null is a device"),
        ((*apply, "data.csv"), "data.csv is a file to be read"),
        ((*apply, "c.csv"), "c.csv is a file to be read"),
        ((*apply, "folder.csv"), "folder.csv is a folder"),
    ]:
        before = (tmp_path / "data.csv").read_bytes(), (tmp_path / "c.csv").read_bytes()
        assert_refused(calibrant(*command), message)
        assert before == ((tmp_path / "data.csv").read_bytes(), (tmp_path / "c.csv").read_bytes())


def test_a_calibrator_that_was_not_fitted(calibrant, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(HEADER + FINE)
    IsotonicCalibration().fit([0.1, 0.9], [0, 1]).save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    del document["content"]["fitted"]
    (tmp_path / "c.json").write_text(json.dumps(document))
    run = calibrant("apply", "c.json", "data.csv", "--prob", "p", "--output", "out.csv")
    assert_refused(run, "c.json is damaged or was edited by hand: the entry 'fitted' is")


def assert_refused(run, message: str) -> None:
    assert run.code == 2, run
    assert run.stderr.startswith("Error: ")
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, "one message, no traceback"
    assert not run.stdout
