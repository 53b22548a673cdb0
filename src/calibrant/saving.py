"""One JSON format for all that can be saved: written whole or not at all, read as data only."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

SCHEMA = 1


@runtime_checkable
class Saveable(Protocol):
    """What can be saved: it turns into a JSON-able dictionary and back."""

    def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self: ...


S = TypeVar("S", bound=type[Saveable])

_types: dict[str, type[Saveable]] = {}

_HOMES = (
    "calibrators", "metrics", "recalibration", "decisions", "selection", "engines.streaming",
)  # fmt: skip


def saveable(cls: S) -> S:
    """Class decorator: let `load` make instances of this class."""
    _types[cls.__name__] = cls
    return cls


def saveable_type(name: Any) -> type[Saveable]:
    """The class registered under a name in a saved file."""
    name = str(name)
    for home in _HOMES:
        if name in _types:
            break
        import_module(f"calibrant.{home}")  # registers its classes
    if name not in _types:
        known = ", ".join(sorted(_types))
        raise ValueError(f"unknown type {name!r}: this version of calibrant can read {known}.")
    return _types[name]


def type_name(obj: Saveable) -> str:
    """What a saved file calls the class; ValueError for a subclass, which `load` does not know."""
    name = type(obj).__name__
    if _types.get(name) is not type(obj):
        raise ValueError(
            f"{name} is a class of your own, which calibrant.load cannot make: use pickle, or save "
            "an instance of the class that it is derived from."
        )
    return name


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """A temporary file beside `path`, moved there when the block succeeds, deleted when it fails.

    Raises
    ------
    FileExistsError
        If `path` exists, whether at the start or at the end, and `overwrite` is false.
    FileNotFoundError
        If the folder does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist: create it first.")
    _refuse_existing(target, overwrite)
    # No longer than names of files can be, even where that of the target is nearly so.
    temporary = target.with_name(f".{target.name[:40]}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        _refuse_existing(target, overwrite)
        temporary.replace(target)
    except OSError as error:
        if error.errno is not None and error.filename in (None, temporary, str(temporary)):
            error.filename = str(target)  # nobody has heard of the temporary one
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_existing(target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} exists already: choose another name, or ask for it to be overwritten."
        )


def save(
    obj: Saveable, path: str | os.PathLike[str], *, overwrite: bool = False, **about: str
) -> None:
    """Write `obj` to `path` as JSON, complete or not at all.

    `about` goes beside the content: `load` does not look at it, `read_document` gives it back.
    """
    document = {
        "format": "calibrant",
        "schema": SCHEMA,
        "type": type_name(obj),
        **about,
        "content": obj.to_dict(),
    }
    text = json.dumps(document, allow_nan=False, indent=1)
    with atomic_path(path, overwrite=overwrite) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str]) -> Any:
    """Read a calibrator, recalibration, reliability table or loss that was saved as JSON.

    Nothing in the file is executed. Numbers come back as the very doubles that were saved.

    Parameters
    ----------
    path : path-like
        A file written by ``.save(path)``.

    Returns
    -------
    object
        The fitted calibrator or the table, ready to use.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not one of calibrant's, is damaged or truncated, or was written in a
        newer format than this version reads.

    Examples
    --------
    >>> import tempfile, pathlib, calibrant
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "platt.json"
    >>> fitted = calibrant.PlattScaling().fit([-2.0, -1.0, 1.0, 2.0, 0.5], [0, 1, 0, 1, 1])
    >>> fitted.save(path)
    >>> calibrant.load(path).predict_proba([0.0]) == fitted.predict_proba([0.0])
    array([ True])
    """
    document = read_document(Path(path))
    try:
        loaded = saveable_type(document["type"]).from_dict(document["content"])
        if not getattr(loaded, "__sklearn_is_fitted__", lambda: True)():
            raise ValueError("the entry 'fitted' is missing from content.")
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
    ) as error:  # fmt: skip
        raise ValueError(f"{path} is damaged or was edited by hand: {_reason(error)}") from error
    return loaded


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file that was saved; ValueError if there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a complete JSON file ({error}): it was truncated, or calibrant did not "
            "write it. Save it again."
        ) from error
    if not isinstance(document, dict) or document.get("format") != "calibrant":
        raise ValueError(f'{path} was not written by calibrant: it lacks "format": "calibrant".')
    schema = document.get("schema")
    if type(schema) is not int or schema < 1:
        raise ValueError(f"{path} is damaged: its schema version is {schema!r}.")
    if schema > SCHEMA:
        raise ValueError(
            f"{path} has schema version {schema}, newer than this version of calibrant reads "
            f"({SCHEMA}): upgrade calibrant."
        )
    return document


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number that calibrant writes.")


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"the entry {error.args[0]!r} is missing."
    if isinstance(error, RecursionError):
        return "its entries are nested too deeply."
    return str(error)
