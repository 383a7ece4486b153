"""Policy and value networks.

config, presets     what a network is made of, and networks by name
layers              one convolution or dense product: shapes, first weights, training, folding, inference
normalization       batch normalization in training
numerics            whether a device computes convolutions correctly
cell_layers         depthwise convolutions, matrices over the cells, attention
blocks, heads       the parts of a network; each declares, applies and describes itself
policy_heads        one logit per action
value_heads         values of all seats, and auxiliary outputs for training
passes, network     a pass of a batch through all parts; the network for one game
widening            more filters and blocks for the same function
winograd            convolutions with fewer products, on CPUs
int8, quantize      networks and tensors in 8 bits; onnx_graph and onnx_int8 write the graphs
evaluation_cache    evaluations kept on the host
manifest, weights   weights in files
summary, picture    a network as a table and as an SVG
"""

from tabia.networks.config import NetworkConfig as NetworkConfig
from tabia.networks.errors import NetworkError as NetworkError
from tabia.networks.errors import WeightsError as WeightsError
from tabia.networks.layers import Folded as Folded
from tabia.networks.layers import Tree as Tree
from tabia.networks.network import Network as Network
from tabia.networks.network import Outputs as Outputs
from tabia.networks.passes import Variables as Variables
from tabia.networks.passes import compute_type as compute_type
from tabia.networks.passes import inference_type as inference_type
