"""The decision panel: a chart of Vega-Lite that sliders move, and the picture it starts as."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.displays.drawing import COLOURS
from calibrant.reporting.pictures import as_image, page_colour
from calibrant.reporting.stakes import MISS_COSTS, START, Stakes

if TYPE_CHECKING:
    import altair
    from markupsafe import Markup

_DESCRIPTION = "Predicted and realised loss by threshold."
_LOSS = "Loss per row (a false alarm costs 1)"
_DECIMALS = 9
_INK = "currentColor"
_MINUS = "replace(datum.label, regexp('-', 'g'), '\N{MINUS SIGN}')"
_LOSSES = "realised", "predicted"
_DASHES = [1, 0], [5, 3]  # of the two losses
_STROKES = 1.5, 4.0  # of the forecasters: greyscale prints have no colours
_SIZE = 560, 300
_WIDTH = 38.0  # rem


class Panel(NamedTuple):
    """`picture` needs no script; `data` is what the script draws and looks up.

    `choice` says in words which costs and threshold the picture is of.
    """

    picture: Markup
    choice: str
    data: dict[str, Any]


def make_panel(stakes: Stakes) -> Panel:
    """Losses against the threshold, by what a miss costs."""
    import altair as alt

    rows = _rows(stakes)
    # What the user has set for other charts has no say.
    with alt.theme.enable("none"):
        chart = _chart(stakes, [field for field in rows[0] if field != "cost"]).to_dict()
    chart["data"]["values"] = rows  # Altair would take long to check every number
    start = stakes.best[START]
    data: dict[str, Any] = {
        "chart": chart,
        "costs": stakes.costs_in_words,
        "labels": stakes.labels,
        "best": list(stakes.best),
        "lead": stakes.question + (" " if stakes.chosen else ": "),
        "chosen": stakes.chosen,
        "series": len(stakes.losses),
    }
    choice = f"{data['costs'][START]}. {data['lead']}{stakes.labels[start]}."
    return Panel(_picture(chart, stakes), choice, data)


@functools.cache
def library() -> str:
    """The program that draws charts of Vega-Lite in a page, as one script."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_version())


def library_versions() -> dict[str, str]:
    import vl_convert

    return {"Vega": vl_convert.get_vega_version(), "Vega-Lite": _version()}


def _version() -> str:
    """The version of Vega-Lite that Altair's charts are for."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _rows(stakes: Stakes) -> list[dict[str, Any]]:
    """One row for each cost, of lists over the thresholds."""
    rows: list[dict[str, Any]] = []
    for k in range(len(MISS_COSTS)):
        row: dict[str, Any] = {"cost": k, "threshold": stakes.thresholds.tolist()}
        row["label"] = stakes.labels
        for s, own in enumerate(stakes.losses.values()):
            for measure in own._fields:
                values = getattr(own, measure)[k]
                row[f"{measure}_{s}"] = np.round(values, _DECIMALS).tolist()
        rows.append(row)
    return rows


def _chart(stakes: Stakes, lists: list[Any]) -> altair.LayerChart:
    """Without its data, of which `lists` are the fields of one entry per threshold."""
    import altair as alt

    lines = {
        f"{measure}_{s}": f"{name.capitalize()}: {measure}"
        for s, name in enumerate(stakes.losses)
        for measure in _LOSSES
    }
    ends = [float(stakes.thresholds[0]), float(stakes.thresholds[-1])]
    axis = alt.Axis(tickCount=8, labelExpr=_MINUS)
    x = alt.X("threshold:Q", title=stakes.question, axis=axis,
              scale=alt.Scale(domain=ends, nice=False))  # fmt: skip
    # Wider than the axis that it may stand on.
    chosen = alt.Chart().transform_filter("datum.threshold == at")
    chosen = chosen.mark_rule(color=_INK, strokeWidth=2.5)
    start = float(stakes.thresholds[stakes.best[START]])
    ink: Any = {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal"}
    chart: altair.LayerChart = (
        alt.layer(_curves(lines).encode(x=x), _pointer(stakes, lines).encode(x=x),
                  chosen.encode(x=x), data=alt.NamedData(name="losses"))
        .transform_filter("datum.cost == cost")
        .transform_flatten(lists)
        .add_params(alt.param(name="cost", value=START), alt.param(name="at", value=start),
                    alt.param(name="names", value=lines))
        .properties(width=_SIZE[0], height=_SIZE[1], description=_DESCRIPTION)
        .configure(background="transparent", font="system-ui, sans-serif",
                   padding={"left": 0, "right": 16, "top": 6, "bottom": 6})
        .configure_view(stroke=None)
        .configure_axis(grid=False, domainColor=_INK, tickColor=_INK,
                        labelFontSize=12, titleFontSize=12, **ink)
        .configure_legend(labelFontSize=12, labelLimit=0, **ink)
    )  # fmt: skip
    return chart


def _curves(lines: dict[str, str]) -> altair.Chart:
    """Both losses of each forecaster, in its colour and width."""
    import altair as alt

    colours = [page_colour(COLOURS[k // len(_LOSSES)]) for k in range(len(lines))]
    strokes = [_STROKES[k // len(_LOSSES)] for k in range(len(lines))]
    dashes = [_DASHES[k % len(_LOSSES)] for k in range(len(lines))]
    legend = alt.Legend(
        title=None, orient="bottom", columns=alt.expr("width < 400 ? 1 : 2"), columnPadding=24,
        symbolSize=600, labelExpr="names[datum.label]",
    )  # fmt: skip
    colour = alt.Scale(domain=[*lines], range=colours)
    stroke = alt.Scale(type="ordinal", domain=[*lines], range=strokes)
    dash = alt.Scale(domain=[*lines], range=dashes)
    line = alt.Chart().transform_fold([*lines], as_=["line", "loss"]).mark_line()
    curves: altair.Chart = line.encode(
        y=alt.Y("loss:Q", title=_LOSS, axis=alt.Axis(tickCount=5)),
        color=alt.Color("line:O", scale=colour, legend=legend),
        strokeWidth=alt.StrokeWidth("line:O", scale=stroke, legend=legend),
        strokeDash=alt.StrokeDash("line:O", scale=dash, legend=legend),
    )
    return curves


def _pointer(stakes: Stakes, lines: dict[str, str]) -> altair.Chart:
    """The threshold that is pointed at, and in words the losses there."""
    import altair as alt

    pointed = alt.selection_point(
        name="pointed", nearest=True, on="pointermove", clear="pointerout", encodings=["x"],
        empty=False,
    )  # fmt: skip
    tips = [alt.Tooltip("label:N", title=stakes.question)]
    tips += [alt.Tooltip(f"{field}:Q", title=name, format=".4f") for field, name in lines.items()]
    shown = alt.condition(pointed, alt.value(0.6), alt.value(0.0))
    rule = alt.Chart().mark_rule(color=page_colour("#808080"), strokeWidth=3)
    pointer: altair.Chart = rule.encode(opacity=shown, tooltip=tips).add_params(pointed)
    return pointer


def _picture(chart: dict[str, Any], stakes: Stakes) -> Markup:
    import vl_convert

    best = stakes.best[START]
    first = next(iter(stakes.losses.values()))
    predicted, realised = first.predicted[START][best], first.realised[START][best]
    description = (
        f"{_DESCRIPTION} {stakes.costs_in_words[START]}. At {stakes.labels[best]}, "
        f"{predicted:.3f} was predicted and {realised:.3f} came."
    )
    svg = vl_convert.vegalite_to_svg(chart, vl_version=_version(), allowed_base_urls=[])
    return as_image(ET.fromstring(svg), "panel", description, _WIDTH)
