"""The forecasters and their stored forecasts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from paper.forecasts import stored, write

torch = pytest.importorskip(
    "torch", reason='training needs PyTorch: pip install "calibrant[paper]"'
)

from paper.sets import FAMILIES  # noqa: E402

from paper import data, networks, train  # noqa: E402

torch.set_num_threads(1)  # more only wait for each other here


def splits():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2)).astype(np.float32)
    y = (x[:, 0] + 0.3 * rng.normal(size=600)).astype(np.float32)
    return {
        name: data.Part(x[rows], y[rows])
        for name, rows in (("train", slice(0, 400)), ("val", slice(400, 500)),
                           ("test", slice(500, 600)))
    }  # fmt: skip


def test_losses_are_negative_log_likelihoods():
    from calibrant.forecasts import Mixture, Normal

    outputs = torch.tensor([[0.3, -0.2, -0.5, 0.4, 1.0], [2.0, 1.0, 0.0, -9.0, -1.0]])
    y = torch.tensor([0.9, -1.0])
    for family, make in (("gaussian", Normal), ("mixture", Mixture.gaussian_laplace)):
        head = networks.HEADS[family]
        parameters = head.parameters(outputs)
        forecast = make(*(values.double().numpy() for values in parameters.values()))
        np.testing.assert_allclose(head.loss(parameters, y), -forecast.logpdf(y.numpy()), rtol=1e-5)
    assert parameters["scale"][1] == pytest.approx(1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_training_learns_and_repeats(family):
    found = [
        networks.fit(splits(), family, seed=seed, max_epochs=30, patience=5) for seed in (0, 0, 1)
    ]
    test = splits()["test"]
    center = found[0].parameters["test"]["mu" if family == "gaussian" else "loc"]
    assert np.mean((center - test.y) ** 2) < 0.3 * test.y.var()
    for name, values in found[0].parameters["test"].items():
        np.testing.assert_array_equal(values, found[1].parameters["test"][name])
    assert (found[2].parameters["test"]["mu"] != found[0].parameters["test"]["mu"]).any()


def test_best_epoch_is_kept():
    parts = splits()
    long = networks.fit(parts, "gaussian", seed=0, max_epochs=40, patience=3)
    short = networks.fit(parts, "gaussian", seed=0, max_epochs=long.epoch, patience=3)
    assert short.epoch == long.epoch < 40
    for name, values in long.parameters["test"].items():
        np.testing.assert_array_equal(values, short.parameters["test"][name])


def test_command_trains_what_is_missing(crime, tmp_path, capsys):
    cache = tmp_path / "cache"
    command = ["--data", str(crime), "--cache", str(cache), "--sets", "crime", "--families",
               "gaussian", "--seeds", "2", "--jobs", "1"]  # fmt: skip
    train.main(command)
    assert "0 of 2 forecasters are there already" in capsys.readouterr().out
    files = stored(cache / "forecasts")
    assert [(file.name, file.family, file.seed) for file in files] == [
        ("crime", "gaussian", 0),
        ("crime", "gaussian", 1),
    ]
    frame = pl.read_parquet(files[0].path)
    assert frame.columns == ["split", "y", "mu", "sigma"]
    assert frame["split"].cast(pl.String).value_counts().sort("split").rows() == [
        ("test", 60), ("train", 126), ("val", 14),
    ]  # fmt: skip
    fitting, test = files[0].samples()
    assert (len(fitting.y), len(test.y)) == (140, 60)  # a small set recalibrates on all

    before = files[1].path.read_bytes()
    files[0].path.unlink()
    train.main(command)
    assert "1 of 2 forecasters are there already" in capsys.readouterr().out
    assert files[1].path.read_bytes() == before
    assert pl.read_parquet(files[0].path).equals(frame)


def test_missing_data_end_the_command(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        train.main(["--data", str(tmp_path), "--sets", "crime"])
    assert stopped.value.code == 1
    assert "archive.ics.uci.edu/dataset/183" in capsys.readouterr().err


def test_interrupted_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(self, path, **options):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(pl.DataFrame({"x": [1]}), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
