"""Pictures as SVG that lives in a page: its colours, its fonts, no foreign ids."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

_INK, _PAPER = "#1b1c1e", "#fefdfc"
_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
    "svg.image_inline": True,
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10.0,
    "figure.dpi": 72.0,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": _PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "legend.facecolor": "inherit",
    "legend.edgecolor": "none",
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
# What a colour of the displays becomes on the page, which has a light and a dark variant of it.
_COLOURS = {
    _INK: "currentColor",
    "#404040": "currentColor",
    _PAPER: "var(--paper)",
    "#808080": "var(--grey)",
    "#0072b2": "var(--blue)",
    "#d55e00": "var(--orange)",
    "#009e73": "var(--green)",
}
_COLOUR = re.compile("|".join(_COLOURS))
_FONT = re.compile(r"font: (?:[a-z0-9]+ )*?([\d.]+px) [^;]*(?=;|$)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@contextmanager
def house_style() -> Iterator[None]:
    """Draw for the page: what the user has set for other figures has no say."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        # Names may hold characters that matplotlib's font lacks; those of the page have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of so many inches that no window will ever show."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure, name: str, description: str) -> Markup:
    """The figure as an SVG element; `description` is for those who cannot see it."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ET.fromstring(buffer.getvalue())
    return as_image(root, name, description, 6.4 * figure.get_figwidth())


def page_colour(colour: str) -> str:
    """What the page has in place of a colour of the displays: one that dark mode changes."""
    return _COLOURS[colour.lower()]


def as_image(root: ET.Element, name: str, description: str, width: float) -> Markup:
    """A drawing as an image of the page, at most so many rem wide."""
    from markupsafe import Markup

    _tidy(root, name)
    for attribute in ("width", "height", "version", "class"):
        root.attrib.pop(attribute, None)
    root.attrib |= {
        "role": "img",
        "aria-label": description,
        # matplotlib's style sheet, which would be the whole page's
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
        "style": f"max-width: {width:.4g}rem",
    }
    # Written by an XML writer, which escapes all text and attributes.
    return Markup(ET.tostring(root, encoding="unicode"))


def _tidy(root: ET.Element, name: str) -> None:
    """Drop namespaces, metadata, styles, what is told of parts and unused ids.

    Other ids and colours get our names.
    """
    used = {
        target for element in root.iter() for value in element.attrib.values()
        for target in [*_REFERENCE.findall(value), *([value[1:]] if value[:1] == "#" else [])]
    }  # fmt: skip
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(key): value for key, value in element.attrib.items()}
        identifier = attributes.pop("id", "")
        if identifier in used:
            attributes["id"] = f"{name}-{identifier}"
        element.attrib.clear()
        element.attrib.update(
            {key: _renamed(key, value, name) for key, value in attributes.items()
             if key != "role" and not key.startswith("aria-")}
        )  # fmt: skip


def _renamed(key: str, value: str, name: str) -> str:
    if key == "href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    if key in ("style", "fill", "stroke"):
        value = _FONT.sub(r"font-size: \1", value)
        value = _COLOUR.sub(lambda match: _COLOURS[match[0]], value)
    return _REFERENCE.sub(rf"url(#{name}-\1)", value)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
