"""Columns that no option names are taken where a file can be read in one way only."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import calibrant as cb

QUICK = ("--resamples", "0", "--json")
P_ANIMALS = ["p_dog", "p_cat", "p_eel"]


@pytest.fixture
def two(binary: pl.DataFrame, tmp_path: Path) -> pl.DataFrame:
    """A file of two classes in every format, one column of predictions and one of labels."""
    frame = binary.select("w", "z", "p", "y", id=pl.int_range(pl.len()))
    frame.write_csv(tmp_path / "two.csv")
    frame.write_parquet(tmp_path / "two.parquet")
    frame.write_ndjson(tmp_path / "two.ndjson")
    (tmp_path / "parts").mkdir()
    for k in (0, 1):
        frame[200 * k : 200 * (k + 1)].write_parquet(tmp_path / "parts" / f"{k}.parquet")
    return frame


@pytest.fixture
def three(animals: pl.DataFrame, tmp_path: Path) -> pl.DataFrame:
    frame = animals.select(*P_ANIMALS, "animal", "z_dog")
    frame.write_csv(tmp_path / "three.csv")
    frame.write_parquet(tmp_path / "three.parquet")
    return frame


def taken(run: Any) -> str:
    """The options that stand for what was taken, after a look at the rest of the line."""
    assert run.code == 0, run
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("Taken: ")
    assert run.stderr.endswith(" (name these to take other columns)\n")
    return run.stderr.removeprefix("Taken: ").split(" (name")[0]


def refused(run: Any, *messages: str) -> None:
    assert run.code == 2, run
    assert run.stderr.startswith("Error: ")
    assert run.stderr.count("\n") == 1, "one message, and nothing was taken"
    for message in messages:
        assert message in run.stderr
    assert not run.stdout


def write(path: Path, **columns: Any) -> None:
    pl.DataFrame(columns).write_csv(path)


@pytest.mark.parametrize("file", ["two.csv", "two.parquet", "two.ndjson", "parts", "parts/*"])
def test_the_only_reading_is_taken_and_said(calibrant, two: pl.DataFrame, file: str) -> None:
    run = calibrant("evaluate", file, *QUICK)
    assert taken(run) == "--label y --prob p"
    named = calibrant("evaluate", file, "--label", "y", "--prob", "p", *QUICK)
    assert run.stdout == named.stdout
    assert not named.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_standard_input(calibrant, two, tmp_path: Path, monkeypatch, suffix: str) -> None:
    content = (tmp_path / f"two.{suffix}").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    run = calibrant("evaluate", "-", *QUICK)
    assert taken(run) == "--label y --prob p"
    assert run.json["n"] == 400


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
@pytest.mark.parametrize(("file", "options"), [
    ("parts", "--label y --prob p"),
    ("three.parquet", "--label animal --prob p_dog --prob p_cat --prob p_eel"),
])  # fmt: skip
def test_engines(calibrant, two, three, engine: str, file: str, options: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    run = calibrant("evaluate", file, *QUICK, "--engine", engine)
    assert taken(run) == options
    named = calibrant("evaluate", file, *options.split(), *QUICK, "--engine", engine)
    assert run.stdout == named.stdout


def test_every_command(calibrant, two: pl.DataFrame, tmp_path: Path) -> None:
    for command in [
        ("test", "two.csv", "--alpha", "1e-9", "--resamples", "9"),
        ("compare", "two.csv", "--resamples", "9", "--cv", "2"),
        ("fit", "two.csv", "--method", "beta", "-o", "c.json"),
    ]:
        assert taken(calibrant(*command)) == "--label y --prob p"
    assert taken(calibrant("apply", "c.json", "two.csv", "-o", "new.csv")) == "--prob p"
    assert pl.read_csv(tmp_path / "new.csv").columns[-1] == "calibrated_p"
    run = calibrant("apply", "c.json", "new.csv", "-o", "newer.csv")
    refused(run, "2 columns of new.csv may hold predictions: p, calibrated_p", "--prob-prefix")


def test_a_name_with_blanks_is_quoted(calibrant, two: pl.DataFrame, tmp_path: Path) -> None:
    two.rename({"p": "my p"}).write_csv(tmp_path / "two.csv")
    assert taken(calibrant("evaluate", "two.csv", *QUICK)) == "--label y --prob 'my p'"


def test_names_that_look_like_patterns(calibrant, two: pl.DataFrame, tmp_path: Path) -> None:
    renamed = two.select("p", pl.col("y").alias("^.*$"), pl.col("id").alias("*"))
    renamed.write_csv(tmp_path / "two.csv")
    run = calibrant("evaluate", "two.csv", "--weight", "*", *QUICK)
    assert taken(run) == "--label '^.*$' --prob p"
    expected = cb.ece(two["y"], two["p"], sample_weight=two["id"])
    assert run.json["metrics"]["ece"]["estimate"] == pytest.approx(expected)


def test_named_columns_stay_and_the_rest_is_found(calibrant, binary: pl.DataFrame) -> None:
    for named, found in [
        (("--label", "name", "--pos-label", "won"), "--prob p"),
        (("--label", "flag"), "--prob p"),
        (("--label", "y", "--weight", "w"), "--prob p"),
    ]:
        run = calibrant("evaluate", "binary.csv", *named, *QUICK)
        assert taken(run) == found
        assert (
            run.stdout == calibrant("evaluate", "binary.csv", *named, *found.split(), *QUICK).stdout
        )


def test_a_named_column_is_never_anything_else(calibrant, tmp_path: Path) -> None:
    write(tmp_path / "d.csv", y=[0, 1, 1], other=[1, 0, 1], p=[0.1, 0.6, 0.7], q=[0.2, 0.3, 0.4])
    run = calibrant("evaluate", "d.csv", "--label", "other", "--prob", "q", *QUICK)
    assert (run.code, run.stderr, run.json["columns"]) == (0, "", ["q"])
    assert taken(calibrant("evaluate", "d.csv", "--label", "other", "--weight", "q", *QUICK)) == (
        "--prob p"
    )
    run = calibrant("evaluate", "d.csv", "--prob", "q", "--weight", "y", *QUICK)
    assert taken(run) == "--label other"
    report = ("report", "d.csv", "--by", "other", "--weight", "p", "--resamples", "9")
    assert taken(calibrant(*report, "-o", "page.html")) == "--label y --prob q"


def test_predictions_that_are_ambiguous(calibrant, tmp_path: Path) -> None:
    write(tmp_path / "d.csv", y=[0, 1, 1], p=[0.1, 0.6, 0.7], share=[0.2, 0.3, 0.4])
    run = calibrant("evaluate", "d.csv")
    refused(run, "2 columns of d.csv may hold predictions: p, share", "--prob", "--label")
    run = calibrant("evaluate", "d.csv", "--label", "y")
    refused(run, "p, share", "--prob (once for each class) or --prob-prefix")
    assert "with --label" not in run.stderr


def test_labels_that_are_ambiguous(calibrant, binary: pl.DataFrame) -> None:
    run = calibrant("evaluate", "binary.csv")
    message = "3 columns of binary.csv may hold the labels of 2 classes: y, name, flag"
    refused(run, message, "name what happened with --label.")
    refused(calibrant("evaluate", "binary.csv", "--prob", "z", "--input", "logit"), message)


def test_well_known_names_decide_nothing(calibrant, tmp_path: Path) -> None:
    write(tmp_path / "d.csv", label=[0, 1, 1], x=[1, 0, 1], prob=[0.1, 0.6, 0.7])
    refused(calibrant("evaluate", "d.csv"), "label, x")
    write(tmp_path / "d.csv", x=[0, 1, 1], prob=[0.1, 0.6, 0.7], v=[0.2, 0.3, 0.4])
    refused(calibrant("evaluate", "d.csv"), "prob, v")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.2, 0.7, 1.5], "beyond one"),
        ([-0.1, 0.7, 0.5], "below zero"),
        ([0.0, 1.0, 1.0], "only 0 and 1"),
        (["0.2", "high", "0.3"], "text"),
        ([0.2, float("inf"), 0.3], "infinite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_prediction(calibrant, tmp_path: Path, values: list[Any], why: str) -> None:
    write(tmp_path / "d.csv", y=[0, 1, 1], p=values)
    message = "no column of d.csv holds what can only be predictions (numbers in [0, 1], not only"
    refused(calibrant("evaluate", "d.csv"), message, "--prob", "The columns: y, p.")
    write(tmp_path / "d.csv", y=[0, 1, 1], other=values, p=[0.2, 0.7, 0.3])
    assert taken(calibrant("evaluate", "d.csv", *QUICK)) == "--label y --prob p"


@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64, pl.Decimal(10, 4), pl.String])
def test_predictions_of_every_type(calibrant, two: pl.DataFrame, tmp_path: Path, kind) -> None:
    two.with_columns(pl.col("p").round(4).cast(kind)).write_parquet(tmp_path / "two.parquet")
    assert taken(calibrant("evaluate", "two.parquet", *QUICK)) == "--label y --prob p"


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt64, pl.Boolean, pl.String, pl.Categorical])
def test_labels_of_every_type(calibrant, two: pl.DataFrame, tmp_path: Path, kind) -> None:
    column = pl.col("y").cast(pl.String) if kind == pl.Categorical else pl.col("y")
    two.with_columns(column.cast(kind)).write_parquet(tmp_path / "two.parquet")
    assert taken(calibrant("evaluate", "two.parquet", *QUICK)) == "--label y --prob p"


def test_what_is_no_label(calibrant, tmp_path: Path) -> None:
    p = [0.2, 0.7, 0.3]
    for values in ([0, 1, 2], ["a", "a", "a"], [1.5, 2.5, 2.5], [0.0, 1.0, 1.0]):
        write(tmp_path / "d.csv", y=values, p=p)
        message = 'column "p" is taken for predictions of 2 classes, but no other column of d.csv'
        refused(calibrant("evaluate", "d.csv"), message, "--label. The columns: y, p.")


def test_named_labels_must_fit_as_well(calibrant, tmp_path: Path) -> None:
    for values, n in (([0, 1, 2], 3), (range(60), "about ")):
        n_rows = len(values)
        write(tmp_path / "d.csv", y=[*values], p=np.linspace(0.1, 0.9, n_rows))
        message = f'the number of labels in column "y" of d.csv is {n}'
        refused(calibrant("evaluate", "d.csv", "--label", "y"), message, "--prob")
    refused(calibrant("evaluate", "d.csv", "--label", "x"), 'd.csv has no column "x"')
    refused(calibrant("evaluate", "d.csv", "--weight", "x"), 'd.csv has no column "x"')


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_nothing_is_guessed_where_values_are_missing(
    calibrant, tmp_path: Path, suffix: str
) -> None:
    def written(**columns: Any) -> str:
        frame = pl.DataFrame(columns)
        if suffix == "csv":
            frame.write_csv(tmp_path / "d.csv")
        else:
            frame.write_parquet(tmp_path / "d.parquet")
        return f"d.{suffix}"

    y, p, gap = [0, 1, 1], [0.2, 0.7, 0.3], [0.2, None, 0.3]
    file = written(y=y, p=gap)
    refused(calibrant("evaluate", file), f"column p (empty in some rows) of {file} may hold pred")
    file = written(y=y, p=p, q=gap)
    refused(calibrant("evaluate", file), "predictions: p, q (empty in some rows); name predictions")
    file = written(y=y, p=[0.2, float("nan"), 0.3])
    refused(calibrant("evaluate", file), "column p (empty in some rows)")
    file = written(y=[0, 1, None], p=p)
    refused(calibrant("evaluate", file), "column y (empty in some rows)", "--label")
    file = written(y=y, x=["a", None, "b"], p=p)
    refused(calibrant("evaluate", file), "y, x (empty in some rows); name what happened")
    file = written(y=y, x=["a", "  ", "b"], p=p)
    refused(calibrant("evaluate", file), "y, x (empty in some rows); name what happened")
    file = written(y=y, p=p, notes=pl.Series([None, None, "see above"]))
    assert taken(calibrant("evaluate", file, *QUICK)) == "--label y --prob p"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_three_classes(calibrant, three: pl.DataFrame, suffix: str) -> None:
    run = calibrant("evaluate", f"three.{suffix}", *QUICK)
    options = "--prob p_dog --prob p_cat --prob p_eel"
    assert taken(run) == f"--label animal {options}"
    assert run.json["classes"] == ["dog", "cat", "eel"]
    named = calibrant("evaluate", f"three.{suffix}", "--label", "animal", *options.split(), *QUICK)
    assert run.stdout == named.stdout


def test_three_classes_are_applied(calibrant, three: pl.DataFrame, tmp_path: Path) -> None:
    assert calibrant("fit", "three.csv", "--method", "vector", "-o", "c.json").code == 0
    three.select("p_eel", "p_dog", "p_cat").write_csv(tmp_path / "new.csv")
    run = calibrant("apply", "c.json", "new.csv", "-o", "out.csv")
    assert taken(run) == "--prob p_eel --prob p_dog --prob p_cat"
    new = pl.read_csv(tmp_path / "out.csv")
    expected = cb.load(tmp_path / "c.json").predict_proba(three.select(P_ANIMALS).to_numpy())
    for k, name in enumerate(P_ANIMALS):
        np.testing.assert_allclose(new[f"calibrated_{name}"], expected[:, k], atol=1e-12)
    three.select(a="p_eel", b="p_dog", c="p_cat").write_csv(tmp_path / "new.csv")
    run = calibrant("apply", "c.json", "new.csv", "-o", "other.csv")
    refused(run, "do not end with the labels of the calibrator (dog, cat, eel)", "--prob")


def test_three_columns_that_are_no_three_classes(
    calibrant, three: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "three.csv"
    renamed = three.rename({"p_dog": "p_a", "p_cat": "p_b", "p_eel": "p_c"})
    renamed.write_csv(path)
    message = (
        "the names of p_a, p_b, p_c in three.csv do not end with the labels of column "
        '"animal" (cat, dog, eel)'
    )
    refused(calibrant("evaluate", "three.csv"), message, "--prob", "--label")
    refused(calibrant("evaluate", "three.csv", "--label", "animal"), message, "--prob")
    three.with_columns(pl.col("p_cat") / 2).write_csv(path)
    refused(calibrant("evaluate", "three.csv"), "3 columns of", "do not sum to one in every row")
    three.with_columns(half=pl.lit(0.5)).write_csv(path)
    refused(calibrant("evaluate", "three.csv"), "4 columns of", "p_dog, p_cat, p_eel, half")
    three.filter(pl.col("animal") != "eel").write_csv(path)
    refused(calibrant("evaluate", "three.csv"), "no other column of three.csv holds 3 different")
    run = calibrant("evaluate", "three.csv", "--label", "animal")
    refused(run, 'the number of labels in column "animal" of three.csv is 2')
    three.with_columns(code=pl.col("animal")).write_csv(path)
    refused(calibrant("evaluate", "three.csv"), "labels of 3 classes: animal, code")


def test_labels_of_named_predictions_must_match_them(
    calibrant, three: pl.DataFrame, tmp_path: Path
) -> None:
    # Of the animals one never came; another column with three values must not take the place.
    some = three.filter(pl.col("animal") != "eel")
    place = pl.Series("place", ["north", "south", "west"] * len(some))[: len(some)]
    some.with_columns(place).write_csv(tmp_path / "three.csv")
    run = calibrant("evaluate", "three.csv", "--prob-prefix", "p_")
    refused(run, 'do not end with the labels of column "place" (north, south, west)')


def test_two_columns_of_two_classes(calibrant, two: pl.DataFrame, tmp_path: Path) -> None:
    two.select("y", p_0=1 - pl.col("p"), p_1="p").write_csv(tmp_path / "two.csv")
    run = calibrant("evaluate", "two.csv", *QUICK)
    assert taken(run) == "--label y --prob p_0 --prob p_1"
    expected = cb.ece(two["y"].to_numpy(), two["p"].to_numpy())
    assert run.json["metrics"]["ece"]["estimate"] == pytest.approx(expected)


def test_sums_of_single_precision(calibrant, three: pl.DataFrame, tmp_path: Path) -> None:
    columns = [pl.col(name).cast(pl.Float32) for name in P_ANIMALS]
    off = three.with_columns(columns).with_columns(pl.col("p_dog") * (1 + 3e-6))
    off.write_parquet(tmp_path / "three.parquet")
    assert calibrant("evaluate", "three.parquet", *QUICK).code == 0
    off.with_columns(pl.col("p_dog").cast(pl.Float64)).write_parquet(tmp_path / "three.parquet")
    refused(calibrant("evaluate", "three.parquet"), "do not sum to one in every row")


def test_logits_are_not_recognised(calibrant, two: pl.DataFrame) -> None:
    run = calibrant("evaluate", "two.csv", "--input", "logit")
    refused(run, "columns of logits are not recognised by their values", "--prob", "--label")
    run = calibrant("evaluate", "two.csv", "--input", "logit", "--prob", "z", *QUICK)
    assert taken(run) == "--label y"
    assert calibrant("fit", "two.csv", "--method", "beta", "-o", "c.json").code == 0
    run = calibrant("apply", "c.json", "two.csv", "--input", "logit", "-o", "new.csv")
    refused(run, "columns of logits are not recognised", "--prob")


def test_predictions_are_named_in_one_way(calibrant, two: pl.DataFrame) -> None:
    run = calibrant("evaluate", "two.csv", "--prob", "p", "--prob-prefix", "p")
    refused(run, "either with --prob (once for each class) or with --prob-prefix, not with both")


def test_labels_in_text_need_to_know_which_is_predicted(
    calibrant, binary: pl.DataFrame, tmp_path: Path
) -> None:
    binary.select("name", "p").write_csv(tmp_path / "d.csv")
    run = calibrant("evaluate", "d.csv")
    assert run.code == 2
    assert run.stderr.startswith("Taken: --label name --prob p (")
    assert 'Error: column "name" has the labels lost, won: say with --pos-label' in run.stderr
    assert calibrant("evaluate", "d.csv", "--pos-label", "won", *QUICK).code == 0


def test_malformed_files_are_refused_first(calibrant, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("y,p\n0,0.2\n1\n")
    refused(calibrant("evaluate", "d.csv"), "line 3 of d.csv has 1 value, but the first line names")
    path.write_text("y,p\n")
    refused(calibrant("evaluate", "d.csv"), "d.csv has the names of columns, but no rows")
    path.write_text("y,p\n0,0.2\n1,0.7\n\n")
    assert taken(calibrant("evaluate", "d.csv", *QUICK)) == "--label y --prob p"
    path.write_text("y,p,t,u\n" + '1,0.5,5" pipe,a\n0,0.2,b,c\n' * 50)
    refused(calibrant("evaluate", "d.csv"), "a double quote in the text")
