"""FiveThirtyEight's forecasts of games, with the winners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.datasets.parquet import read_columns


@dataclass(frozen=True, slots=True, repr=False)
class Games:
    """Forecasts of games and their outcomes, one row a game, in the order of the dates.

    Attributes
    ----------
    y_true : numpy.ndarray of uint8, shape (n,)
        1 where `team1` won, else 0.
    y_prob : numpy.ndarray of float64, shape (n,)
        The forecast probability that `team1` wins.
    date : numpy.ndarray of datetime64[D], shape (n,)
    sport : numpy.ndarray of str, shape (n,)
        "mlb", "nba", "nfl", "nhl" or "wnba".
    season : numpy.ndarray of int16, shape (n,)
    double_header : numpy.ndarray of int8, shape (n,)
        1 for the second game of two between the same teams on one day (baseball only), else 0.
    team1, team2 : numpy.ndarray of str, shape (n,)
    """

    y_true: NDArray[np.uint8]
    y_prob: NDArray[np.float64]
    date: NDArray[np.datetime64]
    sport: NDArray[np.str_]
    season: NDArray[np.int16]
    double_header: NDArray[np.int8]
    team1: NDArray[np.str_]
    team2: NDArray[np.str_]

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name, for ``polars.DataFrame`` or ``pandas.DataFrame``."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return (
            f"Games: {len(self.y_true):,} games, {self.date[0]} to {self.date[-1]}; "
            f"mean forecast {self.y_prob.mean():.3f}, won {self.y_true.mean():.3f}"
        )


def load_games() -> Games:
    """Forecasts of 28,366 games in five North American leagues, with the winners.

    Probabilities that FiveThirtyEight published before games of Major League Baseball, the NBA,
    the NFL, the NHL and the WNBA from September 2015 to November 2022. Eight games that ended in
    a tie were left out. The rows are in the order of the dates, so that the first half can be
    used to calibrate and the second half to check.

    Returns
    -------
    Games
        Arrays with an entry for each game: `y_true`, `y_prob` and what identifies the game.

    Raises
    ------
    ImportError
        If neither Polars nor PyArrow is installed to read Parquet.

    Notes
    -----
    Source: FiveThirtyEight, "Checking Our Work",
    https://github.com/fivethirtyeight/checking-our-work-data, CC BY 4.0. ATTRIBUTION.md in the
    folder of this module says what was changed.

    Examples
    --------
    >>> from calibrant.datasets import load_games
    >>> load_games()
    Games: 28,366 games, 2015-09-10 to 2022-11-05; mean forecast 0.566, won 0.547
    """
    columns = read_columns("games.parquet")
    return Games(y_true=columns.pop("outcome1"), y_prob=columns.pop("prob1"), **columns)
