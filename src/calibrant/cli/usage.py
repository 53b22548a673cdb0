"""Mistakes in options and arguments, which typer finds: the same words in all its versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from calibrant.cli.errors import UserError, did_you_mean, visible

# The class is click's own, or that of the copy of click which newer versions of typer bring.
USAGE_ERROR: Any = typer.BadParameter.__base__

_NO_CHOICE = re.compile(r"'(.*)' is not one of ('.*')\.?", re.DOTALL)


def show(error: Any) -> int:
    """Print what is wrong with an option or an argument; the exit code."""
    message = error.message.removeprefix("Value error, ")  # the words of pydantic
    if found := _NO_CHOICE.fullmatch(message):
        given, known = found[1], re.findall("'(.*?)'", found[2])
        message = message.removesuffix(".") + "." + did_you_mean(given, known)
    error.message = visible(message)
    error.show()
    return int(error.exit_code)


def check_completion(arguments: Sequence[str]) -> None:
    """Raise UserError where a shell is named, which typer would not look at."""
    if arguments[:1] not in (["--show-completion"], ["--install-completion"]):
        return
    if arguments[1:]:
        raise UserError(
            f"{arguments[0]} is for the shell that calls it, and takes no other: leave out "
            f"{arguments[1]}. _CALIBRANT_COMPLETE=source_zsh calibrant prints the script for Zsh "
            "(or source_bash, source_fish, source_powershell)."
        )
