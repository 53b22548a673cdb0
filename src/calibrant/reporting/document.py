"""The finished report, and the page that its templates make of what was found."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.reporting.names import printable, shown
from calibrant.reporting.panel import library
from calibrant.saving import atomic_path

if TYPE_CHECKING:
    from jinja2 import Environment

_NONE = "\N{EN DASH}"
_FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True, repr=False)
class Report:
    """A report, made by `report` or `forecast_report`. Notebooks show it as it is.

    Attributes
    ----------
    title : str
    verdict : str
        What was found, in one sentence.
    html : str
        The whole page. It loads nothing from elsewhere.
    """

    title: str
    verdict: str
    html: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page to a file that any browser opens.

        Parameters
        ----------
        path : path-like
            Where to write; the file is complete or not there at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is false.
        FileNotFoundError
            If the folder does not exist.
        """
        with atomic_path(path, overwrite=overwrite) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")

    def _repr_html_(self) -> str:
        from markupsafe import escape

        # In a frame, so that the styles of page and notebook do not mix.
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="800"></iframe>'

    def __repr__(self) -> str:
        return f"Report: {self.title}, {len(self.html) / 1000:,.0f} kB\n{self.verdict}"


def check_dependencies() -> None:
    """Raise ImportError, with what to do, where a package is missing; before any work is done."""
    try:
        import altair
        import jinja2
        import matplotlib
        import vl_convert
    except ImportError as error:
        raise ImportError(
            "a report needs altair, jinja2, matplotlib and vl-convert-python: "
            'pip install "calibrant[report]"'
        ) from error
    del altair, jinja2, matplotlib, vl_convert


def render(template: str, content: Mapping[str, Any]) -> str:
    """The page, with its style and scripts in it."""
    page = _environment().get_template(template)
    scripts = library(), _read("panel.js")
    return page.render(**content, css=_read("report.css"), scripts=scripts)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What the page's security policy knows a script by that may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        finalize=_finalize,
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "hash": _hash,
        "shown": shown,
        "spaced": spaced,
        "number": number,
        "signed": signed,
        "percent": percent,
        "thousands": lambda value: f"{value:,.10g}",
        "pvalue": pvalue,
        "minus": minus,
        "is_pvalue": lambda value: text if (text := pvalue(value))[0] == "<" else f"= {text}",
        "capfirst": lambda text: text[:1].upper() + text[1:],
    }
    return environment


def _finalize(value: Any) -> Any:
    """Labels and titles may hold characters that cannot be seen or written; markup is ours."""
    return printable(value) if type(value) is str else value


def number(value: float | None, sign: str = "") -> str:
    """Four decimals, or few digits of very small or large numbers; a dash for none."""
    if value is None or value != value:
        return _NONE
    form = ".4f"
    if value == 0:
        value, sign = 0.0, ""
    if abs(value) >= 10:
        form = ",.4g"
    elif 0 < abs(value) < 0.001:
        form = ".2g"
    return minus(format(value, sign + form))


def minus(text: str) -> str:
    """A number with the sign that is as wide as a plus."""
    return text.replace("-", "\N{MINUS SIGN}")


def signed(value: float | None) -> str:
    """The same with a sign."""
    return number(value, "+")


def spaced(text: str) -> str:
    """The same with a space before percent signs, as everywhere on the page."""
    return re.sub(r"(?<=\d) ?%", "\N{NO-BREAK SPACE}%", text)


def rate_in_words(rate: float) -> str:
    """A frequency to as many digits as the verdict has."""
    return f"{100 * rate:.3g}\N{NO-BREAK SPACE}%"


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%"


def pvalue(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
