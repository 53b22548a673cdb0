"""Reliability diagrams: what is drawn is what the table says."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.markers import MarkerStyle
from scipy import stats
from sklearn.linear_model import LogisticRegression

from calibrant import PlattScaling, reliability_table
from calibrant.displays import (
    ReliabilityDisplay,
    ReliabilityGapDisplay,
    ThresholdCalibrationDisplay,
)

CLASSES = np.array(["ant", "bee", "cat", "dog", "eel"])


def binary(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    prob = rng.beta(0.6, 0.9, n)
    return (rng.random(n) < prob**1.5).astype(int), prob


def multiclass(seed: int = 0, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet([0.5, 0.6, 0.7, 0.8, 0.9], n)
    return CLASSES[rng.integers(0, 5, n)], prob


def points(line: Any) -> np.ndarray:
    return np.asarray(line.get_xydata())


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---------------------------------------------------------------- points


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_points_are_those_of_the_table(strategy: str):
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, n_bins=7, strategy=strategy)
    table = reliability_table(y, prob, n_bins=7, strategy=strategy)
    np.testing.assert_array_equal(points(display.line_), np.c_[table.mean_prob, table.observed])
    assert display.table == table
    assert display.classes_ == [1]


def test_the_line_is_broken_at_empty_bins():
    y, prob = [0, 0, 1, 1, 0, 1], [0.05, 0.15, 0.12, 0.85, 0.95, 0.97]
    display = ReliabilityDisplay.from_predictions(y, prob)
    drawn = points(display.line_)
    np.testing.assert_array_equal(np.isnan(drawn).all(axis=1), [0, 0, 1, 1, 1, 1, 1, 1, 0, 0])


def test_weights_are_those_of_the_table():
    y, prob = binary()
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    display = ReliabilityDisplay.from_predictions(y, prob, sample_weight=weight, sized=True)
    table = reliability_table(y, prob, sample_weight=weight)
    np.testing.assert_array_equal(points(display.line_), np.c_[table.mean_prob, table.observed])
    assert not [c for c in display.ax_.collections if "bars" in str(c.get_label())]


def test_areas_are_in_proportion_to_counts():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, sized=True)
    np.testing.assert_array_equal(display.points_.get_offsets(), points(display.line_))
    ratio = display.points_.get_sizes() / display.table.count
    np.testing.assert_allclose(ratio, ratio[0])
    assert ReliabilityDisplay.from_predictions(y, prob).points_ is None


def test_labels_and_pos_label_reach_the_table_and_the_axes():
    y, prob = binary()
    text = np.where(y == 1, "yes", "no")
    display = ReliabilityDisplay.from_predictions(text, 1 - prob, pos_label="no")
    np.testing.assert_allclose(display.table.sum_prob.sum(), (1 - prob).sum())
    assert display.ax_.get_ylabel() == "Observed frequency of 'no'"
    assert display.histogram_ax_.get_xlabel() == "Mean predicted probability of 'no'"
    assert display.classes_ == ["no"]


def test_confidence_has_one_panel():
    y, prob = multiclass()
    display = ReliabilityDisplay.from_predictions(y, prob, labels=CLASSES, kind="confidence")
    table = reliability_table(y, prob, labels=CLASSES, kind="confidence")
    np.testing.assert_array_equal(points(display.line_), np.c_[table.mean_prob, table.observed])
    assert display.ax_.get_ylabel() == "Share of rows where it is right"
    assert display.classes_ == []


# ---------------------------------------------------------------- bars


def bars(ax: Any, word: str) -> Any:
    return next(c for c in ax.collections if word in str(c.get_label()))


def test_consistency_bars_are_binomial_quantiles_around_the_diagonal():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, confidence_level=0.9)
    table = display.table
    for k, (low, high) in enumerate(bars(display.ax_, "90 % consistency").get_segments()):
        n, p = table.count[k], table.mean_prob[k]
        assert low[0] == high[0] == p
        chance = stats.binom(n, p)
        assert chance.cdf(low[1] * n - 1 + 1e-9) < 0.05 <= chance.cdf(low[1] * n + 1e-9)
        assert chance.cdf(high[1] * n - 1 + 1e-9) < 0.95 <= chance.cdf(high[1] * n + 1e-9)


def test_confidence_bars_are_wilson_intervals():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, band="confidence")
    (container,) = display.ax_.containers
    assert container.get_label() == "95 % confidence bars"
    segments = container.lines[2][0].get_segments()
    for k, (low, high) in enumerate(segments):
        events, n = int(display.table.sum_true[k]), int(display.table.count[k])
        expected = stats.binomtest(events, n).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose([low[1], high[1]], expected, atol=1e-12)


def test_no_bars():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, band=None)
    assert labels(display.ax_) == ["Observed", "Perfect calibration"]


def test_bars_of_weighted_tables_are_refused():
    y, prob = binary()
    with pytest.raises(ValueError, match="band='confidence' needs a table without weights"):
        ReliabilityDisplay.from_predictions(
            y, prob, sample_weight=np.full(len(y), 2.0), band="confidence"
        )
    assert not plt.get_fignums()


# ---------------------------------------------------------------- histogram


def test_the_histogram_shows_the_shares_of_the_bins():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob)
    values, edges, _ = display.histogram_ax_.patches[0].get_data()
    np.testing.assert_allclose(values, display.table.count / len(y))
    np.testing.assert_array_equal(edges, display.table.edges[0])
    assert display.histogram_ax_.get_ylabel() == "Share"
    assert display.histogram_ax_.get_xlim() == display.ax_.get_xlim()


@pytest.mark.parametrize("power", [1, 40])
def test_unequal_bins_are_densities_of_area_one(power: int):
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob**power, n_bins=15, strategy="quantile")
    values, edges, _ = display.histogram_ax_.patches[0].get_data()
    assert display.histogram_ax_.get_ylabel() == "Density"
    assert values @ np.diff(edges) == pytest.approx(1.0)
    assert set(edges) <= set(display.table.edges[0])
    assert np.diff(edges).min() >= 0.02 or len(edges) == 2


def test_without_a_histogram_nothing_is_split():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, histogram=False)
    assert display.figure_.axes == [display.ax_]
    assert display.histogram_ax_ is None
    assert display.ax_.get_xlabel() == "Mean predicted probability"
    later = ReliabilityDisplay.from_predictions(y, prob**2, ax=display.ax_)
    assert later.histogram_ax_.get_xlabel() == "Mean predicted probability"
    assert later.ax_.get_xlabel() == ""


# ---------------------------------------------------------------- several models


def test_several_models_on_one_axes():
    y, prob = binary()
    first = ReliabilityDisplay.from_predictions(y, prob, name="raw")
    assert first.ax_.get_title(loc="left").endswith(
        f"ECE {first.table.ece():.3g}, 400 predictions in 10 bins"
    )
    second = ReliabilityDisplay.from_predictions(y, prob**1.5, ax=first.ax_)
    assert second.ax_ is first.ax_
    assert second.histogram_ax_ is first.histogram_ax_
    assert labels(first.ax_) == [
        "95 % consistency bars",
        f"raw (ECE {first.table.ece():.3g})",
        f"Model 2 (ECE {second.table.ece():.3g})",
        "Perfect calibration",
    ]
    assert first.ax_.get_title(loc="left") == "Reliability diagram"
    for get in ("get_color", "get_marker", "get_linestyle"):
        assert getattr(first.line_, get)() != getattr(second.line_, get)()
    assert len(first.histogram_ax_.patches) == 2
    assert len(first.figure_.axes) == 2


def test_cleared_axes_start_anew():
    y, prob = binary()
    ax = plt.subplots()[1]
    ReliabilityDisplay.from_predictions(y, prob, ax=ax, histogram=False)
    ax.clear()
    display = ReliabilityDisplay.from_predictions(y, prob, ax=ax, histogram=False, scale="logit")
    assert labels(ax)[1] == "Observed"
    assert display.line_.get_color() == "#0072B2"


def test_line_options_are_passed_on():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob, color="crimson", lw=3, marker="*")
    assert display.line_.get_color() == "crimson"
    assert display.line_.get_linewidth() == 3
    assert display.line_.get_marker() == "*"


# ---------------------------------------------------------------- classes


def test_the_worst_classes_come_first():
    y, prob = multiclass()
    display = ReliabilityDisplay.from_predictions(y, prob, labels=CLASSES, name="model")
    tables = display.table.by_class()
    assert display.classes_ == sorted(tables, key=lambda label: -tables[label].ece())[:4]
    for label, line, ax in zip(display.classes_, display.line_, display.ax_, strict=True):
        table = tables[label]
        np.testing.assert_array_equal(points(line), np.c_[table.mean_prob, table.observed])
        assert ax.get_title(loc="left").startswith(f"Class {label}\nECE {table.ece():.3g}, 600")
    assert display.figure_.get_suptitle() == "Reliability diagrams of 4 of 5 classes"
    (legend,) = display.figure_.legends
    assert f"model (mean ECE {display.table.ece():.3g})" in [t.get_text() for t in legend.texts]


def test_a_second_model_is_drawn_for_the_same_classes():
    y, prob = multiclass()
    first = ReliabilityDisplay.from_predictions(y, prob, labels=CLASSES, n_panels=2)
    other = prob[:, ::-1]
    second = ReliabilityDisplay.from_predictions(y, other, labels=CLASSES, ax=first.ax_)
    assert second.classes_ == first.classes_
    assert len(first.figure_.legends) == 1
    eces = [d.table.by_class()[first.classes_[0]].ece() for d in (first, second)]
    assert first.ax_[0].get_title(loc="left").endswith(f"\nECE {eces[0]:.3g}, {eces[1]:.3g}")


def test_classes_are_chosen_by_name():
    y, prob = multiclass()
    display = ReliabilityDisplay.from_predictions(
        y, prob, labels=CLASSES, classes=["eel", "ant"], histogram=False
    )
    assert display.classes_ == ["eel", "ant"]
    single = ReliabilityDisplay.from_predictions(y, prob, labels=CLASSES, classes=["bee"])
    assert single.ax_.get_title(loc="left").startswith("Class bee")


def test_five_panels_leave_no_empty_axes():
    y, prob = multiclass()
    display = ReliabilityDisplay.from_predictions(
        y, prob, labels=CLASSES, n_panels=9, histogram=False
    )
    assert len(display.ax_) == len(display.figure_.axes) == 5
    display.figure_.draw_without_rendering()


def test_panels_on_given_axes():
    y, prob = multiclass()
    figure, axes = plt.subplots(1, 2)
    display = ReliabilityDisplay.from_predictions(y, prob, labels=CLASSES, n_panels=2, ax=axes)
    assert list(display.ax_) == list(axes)
    assert not figure.legends
    assert all(ax.get_ylabel() == "Observed frequency" for ax in axes)


# ---------------------------------------------------------------- logit axes


def test_logit_axes_show_every_bin():
    rng = np.random.default_rng(0)
    prob = rng.beta(0.2, 8.0, 5000)
    y = rng.random(5000) < prob
    display = ReliabilityDisplay.from_predictions(
        y, prob, scale="logit", strategy="quantile", n_bins=12
    )
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "logit"
    low, high = display.ax_.get_xlim()
    assert low >= 0.1 / 5000 / 2
    drawn = points(display.line_)
    inside = ((drawn >= low) & (drawn <= high)).all(axis=1)
    (off,) = [c for c in display.ax_.collections if c.get_label() == "Off the scale"]
    np.testing.assert_allclose(off.get_offsets(), drawn[~inside].clip(low, high))
    assert 0 < inside.sum() < 12
    values, edges, _ = display.histogram_ax_.patches[0].get_data()
    place = np.log(edges / (1 - edges))
    assert values @ np.diff(place) == pytest.approx(1.0)


def test_logit_axes_of_certain_forecasts():
    display = ReliabilityDisplay.from_predictions([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], scale="logit")
    display.figure_.draw_without_rendering()
    assert len(bars(display.ax_, "Off the scale").get_offsets()) == 2


def test_points_below_a_tenth_of_a_row_are_diamonds():
    prob, y = np.r_[np.full(50, 1e-5), np.full(50, 0.5)], np.r_[np.zeros(75), np.ones(25)]
    y[0] = 1
    display = ReliabilityDisplay.from_predictions(y, prob, scale="logit", n_bins=2)
    off = bars(display.ax_, "Off the scale")
    np.testing.assert_array_equal(off.get_offsets(), [[display.ax_.get_xlim()[0], 0.02]])
    diamond = MarkerStyle("d")
    expected = diamond.get_path().transformed(diamond.get_transform())
    np.testing.assert_array_equal(off.get_paths()[0].vertices, expected.vertices)


def test_ticks_of_logit_axes_are_few_and_plain():
    y, prob = binary(n=100_000)
    display = ReliabilityDisplay.from_predictions(
        y, prob**9, scale="logit", strategy="quantile", n_bins=40
    )
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert "0.5" in shown
    assert len(shown) <= 7


def test_scales_do_not_mix():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob)
    with pytest.raises(ValueError, match="scale is 'logit', but the axes are linear already"):
        ReliabilityDisplay.from_predictions(y, prob, scale="logit", ax=display.ax_)


# ---------------------------------------------------------------- where it is drawn


def test_the_callers_axes_and_state_are_left_alone():
    y, prob = binary()
    figure, axes = plt.subplots(1, 3)
    before = dict(plt.rcParams)
    plt.sca(axes[2])
    display = ReliabilityDisplay.from_predictions(y, prob, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert plt.gca() is axes[2]
    assert plt.get_fignums() == [figure.number]
    assert dict(plt.rcParams) == before
    for ax in axes[1:]:
        assert not ax.has_data()
        assert ax.xaxis.get_tick_params()["labelbottom"]
    figure.draw_without_rendering()
    assert display.histogram_ax_.get_position().y1 <= axes[0].get_position().y0
    assert display.histogram_ax_.get_position().x0 == axes[0].get_position().x0


def test_axes_without_a_grid():
    y, prob = binary()
    figure = plt.figure()
    ax = figure.add_axes((0.1, 0.2, 0.5, 0.6))
    display = ReliabilityDisplay.from_predictions(y, prob, ax=ax)
    assert display.histogram_ax_.get_position().y0 == pytest.approx(0.2)
    assert ax.get_position().y1 == pytest.approx(0.8)
    assert display.histogram_ax_.get_position().y1 < ax.get_position().y0


def test_subfigures():
    y, prob = binary()
    part = plt.figure(layout="constrained").subfigures(1, 2)[1]
    display = ReliabilityDisplay.from_predictions(y, prob, ax=part.subplots())
    assert display.figure_ is part
    display.figure_.figure.draw_without_rendering()


@pytest.mark.parametrize("style", ["dark_background", "ggplot", "classic"])
def test_styles(style: str):
    y, prob = binary()
    with plt.style.context(style):
        display = ReliabilityDisplay.from_predictions(y, prob)
        display.figure_.draw_without_rendering()


def test_figures_can_be_pickled():
    y, prob = binary()
    display = ReliabilityDisplay.from_predictions(y, prob)
    again = pickle.loads(pickle.dumps(display.figure_))
    assert len(again.axes) == 2


# ---------------------------------------------------------------- estimators and tables


def test_from_estimator():
    y, prob = binary()
    text = np.where(y == 1, "yes", "no")
    model = LogisticRegression().fit(prob[:, None], text)
    display = ReliabilityDisplay.from_estimator(model, prob[:, None], text)
    table = reliability_table(text, model.predict_proba(prob[:, None]))
    assert display.table == table
    assert display.line_.get_label() == "LogisticRegression"
    platt = PlattScaling().fit(prob, text)
    named = ReliabilityDisplay.from_estimator(platt, prob, text, name="Platt", n_bins=5)
    assert named.table == reliability_table(
        text, platt.predict_proba(prob), pos_label="yes", n_bins=5
    )
    assert named.line_.get_label() == "Platt"


def test_from_estimator_that_cannot():
    with pytest.raises(ValueError, match="estimator object has no predict_proba"):
        ReliabilityDisplay.from_estimator(object(), [[0.0]], [1])


def test_from_table():
    y, prob = binary()
    table = reliability_table(y[:200], prob[:200]).merge(reliability_table(y[200:], prob[200:]))
    display = ReliabilityDisplay.from_table(table, name="merged")
    assert display.table is table
    with pytest.raises(ValueError, match="table must be a ReliabilityTable, got list"):
        ReliabilityDisplay.from_table([1, 2])


def test_plot_again_under_another_name():
    y, prob = binary()
    display = ReliabilityDisplay(reliability_table(y, prob), name="one")
    assert display.plot() is display
    first = display.figure_
    display.plot(name="two")
    assert display.figure_ is not first
    assert display.line_.get_label() == "two"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "log"}, "scale must be 'linear' or 'logit', got 'log'"),
        ({"band": "none"}, "band must be 'auto', 'consistency', 'confidence' or None, got 'none'"),
        ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
        ({"sized": "yes"}, "sized must be True or False, got 'yes'"),
        ({"histogram": 1}, "histogram must be True or False, got 1"),
        ({"classes": ["ant"]}, "classes is for classwise tables, not binary ones"),
        ({"n_bins": 0}, "n_bins must be an integer of at least 1"),
        ({"kind": "top"}, "kind must be 'classwise' or 'confidence'"),
        ({"ax": 3}, "ax must be a matplotlib Axes, got int"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str):
    y, prob = binary()
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(y, prob, **options)
    assert not plt.get_fignums()


def test_bad_panels():
    y, prob = multiclass()
    table = reliability_table(y, prob, labels=CLASSES)
    with pytest.raises(ValueError, match="n_panels must be an integer of at least 1, got 0"):
        ReliabilityDisplay.from_table(table, n_panels=0)
    known = r"table does not have: it has \['ant', 'bee', 'cat', 'dog', 'eel'\]"
    with pytest.raises(ValueError, match=f"classes names 'fox', which the {known}"):
        ReliabilityDisplay.from_table(table, classes=["fox"])
    with pytest.raises(ValueError, match="ax holds 1 axes for 4 panels: pass 4, or leave ax out"):
        ReliabilityDisplay.from_table(table, ax=plt.subplots()[1])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([], r"classes must be a list of labels, got \[\]"),
        (1, "classes must be a list of labels, got 1"),
        ("ab", "classes must be a list of labels, got 'ab'"),
        ([[1]], r"classes names \[1\], which the table does not have: it has \[0, 1, 2\]"),
        ([1, 1], "classes names 1 twice: name each class once"),
    ],
)
def test_classes_that_cannot_be_shown(classes, message):
    prob = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(np.arange(30) % 3, prob, classes=classes)


def test_estimators_that_are_none():
    class Nameless:
        def predict_proba(self, X):
            return [[0.5, 0.5]]

    with pytest.raises(ValueError, match="estimator Nameless has no classes_: use from_pred"):
        ReliabilityDisplay.from_estimator(Nameless(), [[0.0]], [1])
    with pytest.raises(ValueError, match="estimator is the class Nameless: pass a fitted inst"):
        ReliabilityDisplay.from_estimator(Nameless, [[0.0]], [1])


@pytest.mark.parametrize(
    "display", [ReliabilityDisplay, ReliabilityGapDisplay, ThresholdCalibrationDisplay]
)
def test_displays_of_something_else(display):
    with pytest.raises(ValueError, match="must be a .*, got int"):
        display(3).plot()


def test_probabilities_and_weights_near_the_ends_of_floating_point():
    rng = np.random.default_rng(0)
    y = rng.random(50) < 0.5
    ReliabilityDisplay.from_predictions(y, np.full(50, 1e-300), scale="logit")
    ReliabilityDisplay.from_predictions(
        y, rng.random(50), sample_weight=np.full(50, 1e305), sized=True
    )
