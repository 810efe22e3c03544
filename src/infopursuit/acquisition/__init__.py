"""Acquisition functions: how useful each query is after a history."""

from infopursuit.acquisition.look_ahead import FixedOrder, LookAhead, RandomOrder
from infopursuit.acquisition.mutual_information import MutualInformation
from infopursuit.acquisition.network import NetworkGain, NetworkQuerier
from infopursuit.acquisition.tables import entropy, mutual_information

__all__ = [
    "FixedOrder",
    "LookAhead",
    "MutualInformation",
    "NetworkGain",
    "NetworkQuerier",
    "RandomOrder",
    "entropy",
    "mutual_information",
]
