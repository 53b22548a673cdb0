"""The pages in a browser: nothing loaded, nothing complained of, sliders, printing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest


@pytest.fixture(params=["binary_report", "biased_report"])
def opened(request, browser, tmp_path):
    """The report, its page open in the browser, and what the sliders look up."""
    found = request.getfixturevalue(request.param)
    path = tmp_path / "report.html"
    found.save(path)
    browser.emulate(1200, "light")
    browser.open(path)
    return found, browser


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
    data = json.loads(page(found.html).scripts[0])
    assert browser.evaluate("document.getElementById('panel').hidden") is False
    n_costs, n_thresholds = len(data["costs"]), len(data["thresholds"])
    for c, t in ((0, 0), (n_costs - 1, n_thresholds // 3), (n_costs // 2, n_thresholds - 1)):
        move(browser, "panel-cost", c)
        if data["chosen"]:  # the threshold follows the costs
            best = str(data["best"][c])
            assert browser.evaluate("document.getElementById('panel-threshold').value") == best
        move(browser, "panel-threshold", t)
        assert text(browser, "panel-cost-words") == data["costs"][c]
        for s, own in enumerate(data["series"]):
            predicted, realised = own["predicted"][c][t], own["realised"][c][t]
            assert text(browser, f"cell-predicted-{s}") == f"{predicted:.4f}"
            assert text(browser, f"cell-realised-{s}") == f"{realised:.4f}"
            assert (
                text(browser, f"cell-acting-{s}")
                == f"{100 * own['acting'][c][t]:.1f}\N{NO-BREAK SPACE}%"
            )
        top = text(browser, "panel-keep-tick-4")
        assert float(top) == pytest.approx(data["tops"][c])


def test_lines_follow_the_costs(opened, page):
    found, browser = opened
    data = json.loads(page(found.html).scripts[0])
    path = "document.querySelector('#panel-keep-realised-0 path')"
    move(browser, "panel-cost", 0)
    box = browser.evaluate(
        "(() => { const b = document.querySelector('#panel-keep-box path').getBBox();"
        " return [b.x, b.y, b.width, b.height]; })()"
    )
    points = browser.evaluate(f"{path}.getAttribute('d')").removeprefix("M ").split(" L ")
    assert len(points) == len(data["thresholds"])
    heights = [1.0 - (float(point.split()[1]) - box[1]) / box[3] for point in points]
    shares = [value / data["tops"][0] for value in data["series"][0]["realised"][0]]
    assert heights == pytest.approx(shares, abs=1e-3)


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


def text(browser, name: str) -> str:
    return browser.evaluate(f"document.getElementById('{name}').textContent.trim()")


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
