"""Pages taken apart, and a headless Chromium to open them in.

The browser is spoken to over pipes, in its DevTools protocol: it is all that has to be installed.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from calibrant.forecasts import Normal
from calibrant.reporting import Report, forecast_report, report

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")

_PATIENCE = 60.0


class Browser:
    """One page of one browser. `messages` are its events: console, network, errors."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        read_end, commands = os.pipe()
        events, write_end = os.pipe()
        self._commands, self._events = commands, events

        # What the browser calls 3 and 4 may be what pipes are called here: copies lie above those.
        lines = f'exec 3<&{read_end} 4>&{write_end}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", lines, "bash", PROGRAM, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(read_end, write_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_end)
        os.close(write_end)
        self._buffer, self._last, self._session = b"", 0, None
        self.messages: list[dict[str, Any]] = []
        target = next(
            one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"
        )
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events go to `messages`."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        number = self._last
        while True:
            found = self._next()
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                result: dict[str, Any] = found["result"]
                return result
            self.messages.append(found)

    def open(self, path: Path) -> None:
        """Load a file and wait until it is complete, scripts included."""
        self.messages.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(one.get("method") == "Page.loadEventFired" for one in self.messages):
            self.messages.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or what its promise comes to."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def emulate(self, width: int, scheme: str) -> None:
        """Show the page so many pixels wide, "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])  # fmt: skip
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(_PATIENCE)
        os.close(self._commands)
        os.close(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._events], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self._events, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser says nothing any more")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.scripts: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._inside: list[str] = []
        self._rows: list[list[str]] = []
        self.feed(html)
        self.close()

    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]

    def panel(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What the decision panel looks up: words of its sliders, and a row of losses per cost."""
        data: dict[str, Any] = json.loads(self.scripts[0])
        return data, data["chart"]["data"]["values"]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "caption", "th", "td", "h1", "h2", "h3"):
            self._inside.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        if tag == "script":
            self.scripts.append("")
        if tag == "tr":
            self._rows.append([])
        if tag in ("th", "td"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        inside = self._inside[-1] if self._inside else ""
        if inside.startswith("h"):
            level, text = self.headings[-1]
            self.headings[-1] = level, text + data
        elif inside == "script":
            self.scripts[-1] += data
        elif inside == "caption":
            self._rows = self.tables[data] = []
        elif inside:
            self._rows[-1][-1] += data


@pytest.fixture(scope="session")
def page() -> type[Page]:
    return Page


@pytest.fixture(scope="session")
def binary() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overconfident forecasts of two classes: labels, probabilities, groups."""
    rng = np.random.default_rng(0)
    z = 2.0 * rng.normal(size=600)
    y = (rng.random(600) < 1.0 / (1.0 + np.exp(-z / 2.0))).astype(int)
    return y, 1.0 / (1.0 + np.exp(-z)), rng.choice(["north", "south", "west"], 600)


@pytest.fixture(scope="session")
def binary_report(binary: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Report:
    y, prob, by = binary
    return report(y, prob, by=by, n_resamples=99)


@pytest.fixture(scope="session")
def biased() -> tuple[Normal, np.ndarray]:
    rng = np.random.default_rng(1)
    mu = rng.normal(size=600)
    return Normal(mu, 0.6), mu + 0.3 + rng.normal(size=600)


@pytest.fixture(scope="session")
def biased_report(biased: tuple[Normal, np.ndarray]) -> Report:
    forecast, y = biased
    return forecast_report(forecast, y, by=np.where(y > 0, "up", "down"), n_resamples=99)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found
