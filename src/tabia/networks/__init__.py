"""Policy and value networks: configurations and presets, folding for inference, weights in and out."""

from tabia.networks.config import NetworkConfig as NetworkConfig
from tabia.networks.errors import NetworkError as NetworkError
from tabia.networks.errors import WeightsError as WeightsError
from tabia.networks.network import Network as Network
from tabia.networks.network import Outputs as Outputs
from tabia.networks.network import Variables as Variables
