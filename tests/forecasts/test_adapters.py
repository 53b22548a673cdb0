"""Distributions of other libraries: values, shapes, rows and refusals."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression

from calibrant.forecasts import (
    Forecast,
    Laplace,
    LogNormal,
    Mixture,
    Normal,
    Quantiles,
    StudentT,
    as_forecast,
    concatenate,
    from_ngboost,
    from_quantile_regressors,
    from_return_std,
    from_scipy,
    from_skpro,
    from_torch,
)

N = 6
rng = np.random.default_rng(77)
A, B, C = rng.uniform(0.6, 3.0, (3, N))
Y = rng.normal(size=N) + 1.0
POINTS = np.array([-3.0, 0.0, 0.3, 1.0, 2.0, 9.0])[:, None]
LEVELS = np.array([1e-14, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-14])[:, None]


class Known:
    """The least that a forecast can be; `frozen` is what it knows."""

    def __init__(self, frozen):
        self._frozen = frozen

    def cdf(self, y):
        return self._frozen.cdf(y)


class Knowing(Known):
    """With some more methods."""

    def ppf(self, p):
        return self._frozen.ppf(p)

    def mean(self):
        return self._frozen.mean()

    def std(self):
        return self._frozen.std()


def peer(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(module.partition(".")[0])
        return importlib.import_module(module)


def assert_same(forecast, expected, *, tol=1e-11, y=Y):
    """Equal in everything that a forecast can say, and in what its rows say."""
    assert len(forecast) == len(expected)
    assert_allclose(forecast.cdf(POINTS), expected.cdf(POINTS), rtol=0, atol=tol)
    assert_allclose(forecast.cdf(y), expected.cdf(y), rtol=0, atol=tol)
    assert_allclose(forecast.ppf(LEVELS)[1:-1], expected.ppf(LEVELS)[1:-1], rtol=tol, atol=tol)
    assert_allclose(forecast.mean(), expected.mean(), rtol=tol, atol=tol)
    assert_allclose(forecast.std(), expected.std(), rtol=tol)
    assert_allclose(forecast.crps(y), expected.crps(y), rtol=tol, atol=tol)
    rows = [3, 0, 3]
    picked = forecast[rows]
    assert_allclose(picked.cdf(POINTS), forecast.cdf(POINTS)[:, rows], rtol=0, atol=1e-15)
    assert_allclose(picked.ppf(0.4), forecast.ppf(0.4)[rows], rtol=1e-12)
    assert_allclose(picked.mean(), forecast.mean()[rows], rtol=1e-13)
    assert_allclose(forecast[2].cdf(0.5), forecast.cdf(0.5)[2:3], rtol=0, atol=1e-15)
    joined = concatenate([forecast[4:], forecast[:1]])
    assert_allclose(joined.cdf(POINTS), forecast.cdf(POINTS)[:, [4, 5, 0]], rtol=0, atol=1e-15)


# ---------------------------------------------------------------------- SciPy

CONTINUOUS = {
    "gamma": stats.gamma(A, scale=B),
    "beta": stats.beta(A, B),
    "exponential": stats.expon(scale=B),
    "uniform": stats.uniform(A, B),
    "half normal": stats.halfnorm(scale=B),
    "truncated": stats.truncnorm(-A, np.inf, loc=B),
    "weibull": stats.weibull_min(A, scale=B),
    "logistic": stats.logistic(A, B),
}
DISCRETE = {
    "poisson": stats.poisson(4.0 * A),
    "binomial": stats.binom(12, A / 4.0),
    "negative binomial": stats.nbinom(3, A / 4.0, loc=-2),
    "geometric": stats.geom(A / 4.0),
    "bernoulli": stats.bernoulli(A / 4.0),
    "half integers": stats.randint(0, np.arange(3, 9), loc=0.5),
    "skellam": stats.skellam(A, B),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_scipy(name):
    frozen = CONTINUOUS[name]
    forecast = from_scipy(frozen)
    assert_array_equal(forecast.cdf(POINTS), frozen.cdf(POINTS))
    assert_array_equal(forecast.cdf_left(POINTS), frozen.cdf(POINTS))
    assert_array_equal(forecast.ppf(LEVELS[:-1]), frozen.ppf(LEVELS[:-1]))
    assert_array_equal(forecast.logpdf(Y), frozen.logpdf(Y))
    assert_allclose(forecast.mean(), Forecast.mean(forecast), rtol=1e-9)
    assert_allclose(forecast.std(), Forecast.std(forecast), rtol=1e-9)
    assert_same(forecast, as_forecast(Known(frozen)), tol=1e-10)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_scipy(name):
    frozen = DISCRETE[name]
    forecast = from_scipy(frozen)
    assert_array_equal(forecast.cdf(POINTS), frozen.cdf(POINTS))
    below = frozen.cdf(POINTS) - frozen.pmf(POINTS)
    assert_allclose(forecast.cdf_left(POINTS), below, rtol=0, atol=1e-14)
    assert_array_equal(forecast.logpdf([[1.0], [2.5]]), frozen.logpmf([[1.0], [2.5]]))
    lowest = np.broadcast_to(frozen.support()[0], N)
    assert_array_equal(forecast.ppf(0.0), lowest)
    assert_array_equal(forecast[[4, 4]].cdf(2.0), forecast.cdf(2.0)[[4, 4]])


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("y", [-30.0, 0.0, 1.0, 2.5, 60.0])
def test_discrete_scores_are_sums_over_the_lattice(name, y):
    frozen = DISCRETE[name]
    offset = 0.5 if name == "half integers" else 0.0
    values = np.arange(-60.0, 200.0)[:, None] + offset
    mass = frozen.pmf(values)
    error = (mass * np.abs(values - y)).sum(axis=0)
    spread = np.einsum("in,jn,ij->n", mass, mass, np.abs(values - values.T))
    score = from_scipy(frozen).crps(np.full(N, y))
    assert_allclose(score, error - spread / 2.0, rtol=1e-11, atol=1e-12)


def test_score_of_a_discrete_distribution_with_too_many_values():
    wide = from_scipy(stats.poisson([1e10, 4.0]))
    narrow = from_scipy(stats.poisson([4.0]))
    y = np.array([1e10 + 5e4, 3.0])
    normal = Normal([1e10], [1e5]).crps(y[:1])
    assert_allclose(wide.crps(y), [normal[0], narrow.crps(y[1:])[0]], rtol=1e-4)
    assert wide.crps(y)[1] == narrow.crps(y[1:])[0]


@pytest.mark.parametrize(
    ("frozen", "own"),
    [
        (stats.norm(A, B), Normal(A, B)),
        (stats.norm(loc=A), Normal(A, 1.0)),
        (stats.laplace(A, scale=B), Laplace(A, B)),
        (stats.t(A + 2.0, B, C), StudentT(A + 2.0, B, C)),
        (stats.lognorm(A, scale=np.exp(B)), LogNormal(B, A)),
    ],
)
def test_families_that_calibrant_has_itself(frozen, own):
    forecast = as_forecast(frozen)
    assert type(forecast) is type(own)
    assert_same(forecast, own)


def test_shifted_log_normal_stays_with_scipy():
    frozen = stats.lognorm(A, loc=-2.0, scale=B)
    assert_array_equal(from_scipy(frozen).cdf(POINTS), frozen.cdf(POINTS))


def test_scipy_parameters_and_frames():
    forecast = from_scipy(stats.gamma(A, scale=2.0))
    assert list(forecast.parameters()) == ["a", "scale"]
    assert_array_equal(forecast.parameters()["a"], A)
    frame = forecast.to_frame("polars")
    again = from_scipy(stats.gamma(**frame.to_dict(as_series=False)))
    assert_array_equal(again.cdf(Y), forecast.cdf(Y))
    with pytest.raises(ValueError, match="does not say which distribution"):
        type(forecast).from_frame(frame)


def test_one_row_of_scipy():
    forecast = as_forecast(stats.gamma(2.0))
    assert len(forecast) == 1
    assert_array_equal(forecast.cdf(POINTS), stats.gamma(2.0).cdf(POINTS))
    standard = as_forecast(stats.uniform())
    assert_array_equal(standard.cdf([[0.25], [0.5]]), [[0.25], [0.5]])


def test_histograms_of_scipy():
    histogram = stats.rv_histogram(np.histogram(rng.normal(size=500), bins=20))
    forecast = as_forecast(histogram())
    assert_array_equal(forecast.cdf(POINTS), histogram.cdf(POINTS))
    other = as_forecast(stats.rv_histogram(np.histogram(rng.normal(size=500), bins=20))())
    with pytest.raises(ValueError, match="different families"):
        concatenate([forecast, other])


def test_families_without_parameters():
    family = stats.rv_discrete(values=([0, 1, 3], [0.2, 0.5, 0.3]))
    forecast = as_forecast(family)
    assert_array_equal(forecast.cdf_left([[0.0], [1.0], [2.0], [3.0]]).T, [[0.0, 0.2, 0.7, 0.7]])
    assert_array_equal(forecast.logpdf([3.0]), as_forecast(family()).logpdf([3.0]))
    assert type(as_forecast(stats.norm)) is Normal


newer = pytest.mark.skipif(not hasattr(stats, "Binomial"), reason="needs SciPy 1.16")


@newer
def test_newer_objects_of_scipy():
    assert_same(as_forecast(stats.Normal(mu=A, sigma=B)), Normal(A, B), tol=1e-10)
    gamma = stats.make_distribution(stats.gamma)(a=A)
    assert_same(from_scipy(gamma), from_scipy(stats.gamma(A)), tol=1e-9)
    assert len(as_forecast(stats.Normal())) == 1
    with pytest.raises(ValueError, match=r"shape \(6, 1\) together"):
        from_scipy(stats.Normal(mu=A[:, None]))


@newer
def test_newer_discrete_objects_of_scipy_have_steps():
    n, p = np.arange(3, 9), A / 4.0
    forecast, expected = as_forecast(stats.Binomial(n=n, p=p)), from_scipy(stats.binom(n, p))
    points = np.arange(-1.0, 9.0, 0.25)[:, None]
    assert_allclose(forecast.cdf(points), expected.cdf(points), rtol=0, atol=1e-14)
    assert_allclose(forecast.cdf_left(points), expected.cdf_left(points), rtol=0, atol=1e-14)
    assert_array_equal(forecast.ppf(LEVELS[:-1]), expected.ppf(LEVELS[:-1]))
    assert_allclose(forecast.logpdf([[1.0], [2.5]]), expected.logpdf([[1.0], [2.5]]), rtol=1e-12)
    assert_allclose(forecast.crps(n / 2), expected.crps(n / 2), rtol=1e-6)
    assert_allclose(forecast[[4, 1]].mean(), expected[[4, 1]].mean())


def test_scipy_families_are_not_mixed():
    with pytest.raises(ValueError, match="different families"):
        concatenate([from_scipy(stats.gamma(A)), from_scipy(stats.weibull_min(A))])


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (stats.gamma([1.0, -1.0], scale=2.0), "row 1 has a=-1, scale=2, .* no gamma"),
        (stats.gamma([1.0, 2.0], scale=0.0), "row 0 has a=1, scale=0"),
        (stats.gamma([[1.0], [2.0]]), r"a \(2, 1\)"),
        (stats.gamma([1.0, 2.0], scale=[1.0, 2.0, 3.0]), r"a \(2,\), scale \(3,\)"),
        (stats.gamma([]), r"a \(0,\)"),
        (stats.gamma(np.nan), "a is nan"),
        (stats.norm([0.0, 1.0], [1.0, -1.0]), r"sigma\[1\] is .*not positive"),
        (stats.multivariate_normal([0.0, 1.0]), "multivariate_normal_frozen"),
        (stats.gamma, r"the family gamma of scipy.stats without its parameters: pass gamma\(a\)"),
        (3.0, "float"),
    ],
)
def test_scipy_that_is_refused(frozen, message):
    with pytest.raises(ValueError, match=message):
        from_scipy(frozen)


# ---------------------------------------------------------------------- regressors

X = rng.normal(size=(80, 2))
TARGET = X[:, 0] + 0.5 * rng.normal(size=80)


@pytest.mark.parametrize("estimator", [BayesianRidge(), GaussianProcessRegressor(alpha=0.3)])
def test_return_std(estimator):
    fitted = estimator.fit(X, TARGET)
    forecast = from_return_std(fitted, X[:9])
    mean, std = fitted.predict(X[:9], return_std=True)
    assert_array_equal(forecast.mu, mean)
    assert_array_equal(forecast.sigma, std)


def test_regressors_without_std():
    with pytest.raises(ValueError, match="predict of LinearRegression does not take return_std"):
        from_return_std(LinearRegression().fit(X, TARGET), X)


def test_quantile_regressors():
    levels = [0.1, 0.5, 0.9]
    fitted = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, max_iter=20).fit(X, TARGET)
        for level in levels
    ]
    usual = X[fitted[0].predict(X) < fitted[1].predict(X)]
    usual = usual[fitted[1].predict(usual) < fitted[2].predict(usual)]
    forecast = from_quantile_regressors(fitted, levels, usual)
    assert isinstance(forecast, Quantiles)
    for level, estimator in zip(levels, fitted, strict=True):
        assert_allclose(forecast.ppf(level), estimator.predict(usual), rtol=1e-12)
    with pytest.raises(ValueError, match="3 estimators for 2 levels"):
        from_quantile_regressors(fitted, [0.1, 0.9], X)


# ---------------------------------------------------------------------- torch


def torch_pairs():
    torch = peer("torch")
    d = torch.distributions
    a, b = torch.tensor(A, dtype=torch.float64), torch.tensor(B, dtype=torch.float64)
    return {
        "Normal": (d.Normal(a, b), Normal(A, B)),
        "Laplace": (d.Laplace(a, b), Laplace(A, B)),
        "StudentT": (d.StudentT(a + 2.0, a, b), StudentT(A + 2.0, A, B)),
        "LogNormal": (d.LogNormal(a, b / 3.0), LogNormal(A, B / 3.0)),
        "Gamma": (d.Gamma(a, b), from_scipy(stats.gamma(A, scale=1.0 / B))),
        "Exponential": (d.Exponential(b), from_scipy(stats.expon(scale=1.0 / B))),
        "Uniform": (d.Uniform(a, a + b), from_scipy(stats.uniform(A, B))),
        "HalfNormal": (d.HalfNormal(b), from_scipy(stats.halfnorm(scale=B))),
        "Gumbel": (d.Gumbel(a, b), from_scipy(stats.gumbel_r(A, B))),
        "Weibull": (d.Weibull(a, b), from_scipy(stats.weibull_min(B, scale=A))),
    }


@pytest.mark.parametrize(
    "name",
    ["Normal", "Laplace", "StudentT", "LogNormal", "Gamma", "Exponential", "Uniform", "HalfNormal",
     "Gumbel", "Weibull"],
)  # fmt: skip
def test_torch(name):
    distribution, expected = torch_pairs()[name]
    forecast = as_forecast(distribution)
    assert_same(forecast, expected, tol=1e-9)
    # At the edge of a support the libraries differ.
    inner = POINTS[POINTS[:, 0] != 0.0]
    assert_allclose(forecast.logpdf(inner), expected.logpdf(inner), rtol=1e-9, atol=1e-9)
    assert_array_equal(forecast.cdf([[-np.inf], [np.inf]]), [[0.0] * N, [1.0] * N])


def test_torch_float32_with_gradients_is_evaluated_in_float64():
    torch = peer("torch")
    rate = torch.tensor(B, dtype=torch.float32, requires_grad=True)
    shape = torch.tensor(A, dtype=torch.float32)
    forecast = from_torch(torch.distributions.Gamma(shape, rate))
    twin = stats.gamma(shape.double().numpy(), scale=1.0 / rate.detach().double().numpy())
    assert_allclose(forecast.cdf(POINTS), twin.cdf(POINTS), rtol=0, atol=1e-14)


def test_torch_mixtures():
    torch = peer("torch")
    d = torch.distributions
    logits, loc, scale = torch.randn(3, N, 4, generator=torch.Generator().manual_seed(0))
    mixture = d.MixtureSameFamily(d.Categorical(logits=logits), d.Normal(loc, scale.abs() + 0.1))
    forecast = from_torch(mixture)
    assert isinstance(forecast, Mixture)
    assert all(isinstance(part, Normal) for part in forecast.components)
    y = torch.tensor(Y, dtype=torch.float32)
    assert_allclose(forecast.cdf(y), mixture.cdf(y), rtol=0, atol=1e-6)
    gammas = d.MixtureSameFamily(d.Categorical(logits=logits), d.Gamma(loc.exp(), scale.exp()))
    other = from_torch(gammas)
    assert_allclose(other.cdf(y.abs()), gammas.cdf(y.abs()), rtol=0, atol=1e-6)
    assert_allclose(other.cdf(other.ppf(LEVELS)), np.broadcast_to(LEVELS, (6, N)), atol=1e-12)
    assert_array_equal(other.cdf(-1.0), np.zeros(N))


def test_torch_that_cannot_be_rebuilt():
    torch = peer("torch")
    d = torch.distributions
    base = d.Normal(torch.tensor(A), torch.tensor(B))
    moved = d.TransformedDistribution(base, [d.transforms.AffineTransform(1.0, 2.0)])
    moved_class = type(
        "Moved", (type(moved),), {"mean": property(lambda self: self.base_dist.mean)}
    )
    forecast = from_torch(moved_class(base, [d.transforms.AffineTransform(1.0, 2.0)]))
    expected = Normal(1.0 + 2.0 * A, 2.0 * B)
    assert_allclose(forecast.cdf(POINTS), expected.cdf(POINTS), rtol=0, atol=1e-14)
    assert_allclose(forecast[[1, 1, 0]].cdf(POINTS), expected[[1, 1, 0]].cdf(POINTS), atol=1e-14)
    assert_allclose(forecast.crps(Y), expected.crps(Y), rtol=1e-9)


def test_torch_that_is_refused():
    torch = peer("torch")
    d = torch.distributions
    a, b = torch.tensor(A), torch.tensor(B)
    with pytest.raises(ValueError, match="torch has no cdf for Beta"):
        from_torch(d.Beta(a, b))
    for wrong in (
        d.Normal(a[:, None], b[:, None]),
        d.Independent(d.Normal(a[:, None], b[:, None]), 1),
        d.Normal(0.0, 1.0),
        torch.tensor(A),
    ):
        with pytest.raises(ValueError, match="batch shape"):
            from_torch(wrong)


# ---------------------------------------------------------------------- NGBoost and skpro


@pytest.mark.parametrize("name", ["Normal", "LogNormal", "T", "Exponential", "Poisson"])
def test_ngboost(name):
    ngboost, distns = peer("ngboost"), peer("ngboost.distns")
    target = {"Poisson": rng.poisson(3.0, 80), "Normal": TARGET, "T": TARGET}
    model = ngboost.NGBRegressor(Dist=getattr(distns, name), n_estimators=5, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.fit(X, target.get(name, np.exp(TARGET))).pred_dist(X[:N])
    forecast = as_forecast(predicted)
    assert_allclose(forecast.cdf(POINTS), predicted.dist.cdf(POINTS), rtol=0, atol=1e-14)
    assert_array_equal(from_ngboost(predicted).crps(Y), forecast.crps(Y))


def test_ngboost_classifiers_are_refused():
    ngboost = peer("ngboost")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ngboost.NGBClassifier(n_estimators=2, verbose=False).fit(X, TARGET > 0)
    with pytest.raises(ValueError, match="distribution of one real outcome"):
        as_forecast(model.pred_dist(X))


def skpro_pairs():
    skpro = peer("skpro.distributions")
    a, b = A[:, None], B[:, None]
    return {
        "Normal": (skpro.Normal(a, b), Normal(A, B)),
        "Gamma": (skpro.Gamma(a, b), from_scipy(stats.gamma(A, scale=1.0 / B))),
        "Laplace": (skpro.Laplace(a, b), Laplace(A, B)),
        "Poisson": (skpro.Poisson(a), from_scipy(stats.poisson(A))),
    }


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Laplace"])
def test_skpro(name):
    distribution, expected = skpro_pairs()[name]
    forecast = as_forecast(distribution)
    assert_same(forecast, expected, tol=1e-8)
    assert_allclose(forecast.logpdf(np.abs(Y)), expected.logpdf(np.abs(Y)), rtol=1e-9)


def test_discrete_skpro():
    distribution, expected = skpro_pairs()["Poisson"]
    forecast = as_forecast(distribution)
    assert_allclose(forecast.cdf(POINTS), expected.cdf(POINTS), rtol=0, atol=1e-14)
    assert_allclose(forecast.cdf_left(POINTS), expected.cdf_left(POINTS), rtol=0, atol=1e-14)
    assert_allclose(forecast.crps(np.arange(N)), expected.crps(np.arange(N)), rtol=1e-3)
    with pytest.raises(ValueError, match="has no density"):
        forecast.logpdf(1.0)


def test_skpro_that_is_refused():
    skpro = peer("skpro.distributions")
    with pytest.raises(ValueError, match=r"shape \(4, 2\)"):
        as_forecast(skpro.Normal(np.zeros((4, 2)), 1.0))
    with pytest.raises(ValueError, match=r"shape \(n, 1\)"):
        from_skpro(skpro.Normal(0.0, 1.0))


# ---------------------------------------------------------------------- anything with a cdf


@pytest.mark.parametrize("kind", [Known, Knowing])
@pytest.mark.parametrize("frozen", [stats.norm(A, B), stats.norm(1e3 * A, 1e-2)])
def test_anything_with_a_cdf(kind, frozen):
    assert_same(as_forecast(kind(frozen)), as_forecast(frozen), tol=1e-9, y=frozen.ppf(0.3))


def test_quantiles_of_zero_and_one_are_infinite_when_only_the_cdf_is_known():
    forecast = as_forecast(Known(stats.norm(A, B)))
    assert_array_equal(forecast.ppf([[0.0], [1.0]]), [[-np.inf] * N, [np.inf] * N])
    low, high = forecast.interval(1.0)
    assert (low < high).all()


def test_quantiles_from_the_cdf_invert_it():
    for frozen in (stats.cauchy(A, B), stats.gamma(A, scale=1e-9), stats.norm(-1e9, 1e-2)):
        forecast = as_forecast(Known(frozen))
        expected = np.broadcast_to(frozen.ppf(LEVELS), (len(LEVELS), len(forecast)))
        assert_allclose(forecast.ppf(LEVELS)[:-1], expected[:-1], rtol=1e-9)


def test_quantiles_of_a_cdf_that_falls_short_of_one():
    class Single:
        def cdf(self, y):
            return np.float32(0.9999999) * stats.norm.cdf(y, A, B)

    y = as_forecast(Single()).ppf(1.0 - 1e-9)
    assert (y < 50.0).all()


def test_methods_that_do_not_broadcast_are_not_used():
    class Odd(Known):
        def mean(self):
            return 7.0

        def std(self, of):
            return of

        def ppf(self, p):
            raise NotImplementedError

    assert_same(as_forecast(Odd(stats.norm(A, B))), Normal(A, B), tol=1e-9)


def test_a_cdf_of_one_number_is_one_row():
    forecast = as_forecast(Known(stats.norm(1.0, 2.0)))
    assert len(forecast) == 1
    assert_allclose(forecast.crps([0.0]), Normal(1.0, 2.0).crps([0.0]), rtol=1e-10)


def test_masses_of_single_values():
    class Counts(Known):
        def pmf(self, y):
            return self._frozen.pmf(y)

    frozen = stats.poisson(A)
    points = np.arange(-1.0, 9.0, 0.5)[:, None]
    forecast, expected = as_forecast(Counts(frozen)), from_scipy(frozen)
    assert_allclose(forecast.cdf_left(points), expected.cdf_left(points), rtol=0, atol=1e-14)


def test_concatenation_of_different_objects():
    joined = concatenate(
        [as_forecast(Known(stats.norm(A, B))), as_forecast(Knowing(stats.norm(C)))]
    )
    expected = concatenate([Normal(A, B), Normal(C, 1.0)])
    y = np.tile(Y, 2)
    assert_allclose(joined.crps(y), expected.crps(y), rtol=1e-9)
    assert_allclose(joined[[11, 2, 2]].ppf(0.7), expected[[11, 2, 2]].ppf(0.7), rtol=1e-12)
    assert_allclose(joined[3:9].mean(), expected[3:9].mean(), rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, N - 1), min_size=1, max_size=9), st.integers(0, 2**32))
def test_rows_picked_again_and_again(rows, seed):
    forecast, expected = as_forecast(Known(stats.norm(A, B))), Normal(A, B)
    picked = forecast[rows]
    again = np.random.default_rng(seed).integers(0, len(rows), 4)
    grid = np.linspace(-2.0, 3.0, 4 * 3).reshape(3, 4)
    assert_array_equal(picked[again].cdf(grid), expected[np.array(rows)[again]].cdf(grid))
    y = np.random.default_rng(seed).normal(size=len(rows))
    assert_array_equal(picked.cdf(y), expected[rows].cdf(y))


def test_random_outcomes():
    forecast = as_forecast(Known(stats.norm(A, B)))
    draws = forecast.rvs(4_000, random_state=3)
    assert_array_equal(draws, forecast.rvs(4_000, random_state=3))
    assert stats.kstest(forecast.cdf(draws)[:, 0], "uniform").pvalue > 1e-4


def test_frames_hold_mean_and_std():
    forecast = as_forecast(Knowing(stats.norm(A, B)))
    frame = forecast.to_frame("pandas")
    assert list(frame.columns) == ["mean", "std"]
    assert_array_equal(frame["mean"], A)
    with pytest.raises(ValueError, match="only their cdf is known"):
        type(forecast).from_frame(frame)


def test_forecasts_stay_as_they_are():
    forecast = Normal(A, B)
    assert as_forecast(forecast) is forecast
    assert as_forecast(forecast, N) is forecast


@pytest.mark.parametrize("forecast", [Normal(A, B), stats.gamma(A), Known(stats.norm(A, B))])
def test_as_many_forecasts_as_outcomes(forecast):
    assert len(as_forecast(forecast, N)) == N
    with pytest.raises(ValueError, match="6 forecasts for 7 outcomes"):
        as_forecast(forecast, 7)


class ByRow:
    def cdf(self, y):
        return stats.norm.cdf(np.ravel(y), 0.0, 1.0)


class NeedsMore:
    def cdf(self, y, x):
        return y + x


@pytest.mark.parametrize(
    "thing",
    [
        None, 3.0, [0.1, 0.2], np.zeros(4), "normal", Normal, stats.norm, Known, ByRow(),
        NeedsMore(), Known(stats.norm(A[:, None], B[:, None])), Known(stats.norm([])),
        stats.multivariate_normal([0.0, 1.0]),
    ],
)  # fmt: skip
def test_what_is_no_forecast(thing):
    if thing is stats.norm:
        assert len(as_forecast(thing)) == 1  # SciPy's standard normal has a cdf
        return
    with pytest.raises(ValueError, match="it must be a forecast of calibrant, a distribution of"):
        as_forecast(thing)


@pytest.mark.parametrize("value", [np.nan, 1.5, -0.5])
def test_a_cdf_that_leaves_the_unit_interval(value):
    class Broken:
        def cdf(self, y):
            cdf = stats.norm.cdf(y, A, B)
            return np.where((np.arange(N) == 2) & (np.asarray(y) > 4.0), value, cdf)

    forecast = as_forecast(Broken())
    with pytest.raises(ValueError, match=f"cdf of Broken is {value} at 5.0 in row 2"):
        forecast.cdf(5.0)


def test_nothing_of_other_libraries_is_imported():
    code = (
        "import sys, calibrant.forecasts;"
        "print([name for name in ('torch', 'ngboost', 'skpro') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
