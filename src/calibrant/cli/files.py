"""What FILE stands for: a file, the parts of a folder or pattern, standard input."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote

from calibrant.cli.csv_tables import CsvTable
from calibrant.cli.errors import UserError, listed
from calibrant.cli.tables import JsonLinesTable, ParquetTable, Table

STANDARD_INPUT = Path("-")

FORMATS = (".csv", ".parquet")
_JSON_LINES = (".ndjson", ".jsonl")

# What Hive and Spark write into the name of a folder for a missing value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def open_table(path: Path) -> Table:
    """Look at the head of what a FILE stands for."""
    if path == STANDARD_INPUT:
        return _open_standard_input()
    parts = parts_of(path)
    if parts == [path]:
        return _open_file(path)
    named = _named_by_folders(path, parts)
    if len(parts) == 1 and not named[0]:
        return _open_file(parts[0])
    others = [part for part in parts if not has_format(part, ".parquet")]
    if others:
        raise UserError(
            f"{path} stands for {len(parts)} files, among them {others[0]}: only Parquet files are "
            "read as one table."
        )
    name = f"{path} ({len(parts)} Parquet file{'s' * (len(parts) > 1)})"
    return ParquetTable(name, parts, named)


def parts_of(path: Path) -> list[Path]:
    """The files that a FILE stands for, in the order of their names; none for standard input."""
    if path == STANDARD_INPUT:
        return []
    if path.is_dir():
        found = sorted(path.rglob("*.parquet"))
        # As others that write such folders: names that begin so are not data.
        parts = [
            part
            for part in found
            if not any(name.startswith((".", "_")) for name in part.relative_to(path).parts)
        ]
        if not parts:
            raise UserError(f"{path} is a folder without Parquet files: give a file.")
        return parts
    if path.exists() or not glob.has_magic(str(path)):
        require_file(path)
        return [path]
    parts = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not parts:
        raise UserError(f"there is no file {path}, and none that this pattern stands for.")
    for part in parts:
        require_file(part)
    return parts


def require_file(path: Path) -> None:
    """Raise UserError unless there is a file of this name."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: give a file.")
    if not path.exists():
        raise UserError(f"there is no file {path}.")
    if not path.is_file():
        raise UserError(f"{path} is a pipe or a device: give - and lead it to standard input.")


def check_format(path: Path) -> None:
    """Raise UserError for the name of a file to write that is neither CSV nor Parquet."""
    if not has_format(path, *FORMATS):
        raise UserError(
            f"{path} is neither .csv nor .parquet by its name: these are the formats calibrant "
            "writes."
        )


def check_json(path: Path, what: str) -> None:
    """Raise UserError for the name of a file to write whose ending promises something else.

    What is no name of a file at all is left to `check_output`.
    """
    other = path == STANDARD_INPUT or (path.exists() and not path.is_file())
    if not other and not has_format(path, ".json"):
        raise UserError(f"{what} is saved as JSON: {path} should end with .json.")


def check_output(path: Path, *, sources: Sequence[Path], overwrite: bool) -> None:
    """Raise UserError where a file cannot or must not be written, before the work starts."""
    if path == STANDARD_INPUT:
        raise UserError("--output - is no name of a file: calibrant writes to files only.")
    if path.is_dir():
        raise UserError(f"{path} is a folder: give the name of a file to write.")
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is a device, which would be replaced: name a file to write.")
    if not path.parent.is_dir():
        raise UserError(f"the folder {path.parent} does not exist: create it first.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"the folder {path.parent} must not be written to: choose another one.")
    for source in sources:
        if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
            raise UserError(f"{path} is in the folder to be read: choose another for the output.")
    if not path.exists():
        return
    # Even with --force: what is read must not be lost to a slip of the pen.
    if any(path.samefile(part) for source in sources for part in parts_of(source)):
        raise UserError(f"{path} is a file to be read: choose another name for the output.")
    if not overwrite:
        raise UserError(f"{path} exists already: choose another name or pass --force.")


def has_format(path: Path, *formats: str) -> bool:
    """Whether the name of a file ends with one of these."""
    return path.suffix.lower() in formats


def _open_file(path: Path) -> Table:
    if has_format(path, ".csv"):
        return CsvTable(str(path), path)
    if has_format(path, ".parquet"):
        return ParquetTable(str(path), [path])
    if has_format(path, *_JSON_LINES):
        return JsonLinesTable(str(path), path)
    raise UserError(
        f"{path} is neither .csv nor .parquet, .ndjson or .jsonl by its name: these are the "
        "formats calibrant reads."
    )


def _named_by_folders(path: Path, parts: Sequence[Path]) -> list[dict[str, str | None]]:
    """What folders such as region=north, below those that are asked for, say of each part."""
    fixed = len(path.parts)
    if not path.is_dir():
        fixed = next(k for k, part in enumerate(path.parts) if glob.has_magic(part))
    found = [_pairs(part.parts[fixed:-1]) for part in parts]
    for part, values in zip(parts, found, strict=True):
        if [*values] != [*found[0]]:
            raise UserError(
                f"the folders of {part} name the columns {listed([*values]) or 'none'}, those of "
                f"{parts[0]} {listed([*found[0]]) or 'none'}: read one of the two at a time."
            )
    return found


def _pairs(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {key: None if value == _NO_VALUE else unquote(value) for key, value in pairs}


def _open_standard_input() -> Table:
    """What a pipe brings; it is copied first, since files are read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("FILE is -, but nothing is led to standard input: pipe a file into it.")
    descriptor, name = tempfile.mkstemp(prefix="calibrant-")
    path = Path(name)
    with ExitStack() as clean_up:
        clean_up.callback(path.unlink, missing_ok=True)
        if hasattr(signal, "siginterrupt"):
            # Polars restarts what Ctrl-C interrupts; a pipe that brings nothing would block it.
            signal.siginterrupt(signal.SIGINT, True)
        with open(descriptor, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        table = _recognised(path)
        weakref.finalize(table, clean_up.pop_all().close)
    return table


def _recognised(path: Path) -> Table:
    """Standard input by its first bytes: Parquet's mark, a brace, or else CSV."""
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise UserError("standard input is empty.")
    if head.startswith(b"PAR1"):
        return ParquetTable("standard input (Parquet)", [path])
    if head.lstrip().startswith(b"{"):
        return JsonLinesTable("standard input (JSON lines)", path)
    return CsvTable("standard input (CSV)", path)
