"""Distributions of PyTorch as forecasts."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np

from calibrant.forecasts.base import Floats, Forecast
from calibrant.forecasts.from_cdf import FromCDF, Rows, Source
from calibrant.forecasts.laplace import Laplace
from calibrant.forecasts.log_normal import LogNormal
from calibrant.forecasts.mixture import Mixture
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.student_t import StudentT

_OWN_FAMILIES: dict[str, tuple[type[Forecast], tuple[str, ...]]] = {
    "Normal": (Normal, ("loc", "scale")),
    "Laplace": (Laplace, ("loc", "scale")),
    "LogNormal": (LogNormal, ("loc", "scale")),
    "StudentT": (StudentT, ("df", "loc", "scale")),
}


def from_torch(distribution: Any) -> Forecast:
    """Forecasts from a distribution of `torch.distributions`.

    Parameters
    ----------
    distribution : torch.distributions.Distribution
        Of batch shape (n,) and of single numbers. Gradients are dropped.

    Returns
    -------
    Forecast
        Normal, Laplace, t and log-normal distributions, and mixtures of them
        (`MixtureSameFamily`), become calibrant's own in float64. Others are evaluated by torch.

    Raises
    ------
    ValueError
        If `distribution` has another shape or no `cdf`.
    """
    batch = getattr(distribution, "batch_shape", None)
    if batch is None or len(batch) != 1 or batch[0] == 0 or len(distribution.event_shape) != 0:
        raise ValueError(
            f"distribution is {distribution!r}: it must be one of torch.distributions with the "
            "batch shape (n,) and the event shape (), a number for each row."
        )
    return _own_family(distribution) or FromCDF([_source(distribution)])


def _own_family(distribution: Any) -> Forecast | None:
    name = type(distribution).__name__
    if name in _OWN_FAMILIES:
        family, names = _OWN_FAMILIES[name]
        return family(*(_to_numpy(getattr(distribution, field)) for field in names))
    if name == "MixtureSameFamily":
        components = distribution.component_distribution
        names = _constructor_arguments(components)
        if names:
            columns = (getattr(components, field).unbind(-1) for field in names)
            parts = [
                from_torch(type(components)(*parameters))
                for parameters in zip(*columns, strict=True)
            ]
            probs = _to_numpy(distribution.mixture_distribution.probs)
            return Mixture(probs / probs.sum(axis=1, keepdims=True), parts)
    return None


def _source(distribution: Any) -> Source:
    names = _constructor_arguments(distribution)
    if names:
        # In float64, and without torch's checks of points, some of which know no infinity.
        parameters = {name: getattr(distribution, name).detach().double() for name in names}
        distribution = type(distribution)(**parameters, validate_args=False)
    name = type(distribution).__name__
    if not _has(distribution, "cdf"):
        raise ValueError(
            f"torch has no cdf for {name}: use a forecast of calibrant, or one of scipy.stats."
        )

    def ppf(p: Floats) -> Floats:
        return _to_numpy(distribution.icdf(_tensor(distribution, p)))

    def take(rows: Rows) -> Source:
        index = _torch().as_tensor(rows)
        return _source(type(distribution)(**{key: parameters[key][index] for key in names}))

    return Source(
        name=name,
        n=distribution.batch_shape[0],
        cdf=lambda y: _within_support(distribution, "cdf", y, below=0.0, above=1.0),
        ppf=ppf if _has(distribution, "icdf") else None,
        logpdf=lambda y: _within_support(distribution, "log_prob", y, below=-np.inf, above=-np.inf),
        mean=lambda: _to_numpy(distribution.mean),
        std=lambda: _to_numpy(distribution.stddev),
        take=take if names else None,
    )


def _constructor_arguments(distribution: Any) -> tuple[str, ...]:
    """The parameters from which a distribution can be built again, none if it cannot."""
    names = tuple(distribution.arg_constraints)
    wanted = inspect.signature(type(distribution)).parameters
    return names if {*names, "validate_args"} == {*wanted} else ()


def _has(distribution: Any, method: str) -> bool:
    median = _tensor(distribution, np.full(distribution.batch_shape[0], 0.5))
    try:
        getattr(distribution, method)(median if method == "icdf" else distribution.mean)
    except NotImplementedError:
        return False
    return True


def _within_support(
    distribution: Any, method: str, y: Floats, *, below: float, above: float
) -> Floats:
    """Torch's value where the distribution lives: elsewhere it refuses points."""
    torch = _torch()
    points, mean = _tensor(distribution, y), distribution.mean.detach()
    inside = distribution.support.check(points) & torch.isfinite(points)
    values = getattr(distribution, method)(torch.where(inside, points, mean.to(points.dtype)))
    is_above = torch.where(torch.isinf(points), points > 0, points > mean)
    outside = torch.where(is_above, above, below).to(points.dtype)
    return _to_numpy(torch.where(inside, values.to(points.dtype), outside))


def _tensor(distribution: Any, values: Floats) -> Any:
    return _torch().as_tensor(values, dtype=_torch().float64, device=distribution.mean.device)


def _to_numpy(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _torch() -> Any:
    return importlib.import_module("torch")
