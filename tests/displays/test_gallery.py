"""The gallery: its code runs as it stands there, and its pictures are there and small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt

from calibrant import displays

GALLERY = Path(__file__).parents[2] / "docs" / "gallery.md"

if not GALLERY.exists():
    pytest.skip("the documentation is not part of this distribution", allow_module_level=True)


def test_the_examples_run():
    names: dict[str, Any] = {}
    shown = set()
    for block in re.findall(r"```python\n(.*?)```", GALLERY.read_text("utf-8"), re.DOTALL):
        exec(block, names)
        shown |= set(re.findall(r"\w+Display\b", block))
        plt.close("all")
    assert shown == set(displays.__all__)


def test_the_pictures_are_there():
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", GALLERY.read_text("utf-8"))
    assert len(pictures) == 12
    for picture in pictures:
        assert 5_000 < (GALLERY.parent / picture).stat().st_size < 60_000
