"""Labels, groups and titles of any kind: shown as they can be, and missing ones by name."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant.forecasts import Normal
from calibrant.reporting import forecast_report, report
from calibrant.reporting.slices import group_labels

BAD = ["a\x01", "b\ud800", "c\u202e", "tab\t", "\ufffe", "\x9b"]


@pytest.fixture(scope="module")
def rows():
    """Too few events to fit calibrators, which takes time."""
    prob = np.random.default_rng(0).random(24)
    return np.arange(24) % 8 == 0, prob


@pytest.fixture(scope="module")
def outcomes():
    mu, noise = np.random.default_rng(1).normal(size=(2, 30))
    return Normal(mu, 1.0), mu + noise


@pytest.mark.parametrize("kind", ["classes", "forecasts"])
def test_characters_that_cannot_be_written_are_escaped(kind, rows, outcomes, page, tmp_path):
    options = {"title": "T\ud800\x00", "date": "\x02", "n_resamples": 9}
    if kind == "classes":
        found = report(*rows, by=np.array(BAD)[np.arange(24) % 6], **options)
    else:
        found = forecast_report(*outcomes, by=np.array(BAD)[np.arange(30) % 6], **options)
    found.save(tmp_path / "report.html")
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", found.html.partition("<script")[0]
    )
    assert found.title == r"T\ud800\x00"
    assert r"; \x02</p>" in found.html
    parsed = page(found.html)
    shown = {repr(name)[1:-1] for name in BAD}
    assert {row[0].split(" mis")[0] for row in parsed.tables["Groups"][1:]} == shown
    (picture,) = (svg for svg in parsed.of("svg") if "of groups" in str(svg["aria-label"]))
    assert all(name in str(picture["aria-label"]) for name in shown)


def test_classes_that_cannot_be_written_are_escaped_and_stay_apart(page):
    labels = ["a\x01", r"a\x01", "b\ud800"]
    y = np.repeat(labels, 3)
    prob = np.random.default_rng(2).dirichlet(np.ones(3), 9)
    found = report(y, prob, labels=labels, n_resamples=9)
    told = [str(svg["aria-label"]) for svg in page(found.html).of("svg")]
    names = {re.match(r"Reliability diagram of class (.*?)\. ", text) for text in told} - {None}
    assert {name[1] for name in names} == {r"a\x01… (1)", r"a\x01… (2)", r"b\ud800"}
    found.html.encode()


def test_text_labels_are_quoted():
    labels = ["Low", "Medium, maybe"]
    y = np.repeat(labels, 3)
    found = report(y, np.linspace(0.1, 0.9, 6), labels=labels, n_resamples=9)
    assert "<dd>“Low”, “Medium, maybe”</dd>" in found.html
    assert "“Medium, maybe” happened in 50\N{NO-BREAK SPACE}% of them" in found.html
    assert "the probability of “Medium, maybe” is" in found.html


MISSING = [
    ["a", None, "b"],
    ["a", float("nan"), "b"],
    np.array(["a", None, "b"], dtype=object),
    pd.Series(["a", None, "b"]),
    pl.Series(["a", None, "b"]),
    pa.array(["a", None, "b"]),
    pa.chunked_array([["a", None, "b"]]),
]


@pytest.mark.parametrize("by", MISSING, ids=lambda by: type(by).__module__.split(".")[0])
def test_missing_groups_are_found_in_containers(by):
    assert group_labels(by, np.zeros(3)).tolist() == ["a", None, "b"]


def test_missing_groups_are_a_group(page):
    texts = [["a", None, "b"], ["a", "missing", "b"]]
    found, named = (report([0, 1, 1], [0.2, 0.7, 0.9], by=by, n_resamples=9) for by in texts)
    table = page(found.html).tables["Groups"][1:]
    assert sorted(row[0] for row in table) == ["a", "b", "missing"]
    assert "<em>missing</em>" in found.html
    assert "<em>missing</em>" not in named.html
    hashes = [re.findall(r"\b[0-9a-f]{64}\b", one.html) for one in (found, named)]
    assert hashes[0] != hashes[1]


def test_missing_groups_of_numbers_and_of_all_rows(outcomes, page):
    forecast, y = outcomes
    by = np.where(np.arange(30) % 3 == 0, np.nan, np.arange(30) % 3)
    found = forecast_report(forecast, y, by=by, n_resamples=9)
    table = page(found.html).tables["Groups"][1:]
    assert sorted(row[0] for row in table) == ["1", "2", "missing"]
    assert {row[1] for row in table} == {"10"}
    assert group_labels([None] * 30, y).tolist() == [None] * 30


def test_bad_groups_among_missing_ones_are_named(rows):
    with pytest.raises(ValueError, match=r"by\[2\] is 0.5, which is no label"):
        group_labels(np.r_[np.nan, 1.0, 0.5, np.zeros(21)], rows[0])


def test_groups_of_one_row_are_not_said_to_be_fine(rows, page):
    found = report(*rows, by=np.arange(24), n_resamples=9)
    assert "None of the" not in found.html
    assert "24 of 24 groups are too small to test." in found.html
    for row in page(found.html).tables["Groups"][1:]:
        assert row[5] == "\N{EN DASH}"
        assert row[7:] == ["\N{EN DASH}"] * 2


def test_groups_that_correction_clears_are_no_fine_ones():
    rng = np.random.default_rng(6)
    prob = rng.uniform(0.2, 0.8, 900)
    by = np.repeat(np.arange(30), 30)
    y = rng.random(900) < prob + np.where(by == 0, 0.15, 0.0)
    found = report(y, prob, by=by, n_resamples=9)
    assert "ECE, not shown after correction" in found.html
    assert "Those with the strongest evidence come first" in found.html
