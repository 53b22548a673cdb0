"""The page about class probabilities: its structure, its numbers, what it escapes."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import polars as pl
import pytest

from calibrant import (
    ThresholdLoss,
    calibration_test,
    confidence_interval,
    decision_loss,
    ece,
    predicted_loss,
    reliability_table,
)
from calibrant.metrics import verdict
from calibrant.reporting import report
from calibrant.reporting.sample import read_sample
from calibrant.selection import compare_calibrators
from calibrant.transforms import inv_logit, softmax

EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "$\\frac & --> {{ 7 * 7 }}"]


def number(value: float) -> str:
    return format(value, ".2g" if 0 < abs(value) < 0.001 else ".4f").replace("-", "\N{MINUS SIGN}")


def check_structure(found, page) -> None:
    parsed = page(found.html)
    assert len(found.html.encode()) < 2_000_000
    assert parsed.of("html")[0]["lang"] == "en"
    levels = [level for level, _ in parsed.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    assert all(text.strip() for _, text in parsed.headings)
    for svg in parsed.of("svg"):
        assert svg["role"] == "img"
        assert svg["aria-label"]
    assert all(th.get("scope") for th in parsed.of("th"))
    ids = parsed.ids()
    assert len(ids) == len(set(ids))
    for control in parsed.of("input"):
        assert control["id"] in [label["for"] for label in parsed.of("label")]
    for link in parsed.of("a"):
        assert str(link["href"])[1:] in ids
    markup = found.html.partition("<script")[0]
    for used in re.findall(r"url\(#([^)]+)\)", markup):
        assert used in ids
    # Nothing that a browser would fetch.
    loading = ("src", "href", "data", "poster", "action", "srcset")
    for tag, attributes in parsed.elements:
        for name in loading:
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", markup)
    # No other scripts run than those of the page, and none makes code of text.
    data, *scripts = parsed.scripts
    json.loads(data)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()) for one in scripts]
    allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    policy = parsed.of("meta")[2]["content"]
    assert policy.split("; ")[0] == "default-src 'none'"
    assert policy.split("; ")[2] == f"script-src {allowed}"


def test_structure(binary_report, page):
    check_structure(binary_report, page)
    assert [text for level, text in page(binary_report.html).headings if level == 2] == [
        "Clear signs of miscalibration", "Key numbers", "Reliability", "Repair", "Groups",
        "Decisions", "What was done",
    ]  # fmt: skip


def test_key_numbers_are_the_library_s(binary, binary_report, page):
    y, prob, _ = binary
    table = page(binary_report.html).tables["Key numbers"]
    found = confidence_interval(y, prob, n_resamples=99, random_state=0)
    assert table[1][1:] == [number(ece(y, prob)), f"{number(found.low)} to {number(found.high)}"]
    assert binary_report.verdict == verdict(reliability_table(y, prob)).text
    test = calibration_test(y, prob, n_resamples=99, random_state=0)
    assert f"p = {test.pvalue:.3f}" in binary_report.html


def test_calibrators_are_those_of_the_comparison(binary, binary_report, page):
    y, prob, _ = binary
    found = compare_calibrators(prob, y, n_resamples=99, random_state=0)
    table = page(binary_report.html).tables["Calibrators compared"]
    marks = dict.fromkeys(found.surely_wrong, " !")
    assert marks  # isotonic is sure and wrong somewhere
    assert [row[0].removesuffix(" recommended") for row in table[1:]] == [
        name + marks.get(name, "") for name in found.scores
    ]
    assert "! gave something that happened a probability of zero" in binary_report.html
    (chosen,) = (row for row in table if row[0].endswith("recommended"))
    assert chosen[0] == f"{found.recommended} recommended"
    score = found.scores[found.recommended]["log_loss"]
    assert chosen[1:3] == [number(score.estimate), number(score.minus_uncalibrated.estimate)]
    after = page(binary_report.html).tables["Before and after"]
    assert after[1][1:3] == [
        number(found.scores["uncalibrated"]["log_loss"].estimate), number(score.estimate)
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [1, 3])
def test_calibrators_of_logits_are_those_of_the_comparison(columns, page):
    rng = np.random.default_rng(9)
    z = 2.0 * rng.normal(size=(200, columns))
    y = (z / 2.0 + rng.gumbel(size=z.shape)).argmax(axis=1)
    if columns == 1:
        z = z[:, 0]
        y = (rng.random(200) < inv_logit(z / 2.0)).astype(int)
    prob = inv_logit(z) if columns == 1 else softmax(z)
    found = report(y, z, input="logit", n_resamples=9)
    tables = page(found.html).tables
    expected = compare_calibrators(z, y, input="logit", n_resamples=9, random_state=0)
    rows = tables["Calibrators compared"][1:]
    assert {row[0].split()[0]: row[1] for row in rows} == {
        name: number(scores["log_loss"].estimate) for name, scores in expected.scores.items()
    }
    assert tables["Key numbers"][1][1] == number(ece(y, prob, kind="confidence"))
    assert "compared out of fold on the logits, 5 folds" in found.html


def test_logits_in_frames_and_in_either_order():
    rng = np.random.default_rng(10)
    z = rng.normal(size=(40, 2))
    y = np.where(z[:, 1] > 0.3 * rng.normal(size=40), "b", "a")
    options = {"labels": None, "pos_label": None, "sample_weight": None, "input": "logit"}
    frame = pl.DataFrame(z, schema=["a", "b"])
    of_a, _ = read_sample(y, frame, **(options | {"pos_label": "a"}))
    again, _ = read_sample(y, z[:, 0] - z[:, 1], **(options | {"labels": ["b", "a"]}))
    assert of_a.labels == again.labels == ["b", "a"]
    assert of_a.logits == pytest.approx(again.logits)
    assert of_a.prob == pytest.approx(inv_logit(z[:, 0] - z[:, 1]))
    assert np.array_equal(of_a.codes, again.codes)
    assert read_sample(y, frame[:, ::-1], **options)[0].labels == ["b", "a"]


def test_groups_are_tested_with_holm_s_correction(binary, binary_report, page):
    y, prob, by = binary
    table = page(binary_report.html).tables["Groups"][1:]
    pvalues = {
        name: calibration_test(
            y[by == name], prob[by == name], n_resamples=239, random_state=0
        ).pvalue
        for name in np.unique(by)
    }
    reached, adjusted = 0.0, {}
    for rank, name in enumerate(sorted(pvalues, key=pvalues.__getitem__)):
        reached = max(reached, min(1.0, (3 - rank) * pvalues[name]))
        adjusted[name] = reached
    found = {row[0].removesuffix(" miscalibrated"): row for row in table}
    assert set(found) == set(pvalues)
    for name, row in found.items():
        assert row[1] == str((by == name).sum())
        assert row[4] == number(ece(y[by == name], prob[by == name]))
        assert row[7:] == [f"{pvalues[name]:.3f}", f"{adjusted[name]:.3f}"]
        assert row[0].endswith("miscalibrated") == (adjusted[name] <= 0.05)
    order = [adjusted[row[0].removesuffix(" miscalibrated")] for row in table]
    assert order == sorted(order)


class Event:
    """The outcome 1 - y of events: F(0.5) is the probability of the event."""

    def __init__(self, prob: np.ndarray) -> None:
        self.prob = prob

    def cdf(self, at):
        at = np.asarray(at, dtype=float)
        return np.where(at < 0, 0.0, np.where(at < 1, self.prob, 1.0))


def test_panel_values_are_the_library_s(binary, binary_report, page):
    y, prob, _ = binary
    data, rows = page(binary_report.html).panel()
    assert data["series"] == 2
    words = {
        1 / 50: "A false alarm costs 50 times as much as a miss",
        1.0: "A miss costs as much as a false alarm",
        5.0: "A miss costs 5 times as much as a false alarm",
    }
    for cost, told in words.items():
        c = data["costs"].index(told)
        thresholds = rows[c]["threshold"]
        loss = ThresholdLoss.from_errors(0.5, false_positive=1.0, false_negative=cost)
        assert thresholds[data["best"][c]] == pytest.approx(loss.level)
        for t in range(0, len(thresholds), 11):
            options = {"level": thresholds[t]}
            assert rows[c]["predicted_0"][t] == pytest.approx(
                predicted_loss(Event(prob), loss, **options), abs=1e-8
            )
            assert rows[c]["realised_0"][t] == pytest.approx(
                decision_loss(Event(prob), 1 - y, loss, **options), abs=1e-8
            )
            assert rows[c]["acting_0"][t] == pytest.approx((prob >= thresholds[t]).mean())


def test_panel_of_the_recommended_calibrator(binary, binary_report, page):
    y, prob, _ = binary
    found = compare_calibrators(prob, y, n_resamples=99, random_state=0)
    after = found.predictions[found.recommended]
    data, rows = page(binary_report.html).panel()
    c = data["costs"].index("A miss costs 3 times as much as a false alarm")
    for t, threshold in list(enumerate(rows[c]["threshold"]))[::10]:
        act = after >= threshold
        promised = np.where(act, 1.0 - after, 3.0 * after).mean()
        came = np.where(act, y == 0, 3.0 * (y == 1)).mean()
        assert rows[c]["predicted_1"][t] == pytest.approx(promised, abs=1e-8)
        assert rows[c]["realised_1"][t] == pytest.approx(came, abs=1e-8)
        assert rows[c]["acting_1"][t] == pytest.approx(act.mean())


def test_brier_score_is_explained_as_what_it_is(page):
    rng = np.random.default_rng(8)
    prob = rng.dirichlet(np.ones(3), 60)
    y = np.r_[np.arange(3), rng.integers(3, size=57)]
    found = report(y, prob, n_resamples=9)
    (row,) = (row for row in page(found.html).tables["Key numbers"] if "Brier" in row[0])
    assert "summed over the classes" in row[0]
    assert row[1] == number(((prob - np.eye(3)[y]) ** 2).sum(axis=1).mean())


def test_the_top_label_is_accepted(page):
    y = np.tile(np.arange(3), 70)
    prob = np.random.default_rng(11).dirichlet(np.full(3, 0.3), 210)
    found = report(y, prob, n_resamples=9)
    parsed = page(found.html)
    assert parsed.panel()[0]["lead"] == "Accept where the probability is at least "
    head = parsed.tables["Losses at the costs and the threshold chosen"][0]
    assert head == [
        "Predictions", "Accepts", "Predicted", "Realised", "Realised \N{MINUS SIGN} predicted"
    ]  # fmt: skip
    assert "As they are, top label (ECE " in found.html  # the table has the classwise ones
    assert "if the probabilities are right</button>" in found.html


def test_a_rate_is_told_in_one_way(page):
    y = np.arange(2000) < 897  # 44.85 %
    found = report(y, np.full(2000, 0.25), n_resamples=9)
    text = re.sub(r"<[^>]+>", "", found.html.partition('<section id="numbers">')[0])
    told = re.findall("(?:happened in|observed frequency,) (\\S+)\N{NO-BREAK SPACE}%", text)
    assert len(told) == 2
    assert len(set(told)) == 1
    assert "at n = 2,000" in text
    assert not re.search(r"\d ?%", text.partition("</style>")[2])


def test_the_same_input_gives_the_same_bytes(binary, binary_report):
    y, prob, by = binary
    again = report(pl.Series(y), pl.Series(prob), by=pl.Series(by), n_resamples=99)
    assert again.html == binary_report.html
    other = report(y, np.append(prob[:-1], prob[-1] / 2), by=by, n_resamples=99)
    pattern = re.compile(r"\b[0-9a-f]{64}\b")
    assert pattern.findall(other.html) != pattern.findall(binary_report.html)


def test_calibrated_predictions_are_called_fine():
    rng = np.random.default_rng(6)
    prob = rng.random(3000)
    found = report(rng.random(3000) < prob, prob, n_resamples=99)
    assert "Fine, as far as these rows tell" in found.html
    assert found.verdict.startswith("No clear sign of miscalibration")


def test_date_and_title_are_shown(binary):
    y, prob, _ = binary
    found = report(y[:50], prob[:50], title="Q3 & Q4", date="2024-05-01", n_resamples=9)
    assert found.title == "Q3 & Q4"
    assert "<title>Q3 &amp; Q4</title>" in found.html
    assert "2024-05-01" in found.html


def test_names_are_shown_and_not_run(page):
    rng = np.random.default_rng(2)
    prob = rng.dirichlet(np.ones(3), 300)
    codes = (rng.random((300, 1)) > prob.cumsum(axis=1)).sum(axis=1)
    found = report(
        np.array(EVIL)[codes], prob, labels=EVIL, by=np.array(EVIL[::-1])[codes],
        title=EVIL[0], n_resamples=19,
    )  # fmt: skip
    check_structure(found, page)
    parsed = page(found.html)
    assert not parsed.of("img")
    assert not [
        name for _, attributes in parsed.elements for name in attributes if name[:2] == "on"
    ]
    assert parsed.headings[0] == (1, EVIL[0])
    names = {row[0].removesuffix(" miscalibrated") for row in parsed.tables["Groups"][1:]}
    assert names == set(EVIL)


def test_weights_leave_the_test_out(binary, page):
    y, prob, by = binary
    weight = np.where(by == "west", 0.0, 2.0)
    found = report(y, prob, by=by, sample_weight=weight, n_resamples=19)
    assert "Calibration test:" not in found.html
    parsed = page(found.html)
    assert len(parsed.tables["Groups"]) == 3  # rows of weight zero are left out
    assert parsed.tables["Key numbers"][1][1] == number(ece(y, prob, sample_weight=weight))


def test_too_few_events_for_folds_still_give_a_report(page):
    prob = np.random.default_rng(3).random(40)
    found = report(np.arange(40) == 7, prob, n_resamples=9)
    check_structure(found, page)
    assert "No calibrator could be compared: " in found.html
    assert "has 1 row, fewer than the 5 folds" in found.html


def test_a_single_row_gives_a_report(page):
    check_structure(report([1], [0.3], by=["a"], n_resamples=9), page)


def test_rare_events_are_shown_on_logit_axes():
    rng = np.random.default_rng(4)
    prob = rng.beta(0.5, 40.0, 2000)
    found = report(rng.random(2000) < prob, prob, n_resamples=19)
    assert "logit axes" in found.html


def test_saving_is_complete_and_overwrites_nothing_unasked(binary_report, tmp_path):
    path = tmp_path / "report.html"
    binary_report.save(path)
    assert path.read_text(encoding="utf-8") == binary_report.html
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        binary_report.save(path)
    assert path.read_text() == "mine"
    binary_report.save(path, overwrite=True)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match="create it first"):
        binary_report.save(tmp_path / "no" / "report.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ["a"]}, "by has 1 rows but y has 600"),
        ({"by": np.full(600, 0.5)}, r"by\[0\] is 0.5, which is no label"),
        ({"input": "odds"}, "input must be"),
        ({"n_resamples": 0}, "n_resamples must be an integer of at least 1"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_input_is_refused(binary, options, message):
    y, prob, _ = binary
    with pytest.raises(ValueError, match=message):
        report(y, prob, **options)
