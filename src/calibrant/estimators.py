"""Estimators that declare what they hold: checked before they learn, saved whole, read as data."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant.encoding import decode_members, encode, member
from calibrant.entries import Entries, Sizes, check
from calibrant.saving import save


class SavedEstimator(BaseEstimator):
    """Base class: `_parameters` and `_state` say what the parameters and the fitted attributes
    look like that a new instance needs; both are what is saved."""

    _parameters: ClassVar[Entries] = {}
    _state: ClassVar[Entries] = {}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write what was fitted to a JSON file that `calibrant.load` reads.

        Parameters
        ----------
        path : path-like
            Where to write; the file is complete or not there at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        FileExistsError
            If the file exists and `overwrite` is false.
        ValueError
            If a parameter is of a kind that JSON cannot hold, such as a random generator.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from calibrant import PlattScaling, load
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "platt.json"
        >>> PlattScaling().fit([-2.0, -1.0, 1.0, 2.0, 0.5], [0, 1, 0, 1, 1]).save(path)
        >>> load(path).predict_proba([0.0]).round(3)
        array([0.576])
        """
        check_is_fitted(self)
        save(self, path, overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """Parameters, and the fitted attributes if there are any, as JSON-able values."""
        params = self._saved_params()
        content: dict[str, Any] = {"params": {k: encode(v, k) for k, v in params.items()}}
        if self.__sklearn_is_fitted__():
            content["fitted"] = {k: encode(getattr(self, k), k) for k in self._fitted()}
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The estimator that `to_dict` described.

        Raises
        ------
        ValueError
            If `content` is not of the kind that `to_dict` gives; the message names the entry.
        """
        given, what = member(content, "params"), f"params of {cls.__name__}"
        unknown = [name for name in content if name not in ("params", "fitted")]
        if unknown:
            raise ValueError(f"{cls.__name__} has the unknown entry {unknown[0]!r}.")
        estimator = cls(**decode_members(given, cls._get_param_names(), what))
        estimator._check_parameters()
        if "fitted" in content:
            fitted = cls._fitted()
            state = decode_members(content["fitted"], fitted, f"fitted of {cls.__name__}")
            sizes: Sizes = {}
            for name, entry in fitted.items():
                check(entry, name, state[name], sizes)
                setattr(estimator, name, state[name])
            estimator._check_fitted()
        return estimator

    def _saved_params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        return params

    @classmethod
    def _fitted(cls) -> Entries:
        """What all fitted attributes that are saved look like."""
        return cls._state

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter that is not of the declared kind."""
        for name, entry in self._parameters.items():
            value = getattr(self, name)
            check(entry, name, value)
            if isinstance(value, SavedEstimator):
                value._check_parameters()

    def _check_fitted(self) -> None:
        """Raise ValueError for fitted attributes that do not belong together."""

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._fitted())
