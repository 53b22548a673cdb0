"""Draw the pictures of docs/gallery.md into docs/images, each by the code that stands above it.

Run it as `python docs/make_gallery.py`; it takes about a minute.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from PIL import Image

GALLERY = Path(__file__).with_name("gallery.md")
RESOLUTION = 144  # dots per inch: twice what a page shows
N_COLOURS = 200


def main() -> None:
    names: dict[str, Any] = {}
    for code, picture in re.findall(
        r"```python\n(.*?)```|!\[.+?\]\((.+?)\)", GALLERY.read_text("utf-8"), re.DOTALL
    ):
        if code:
            exec(code, names)
        else:
            save(GALLERY.parent / picture)


def save(path: Path) -> None:
    """Write the figure that was made last, with a small palette, which is a third of the size."""
    path.parent.mkdir(exist_ok=True)
    plt.gcf().savefig(path, dpi=RESOLUTION)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
