"""`calibrant apply`: a copy of the file with calibrated columns, whatever else is in it."""

from __future__ import annotations

import csv
import datetime as dt
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import calibrant as cb
from calibrant import BetaCalibration, TemperatureScaling, VectorScaling

CLASSES = ["dog", "cat", "eel"]
APPLY = ("apply", "c.json", "new.csv", "--prob", "p", "--output", "out.csv")


@pytest.fixture
def beta(binary: pl.DataFrame, tmp_path: Path) -> BetaCalibration:
    fitted = BetaCalibration().fit(binary["p"].to_numpy(), binary["y"].to_numpy())
    fitted.save(tmp_path / "c.json")
    return fitted


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_every_value_of_a_csv_file_stays_the_text_that_it_was(
    calibrant, beta: BetaCalibration, tmp_path: Path
) -> None:
    rows = [
        ["id", "price", "p", "text", "größe, m", "last"],
        ["007", "1.50", "0.2500", 'she said "no"', "ß", ""],
        ["0x1F", "1e5", "2.5e-1", "a, b", " spaced ", "NA"],
        ["+1", "-0", ".75", "two\nlines", "日本語", "null"],
        ["", "", "1", "", "", ""],
        ["True", "nan", " 0 ", "'", "\t", '"'],
    ]
    with (tmp_path / "new.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)  # lines end with CR LF
    run = calibrant(*APPLY)
    assert (run.code, run.stderr) == (0, "")
    assert run.stdout == "Wrote 5 rows of new.csv to out.csv, with calibrated_p.\n"
    written = rows_of(tmp_path / "out.csv")
    assert [row[:-1] for row in written] == rows
    assert written[0][-1] == "calibrated_p"
    expected = beta.predict_proba([0.25, 0.25, 0.75, 1.0, 0.0])
    assert [float(row[-1]) for row in written[1:]] == expected.tolist()


def test_order_of_many_rows_is_kept(calibrant, beta: BetaCalibration, tmp_path: Path) -> None:
    p = np.random.default_rng(0).random(200_000)
    pl.DataFrame({"row": np.arange(len(p)), "p": p}).write_csv(tmp_path / "new.csv")
    run = calibrant(*APPLY, "--json")
    assert run.json == {
        "file": "new.csv",
        "output": "out.csv",
        "rows": len(p),
        "columns": ["calibrated_p"],
        "normalized_rows": None,
    }
    written = pl.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(written["row"], np.arange(len(p)))
    np.testing.assert_array_equal(written["calibrated_p"], beta.predict_proba(p))


def test_parquet_keeps_types(calibrant, beta: BetaCalibration, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "p": pl.Series([0.2, 0.7, 0.9], dtype=pl.Float32),
            "small": pl.Series([1, None, 3], dtype=pl.Int8),
            "day": [dt.date(2024, 2, 29)] * 3,
            "kind": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
            "list": [[1, 2], [], None],
            "money": pl.Series(["1.50", "2.00", None]).cast(pl.Decimal(10, 2)),
        }
    )
    frame.write_parquet(tmp_path / "new.parquet")
    paths = ("new.parquet", "--prob", "p", "--output", "out.parquet")
    assert calibrant("apply", "c.json", *paths).code == 0
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert_frame_equal(written.drop("calibrated_p"), frame)
    np.testing.assert_array_equal(
        written["calibrated_p"], beta.predict_proba(frame["p"].to_numpy())
    )


