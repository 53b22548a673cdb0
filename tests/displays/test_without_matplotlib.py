"""Displays load without matplotlib, and say what to install when they need it."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = """
import sys
from calibrant import displays
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
try:
    displays.ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])
except ImportError as error:
    print(error)
"""


def test_the_error_says_what_to_install():
    result = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True
    )
    assert result.stdout == 'displays need matplotlib: pip install "calibrant[plot]"\n'
