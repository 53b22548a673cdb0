"""The command line: parse, call, print.

Exit codes: 0 fine, 2 something that the user can put right, 3 calibration is rejected (`test`),
1 a fault of calibrant; 130 interrupted by Ctrl-C, 141 nobody reads the output any more, as those
that a shell gives to commands which such a signal ends.
"""

from __future__ import annotations

import importlib.util
import io
import os
import signal
import sys

from calibrant.cli.errors import UserError, visible

_NEEDED = ("typer", "rich", "polars")

_INTERRUPTED = 130
_CLOSED_PIPE = 141


def main() -> None:
    """The entry point of the `calibrant` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of labels and columns may hold what the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        # While the process ends, one more Ctrl-C would print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    """Run the command that `sys.argv` holds; its exit code."""
    missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
    if missing:
        return _failure(
            2, f'the command line needs {", ".join(missing)}: pip install "calibrant[cli]"'
        )
    from calibrant.cli import usage
    from calibrant.cli.app import app

    try:
        usage.check_completion(sys.argv[1:])
        return app(prog_name="calibrant", standalone_mode=False) or 0
    except usage.USAGE_ERROR as error:
        return usage.show(error)
    except SystemExit as ended:
        # typer and rich exit with 1, without a word, when stdout was closed; with 1 for nothing
        # else.
        return _CLOSED_PIPE if ended.code == 1 else int(ended.code or 0)
    except UserError as error:
        return _failure(2, str(error))
    except OSError as error:
        return _failure(2, f"{error.filename}: {error.strerror}." if error.filename else str(error))
    except MemoryError:
        return _failure(2, "there is too little memory: use fewer rows, --bins or --resamples.")
    except Exception as error:  # the last resort: anything else is our fault
        if os.environ.get("CALIBRANT_DEBUG"):
            raise
        return _failure(
            1,
            f"calibrant failed unexpectedly ({type(error).__name__}: {error}). This is a fault of "
            "calibrant, please report it; with CALIBRANT_DEBUG=1 it shows where.",
        )


def _failure(code: int, message: str) -> int:
    print(f"Error: {visible(message)}", file=sys.stderr)
    return code
