"""Several forecasts as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from calibrant.forecasts.base import Forecast

F = TypeVar("F", bound=Forecast)


def concatenate(forecasts: Sequence[F]) -> F:
    """The rows of several forecasts of one family, one after the other.

    Parameters
    ----------
    forecasts : sequence of Forecast
        All of the same class, and with the same levels or grid where they have one.

    Returns
    -------
    Forecast

    Raises
    ------
    ValueError
        If there are none, or they are of different classes, levels or grids.

    Examples
    --------
    >>> from calibrant.forecasts import Normal, concatenate
    >>> concatenate([Normal([0.0, 1.0], 1.0), Normal([2.0], 3.0)]).sigma
    array([1., 1., 3.])
    """
    parts = list(forecasts)
    if not parts:
        raise ValueError("forecasts is empty: there is nothing to concatenate.")
    kind = type(parts[0])
    for number, part in enumerate(parts):
        if type(part) is not kind or not isinstance(part, Forecast):
            raise ValueError(
                f"forecasts[{number}] is of type {type(part).__name__} and forecasts[0] of type "
                f"{kind.__name__}: only forecasts of one family can be concatenated."
            )
    return kind._concatenated(parts)
