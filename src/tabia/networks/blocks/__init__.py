"""The blocks of a trunk. A block declares its layers, applies itself and describes itself, all in one class.

block               the interface, figures, and the style that blocks and heads share
residual            convolutions, residual blocks and nested bottlenecks
mixer               matrices over the cells, alternating with a channel MLP
attention           attention over the cells, followed by a channel MLP
gated               gated depthwise convolutions
dense               dense layers
trunk               the blocks of a configuration

To add a block, write its class in a module here and use it in `make_trunk`; a setting that switches it on goes to
`networks/config.py`. Parameters are named by layer, and weights files use these names: `block1.first` and
`block1.second` are the convolutions of the first residual block; `block3.look` and `block3.tell` those of a global
pooling branch; `block1.reduce`, `block1.inner1.first` and so on, and `block1.restore` those of a bottleneck block.
"""

from tabia.networks.blocks.block import Block as Block
from tabia.networks.blocks.block import Figure as Figure
from tabia.networks.blocks.block import Step as Step
from tabia.networks.blocks.block import Style as Style
from tabia.networks.blocks.trunk import make_trunk as make_trunk