def test_from_one_format_to_the_other(calibrant, beta: BetaCalibration, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,p\n007,0.25\n")
    assert calibrant(*APPLY[:-1], "out.parquet").code == 0
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written["id"].to_list() == ["007"]
    assert written["calibrated_p"].to_list() == beta.predict_proba([0.25]).tolist()
    paths = ("out.parquet", "--prob", "p", "--output", "again.csv", "--prefix", "new_")
    assert calibrant("apply", "c.json", *paths).code == 0
    assert rows_of(tmp_path / "again.csv")[0] == ["id", "p", "calibrated_p", "new_p"]


def test_columns_in_another_order_go_to_their_classes(
    calibrant, animals: pl.DataFrame, tmp_path: Path
) -> None:
    z = animals.select(f"z_{name}" for name in CLASSES).to_numpy()
    fitted = VectorScaling().fit(z, animals["animal"].to_numpy(), labels=CLASSES)
    fitted.save(tmp_path / "c.json")
    moved = [f"z_{name}" for name in sorted(CLASSES)]
    animals.select(moved).write_csv(tmp_path / "new.csv")
    options = ("--prob-prefix", "z_", "--input", "logit", "--output", "out.csv", "--json")
    run = calibrant("apply", "c.json", "new.csv", *options)
    written = pl.read_csv(tmp_path / "out.csv")
    assert run.json["columns"] == written.columns[3:]
    names = [f"calibrated_z_{name}" for name in CLASSES]
    np.testing.assert_array_equal(written.select(names).to_numpy(), fitted.predict_proba(z))


def test_logits_where_the_calibrator_takes_probabilities(
    calibrant, beta: BetaCalibration, binary: pl.DataFrame, tmp_path: Path
) -> None:
    options = ("--prob", "z", "--input", "logit", "--output", "out.csv")
    assert calibrant("apply", "c.json", "binary.csv", *options).code == 0
    written = pl.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(written["calibrated_z"], beta.predict_proba(binary["p"].to_numpy()))


def test_fit_then_apply_then_evaluate(calibrant, binary: pl.DataFrame, tmp_path: Path) -> None:
    label = ("--label", "name", "--pos-label", "won")
    fit = ("fit", "binary.csv", *label, "--prob", "z", "--input", "logit", "--output", "t.json")
    assert calibrant(*fit, "--method", "temperature").code == 0
    assert isinstance(cb.load(tmp_path / "t.json"), TemperatureScaling)
    apply = ("apply", "t.json", "binary.csv", "--prob", "z", "--output", "out.csv")
    assert calibrant(*apply).code == 2
    assert calibrant(*apply, "--input", "logit").code == 0
    evaluate = ("--resamples", "0", "--json")
    before = calibrant("evaluate", "out.csv", *label, "--prob", "p", *evaluate).json["metrics"]
    after = calibrant("evaluate", "out.csv", *label, "--prob", "calibrated_z", *evaluate).json
    assert after["metrics"]["log_loss"]["estimate"] < before["log_loss"]["estimate"]


def test_an_empty_last_column_is_no_short_line(
    calibrant, beta: BetaCalibration, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("p,note\n0.5,\n0.6,\n")
    assert calibrant(*APPLY).code == 0
    assert [row[1] for row in rows_of(tmp_path / "out.csv")] == ["note", "", ""]


def test_a_file_of_no_rows(calibrant, beta: BetaCalibration, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,p\n")
    assert calibrant(*APPLY).stdout.startswith("Wrote 0 rows")
    assert (tmp_path / "out.csv").read_text() == "id,p,calibrated_p\n"


def test_no_output_if_writing_is_interrupted(
    calibrant, beta: BetaCalibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.csv").write_text("p\n0.5\n")
    before = {path.name for path in tmp_path.iterdir()}

    def fail(*arguments: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(BetaCalibration, "predict_proba", fail)
    run = calibrant(*APPLY)
    assert run.code == 1
    assert "RuntimeError: a fault" in run.stderr
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize(
    ("suffix", "few", "many"),
    # Polars reads some row groups ahead: only beyond these does memory stay where it is.
    [("csv", 30_000, 1_200_000), ("parquet", 2_000_000, 6_000_000)],
)
def test_memory_is_bounded(
    beta: BetaCalibration, tmp_path: Path, suffix: str, few: int, many: int
) -> None:
    peak, whole = {}, {}
    for n in (few, many):
        p = np.random.default_rng(0).random(n)
        frame = pl.DataFrame({"p": p, **{f"c{k}": np.roll(p, k) for k in range(5)}})
        path = tmp_path / f"{n}.{suffix}"
        if suffix == "csv":
            frame = frame.cast(pl.String)
            frame.write_csv(path)
        else:
            frame.write_parquet(path, compression="uncompressed")
        whole[n] = frame.estimated_size()
        peak[n] = peak_memory(tmp_path, path.name)
        path.unlink()
        (tmp_path / f"out_{path.name}").unlink()
    assert peak[many] - peak[few] < 0.7 * (whole[many] - whole[few])


def peak_memory(folder: Path, name: str) -> int:
    # Not getrusage: that would count the memory of this process too, which started the other.
    code = (
        "import re; from calibrant.cli import main\n"
        "try: main()\n"
        "finally: print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    apply = ("apply", "c.json", name, "--prob", "p", "--output", f"out_{name}")
    ran = subprocess.run(
        [sys.executable, "-c", code, *apply], cwd=folder, capture_output=True, text=True, check=True
    )
    return 1024 * int(ran.stdout.split()[-1])


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_the_scale_of_a_fit_on_scores_as_they_are_is_remembered(
    calibrant, binary: pl.DataFrame, method: str
) -> None:
    fit = ("fit", "binary.csv", "--label", "y", "--method", method, "--output", "c.json", "--force")
    apply = ("apply", "c.json", "binary.csv", "--output", "out.csv", "--force")
    scales = {"probability": ("--prob", "p"), "logit": ("--prob", "z", "--input", "logit")}
    for fitted_on, given in scales.items():
        assert calibrant(*fit, *given).code == 0
        for applied_to, new in scales.items():
            run = calibrant(*apply, *new)
            # The others are given probabilities, whatever the file holds.
            if method == "platt" and applied_to != fitted_on:
                assert run.code == 2
                assert f"c.json was fitted with --input {fitted_on}: pass the same" in run.stderr
            else:
                assert (run.code, run.stderr) == (0, "")


def test_a_calibrator_that_was_not_saved_by_fit_takes_both(
    calibrant, binary: pl.DataFrame, tmp_path: Path
) -> None:
    cb.PlattScaling().fit(binary["z"], binary["y"]).save(tmp_path / "c.json")
    apply = ("apply", "c.json", "binary.csv", "--output", "out.csv", "--force")
    assert calibrant(*apply, "--prob", "z", "--input", "logit").code == 0
    assert calibrant(*apply, "--prob", "p").code == 0
