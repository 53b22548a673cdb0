"""The two forecasters: a network whose outputs are the parameters of a predictive distribution."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .data import Part

HIDDEN = 100
STEP = 1e-3
BATCH = 128

_NARROWEST = 1e-3

Floats = NDArray[np.float32]
Parameters = dict[str, Tensor]


class Head(NamedTuple):
    """What the outputs of a network mean."""

    n_outputs: int
    parameters: Callable[[Tensor], Parameters]
    loss: Callable[[Parameters, Tensor], Tensor]


class Fitted(NamedTuple):
    """Forecasts of the rows of each split, and how they were come by."""

    parameters: dict[str, dict[str, Floats]]
    epoch: int
    loss: float


def normal_parameters(outputs: Tensor) -> Parameters:
    """Mean, and standard deviation as the exponential of half an output."""
    return {"mu": outputs[:, 0], "sigma": _positive(outputs[:, 1] / 2.0)}


def mixture_parameters(outputs: Tensor) -> Parameters:
    """Those of a normal and of a Laplace distribution, and the weight of the former."""
    return {
        **normal_parameters(outputs),
        "loc": outputs[:, 2],
        "scale": _positive(outputs[:, 3]),
        "weight": torch.sigmoid(outputs[:, 4]),
    }


def normal_loss(parameters: Parameters, y: Tensor) -> Tensor:
    """Negative log-likelihood of each row."""
    sigma = parameters["sigma"]
    z = (y - parameters["mu"]) / sigma
    return z * z / 2.0 + sigma.log() + math.log(2.0 * math.pi) / 2.0


def mixture_loss(parameters: Parameters, y: Tensor) -> Tensor:
    """Negative log-likelihood of each row."""
    scale, weight = parameters["scale"], parameters["weight"]
    laplace = -(y - parameters["loc"]).abs() / scale - (2.0 * scale).log()
    parts = (torch.log(weight) - normal_loss(parameters, y), torch.log1p(-weight) + laplace)
    return -torch.logaddexp(*parts)


HEADS = {
    "gaussian": Head(2, normal_parameters, normal_loss),
    "mixture": Head(5, mixture_parameters, mixture_loss),
}


def fit(
    splits: Mapping[str, Part], family: str, *, seed: int, max_epochs: int, patience: int
) -> Fitted:
    """Train on "train" until "val" gets no better, and forecast every split.

    Parameters
    ----------
    splits : mapping of str to Part
        With at least "train" and "val".
    family : {"gaussian", "mixture"}
    seed : int
        Of the first weights and of the order of rows.
    max_epochs, patience : int
        Training ends after so many epochs, or so many in a row without improvement.
    """
    torch.manual_seed(seed)
    head = HEADS[family]
    x, y = map(torch.from_numpy, splits["train"])
    held_out = tuple(map(torch.from_numpy, splits["val"]))
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, head.n_outputs),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=STEP, fused=True)

    def loss(features: Tensor, outcomes: Tensor) -> Tensor:
        return head.loss(head.parameters(network(features)), outcomes).mean()

    best, best_epoch, kept = math.inf, 0, network.state_dict()
    for epoch in range(1, max_epochs + 1):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            loss(x[rows], y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            value = float(loss(*held_out))
        if value < best:
            best, best_epoch, kept = value, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(kept)
    with torch.no_grad():
        parameters = {
            split: {
                name: values.numpy()
                for name, values in head.parameters(network(torch.from_numpy(part.x))).items()
            }
            for split, part in splits.items()
        }
    return Fitted(parameters, best_epoch, best)


def _positive(outputs: Tensor) -> Tensor:
    return outputs.exp().clamp_min(_NARROWEST)
