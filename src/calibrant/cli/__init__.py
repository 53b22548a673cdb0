"""The command line: parse, call, print.

Exit codes: 0 fine, 2 something that the user can put right, 3 calibration is rejected (`test`),
1 a fault of calibrant.
"""

from __future__ import annotations

import importlib.util
import os
import sys

from calibrant.cli.errors import UserError

_NEEDED = ("typer", "rich", "polars")


def main() -> None:
    """The entry point of the `calibrant` command."""
    missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
    if missing:
        _fail(2, f'the command line needs {", ".join(missing)}: pip install "calibrant[cli]"')
    from calibrant.cli.app import app

    try:
        app()
    except UserError as error:
        _fail(2, str(error))
    except OSError as error:
        _fail(2, f"{error.filename}: {error.strerror}." if error.filename else str(error))
    except MemoryError:
        _fail(2, "there is too little memory: use fewer rows, --bins or --resamples.")
    except Exception as error:  # the last resort: anything else is our fault
        if os.environ.get("CALIBRANT_DEBUG"):
            raise
        _fail(
            1,
            f"calibrant failed unexpectedly ({type(error).__name__}: {error}). This is a fault of "
            "calibrant, please report it; with CALIBRANT_DEBUG=1 it shows where.",
        )


def _fail(code: int, message: str) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)
