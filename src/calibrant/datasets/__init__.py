"""Small real data that come with the package: forecasts with what happened.

Sources, licences and changes are in ATTRIBUTION.md in this folder.
"""

from calibrant.datasets.cifar10 import Cifar10, load_cifar10
from calibrant.datasets.games import Games, load_games
from calibrant.datasets.protein import ProteinForecasts, load_protein_forecasts

__all__ = [
    "Cifar10",
    "Games",
    "ProteinForecasts",
    "load_cifar10",
    "load_games",
    "load_protein_forecasts",
]
