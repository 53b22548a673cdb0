"""The pages in a browser: nothing loaded, nothing complained of, sliders, printing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(params=["binary_report", "biased_report"])
def opened(request, browser, tmp_path):
    """The report, its page open in the browser, and what the sliders look up."""
    found = request.getfixturevalue(request.param)
    path = tmp_path / "report.html"
    found.save(path)
    browser.emulate(1200, "light")
    browser.open(path)
    browser.evaluate(READY)
    return found, browser


# The panel is shown when its chart has been drawn.
READY = """
new Promise((done) => {
  const look = () => (document.getElementById("panel").hidden ? setTimeout(look, 10) : done());
  look();
})
"""

GROUP = "document.querySelector('#panel-chart .root')"


def test_loads_without_errors_and_without_the_network(opened):
    _, browser = opened
    requested = [
        one["params"]["request"]["url"]
        for one in browser.messages
        if one.get("method") == "Network.requestWillBeSent"
    ]
    assert [url for url in requested if not url.startswith(("file://", "data:"))] == []
    assert sum(url.startswith("file://") for url in requested) == 1
    complaints = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    assert [one for one in browser.messages if one.get("method") in complaints] == []


def test_sliders_show_the_values_of_the_library(opened, page):
    found, browser = opened
    data, rows = page(found.html).panel()
    n_costs, n_thresholds = len(rows), len(rows[0]["threshold"])
    for c, t in ((0, 0), (n_costs - 1, n_thresholds // 3), (n_costs // 2, n_thresholds - 1)):
        move(browser, "panel-cost", c)
        if data["chosen"]:  # the threshold follows the costs
            best = str(data["best"][c])
            assert browser.evaluate("document.getElementById('panel-threshold').value") == best
        move(browser, "panel-threshold", t)
        assert text(browser, "panel-cost-words") == data["costs"][c]
        assert text(browser, "panel-threshold-words").replace("\N{MINUS SIGN}", "-") == (
            f"{rows[c]['threshold'][t]:{'.3g' if data['chosen'] else '.12g'}}"
        )
        for s in range(data["series"]):
            predicted, realised = rows[c][f"predicted_{s}"][t], rows[c][f"realised_{s}"][t]
            assert text(browser, f"cell-predicted-{s}") == f"{predicted:.4f}"
            assert text(browser, f"cell-realised-{s}") == f"{realised:.4f}"
            assert (
                text(browser, f"cell-acting-{s}")
                == f"{100 * rows[c][f'acting_{s}'][t]:.1f}\N{NO-BREAK SPACE}%"
            )


def test_chart_follows_the_sliders(opened, page):
    found, browser = opened
    data, rows = page(found.html).panel()
    ends = rows[0]["threshold"][0], rows[0]["threshold"][-1]
    for c, t in ((0, 7), (len(rows) - 1, 20)):
        move(browser, "panel-cost", c)
        move(browser, "panel-threshold", t)
        box = browser.evaluate(f"({GROUP}).querySelector('path.background').getBBox().width")
        lines = browser.evaluate(
            f"[...({GROUP}).querySelectorAll('.mark-line path')].map((e) => e.getAttribute('d'))"
        )
        names = [f"{loss}_{s}" for s in range(data["series"]) for loss in ("realised", "predicted")]
        base = axis_place(browser, 0.0)
        unit = axis_place(browser, 1.0) - base
        for name, line in zip(names, lines, strict=True):
            points = [point.split(",") for point in line.removeprefix("M").split("L")]
            places = [(x - ends[0]) / (ends[1] - ends[0]) for x in rows[c]["threshold"]]
            assert [float(x) / box for x, _ in points] == pytest.approx(places, abs=1e-3)
            values = [(float(y) - base) / unit for _, y in points]
            half_pixel = 0.5 / abs(unit)  # ticks stand on whole ones
            assert values == pytest.approx(rows[c][name], abs=half_pixel, rel=1e-2)
        rule = browser.evaluate(
            f"[...({GROUP}).querySelectorAll('.mark-rule.layer_2_marks line')]"
            ".map((e) => e.getAttribute('transform'))"
        )
        assert len(rule) == 1
        place = (rows[c]["threshold"][t] - ends[0]) / (ends[1] - ends[0])
        at = float(rule[0].removeprefix("translate(").split(",")[0])
        assert at / box == pytest.approx(place, abs=2e-3)


def test_pointing_at_the_chart_tells_the_losses_there(opened, page):
    found, browser = opened
    data, rows = page(found.html).panel()
    c = len(rows) // 2
    move(browser, "panel-cost", c)
    browser.evaluate("document.getElementById('panel-chart').scrollIntoView()")
    x, y, width = browser.evaluate(
        f"(() => {{ const b = ({GROUP}).querySelector('path.background').getBoundingClientRect();"
        " return [b.x, b.y + b.height / 2, b.width]; })()"
    )
    places = [x + width * share for share in (0.31, 0.32)]
    for place in places:
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place, y=y)
    shown = browser.evaluate(
        "[...document.querySelectorAll('#vg-tooltip-element.visible td.value')]"
        ".map((e) => e.textContent)"
    )
    first, last = rows[c]["threshold"][0], rows[c]["threshold"][-1]
    t = np.argmin(np.abs(np.array(rows[c]["threshold"]) - (first + 0.32 * (last - first))))
    expected = [
        f"{rows[c][f'{loss}_{s}'][t]:.4f}"
        for s in range(data["series"])
        for loss in ("realised", "predicted")
    ]
    assert shown[1:] == expected


def test_is_a_picture_where_scripts_do_not_run(binary_report, browser, tmp_path):
    path = tmp_path / "report.html"
    binary_report.save(path)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    shown = "document.querySelector('#panel-chart svg').getBoundingClientRect().height"
    assert browser.evaluate(shown) > 200
    assert browser.evaluate("document.getElementById('panel').hidden") is True
    assert text(browser, "panel-choice") == (
        "A miss costs as much as a false alarm. Act where the probability is at least 0.5."
    )
    assert browser.evaluate("document.getElementById('panel-choice').getClientRects().length > 0")
    assert browser.evaluate("document.querySelectorAll('#panel-chart svg[role=img] path').length")


def test_sliders_are_moved_by_keys(opened):
    _, browser = opened
    browser.evaluate("document.getElementById('panel-cost').focus()")
    before = int(browser.evaluate("document.activeElement.value"))
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight",
                     windowsVirtualKeyCode=39)  # fmt: skip
    assert int(browser.evaluate("document.activeElement.value")) == before + 1
    assert browser.evaluate("document.activeElement.getAttribute('aria-valuetext')") == text(
        browser, "panel-cost-words"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_fits_the_screen_with_enough_contrast(opened, width, scheme):
    _, browser = opened
    browser.emulate(width, scheme)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    low = browser.evaluate(CONTRAST)
    assert low == []


def test_tables_that_are_cut_show_it(opened):
    _, browser = opened
    browser.emulate(400, "light")
    found = browser.evaluate(CUT)
    assert len(found) > 3
    fitting = [one for one in browser.evaluate(ALL) if not one["cut"]]
    assert all(one["fade"] == 0.0 for one in fitting)
    assert "Groups" in {one["label"] for one in found}
    for one in found:
        assert one["faded"] == pytest.approx([one["width"] - 52.0, one["width"]], abs=1.0), one
        assert one["at_end"] >= -1.0, one  # nothing is faded when all has been seen
        assert one["first"] == pytest.approx(0.0, abs=1.0), one  # names stay in sight
    browser.emulate(1200, "light")
    cut = {one["label"] for one in browser.evaluate(CUT)}
    assert not cut & {"Key numbers", "Groups", "Losses for some costs"}


def test_line_at_the_end_of_the_axis_is_seen(opened):
    _, browser = opened
    move(browser, "panel-threshold", 0)
    width = f"({GROUP}).querySelector('.mark-rule.layer_2_marks line').getAttribute('stroke-width')"
    axis = f"({GROUP}).querySelector('.role-axis-domain line').getAttribute('stroke-width') || 1"
    assert float(browser.evaluate(width)) >= 2.0 * float(browser.evaluate(axis))


def test_pictures_on_white_have_cards_of_their_width(opened):
    _, browser = opened
    browser.emulate(1200, "dark")
    found = browser.evaluate(
        "[...document.querySelectorAll('.light figure')].map((e) => "
        "e.clientWidth - e.querySelector('svg').getBoundingClientRect().width)"
    )
    assert found == pytest.approx([24.0] * len(found), abs=2.0)
    wide = browser.evaluate(
        "[...document.querySelectorAll('.light')].map((e) => getComputedStyle(e).backgroundColor)"
    )
    assert set(wide) <= {"rgba(0, 0, 0, 0)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_accessible_by_the_rules_of_axe(opened, scheme):
    _, browser = opened
    spec = importlib.util.find_spec("axe_core_python")
    if spec is None or spec.origin is None:
        pytest.skip("needs axe: pip install axe-core-python")
    browser.emulate(1200, scheme)
    browser.evaluate((Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8") + ";0")
    found = browser.evaluate(
        "axe.run().then((found) => found.violations.map((one) => "
        "`${one.id}: ${one.nodes.map((node) => node.html.slice(0, 80)).join(' ')}`))"
    )
    assert found == []


def test_print_tells_costs_and_threshold(opened, page):
    found, browser = opened
    data, rows = page(found.html).panel()
    move(browser, "panel-cost", 2)
    move(browser, "panel-threshold", 5)
    shown = f"{rows[2]['threshold'][5]:{'.3g' if data['chosen'] else '.12g'}}"
    lead = (
        "Act where the probability is at least " if data["chosen"] else "Threshold of the outcome: "
    )
    expected = f"{data['costs'][2]}. {lead}{shown}.".replace("-", "\N{MINUS SIGN}")
    assert text(browser, "panel-choice") == expected
    visible = "document.getElementById('panel-choice').getClientRects().length > 0"
    assert not browser.evaluate(visible)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate(visible)
        assert not browser.evaluate("document.getElementById('panel').getClientRects().length > 0")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_lines_differ_without_their_colours(opened):
    _, browser = opened
    lines = browser.evaluate(
        f"[...({GROUP}).querySelectorAll('.mark-line path')].map((e) => "
        "[Number(e.getAttribute('stroke-width')), e.getAttribute('stroke-dasharray')])"
    )
    symbols = browser.evaluate(
        f"[...({GROUP}).querySelectorAll('.role-legend-symbol path')].map((e) => "
        "[Number(e.getAttribute('stroke-width')), e.getAttribute('stroke-dasharray')])"
    )
    assert lines == symbols
    assert len({tuple(line) for line in lines}) == 4
    assert max(width for width, _ in lines) > 2 * min(width for width, _ in lines)


def test_prints(opened):
    _, browser = opened
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


def move(browser, name: str, value: int) -> None:
    browser.evaluate(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = {value};"
        " e.dispatchEvent(new Event('input')); })()"
    )


def axis_place(browser, value: float) -> float:
    """Where the axis of losses has a value, from its first and last ticks."""
    told, places = (
        browser.evaluate(f"[...({GROUP}).querySelectorAll('[aria-label^=Y] {part}')].map({read})")
        for part, read in (
            (".role-axis-label text", "(e) => Number(e.textContent)"),
            (
                ".role-axis-tick line",
                "(e) => Number(/,(.*)\\)/.exec(e.getAttribute('transform'))[1])",
            ),
        )
    )
    assert len(told) == len(places) > 2
    return places[0] + (value - told[0]) * (places[-1] - places[0]) / (told[-1] - told[0])


def text(browser, name: str) -> str:
    return browser.evaluate(f"document.getElementById('{name}').textContent.trim()")


ALL = """
[...document.querySelectorAll(".scroll")].map((e) => ({
  cut: e.querySelector("table").offsetWidth > e.clientWidth,
  fade: e.querySelector(".more").getBoundingClientRect().width,
}))
"""

# Tables wider than their frame: where they are faded, and how far the fade lies behind the table
# and the first cell of the last row from the frame, both after scrolling to the end.
CUT = """
[...document.querySelectorAll(".scroll")].flatMap((e) => {
  const [table, more] = [e.querySelector("table"), e.querySelector(".more")];
  e.scrollLeft = 0;
  if (table.offsetWidth <= e.clientWidth) return [];
  const place = (part) => {
    const [box, frame] = [part.getBoundingClientRect(), e.getBoundingClientRect()];
    return [box.left - frame.left, box.right - frame.left];
  };
  const faded = place(more);
  e.scrollLeft = e.scrollWidth;
  const head = place(e.querySelector("tbody tr:last-child th"))[0];
  const found = {
    label: e.getAttribute("aria-label"), width: e.clientWidth, faded,
    at_end: place(more)[0] - place(table)[1], first: head,
  };
  e.scrollLeft = 0;
  return [found];
})
"""

# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3, AA).
CONTRAST = """
(() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const low = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const plain = ["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName);
    if (plain || !e.getClientRects().length || !walker.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const ink = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(behind(e))].sort((p, q) => q - p);
    const ratio = (a + 0.05) / (b + 0.05);
    const start = e.textContent.trim().slice(0, 40);
    if (ratio < 4.5) low.add(`${e.tagName} ${start}: ${ratio.toFixed(2)}`);
  }
  return [...low];
})()
"""
