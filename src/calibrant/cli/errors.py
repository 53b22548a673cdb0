"""What the user can put right, as one message."""

from __future__ import annotations

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


def first_line(error: Exception) -> str:
    """The first line of another's complaint."""
    return str(error).strip().splitlines()[0]
