"""What the user can put right, as one message."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class UserError(Exception):
    """A mistake in what the user gave; the message says what, where, and what to do."""


@contextmanager
def as_user_error() -> Iterator[None]:
    """Pass the library's complaints about its input on to the user."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from error


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Some names for a message."""
    more = f", ... ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def did_you_mean(given: str, known: Sequence[str]) -> str:
    """A sentence to append, with the known name that is nearest; empty if none is near."""
    same = [name for name in known if name.casefold() == given.casefold()]
    close = same or difflib.get_close_matches(given, known, n=1)
    return f' Did you mean "{close[0]}"?' if close else ""


def visible(text: str) -> str:
    """The text with control characters and the like escaped, as `repr` shows them."""
    # Names and labels come from anywhere; raw, they could command the terminal.
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def first_line(error: Exception) -> str:
    """The first line of another's complaint."""
    return str(error).strip().splitlines()[0]
