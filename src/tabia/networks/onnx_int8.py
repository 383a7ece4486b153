"""A network as an ONNX graph whose wide convolutions compute in 8-bit integers.

Weights have one scale per output channel (`quantize.py`), features one scale per tensor, from the smallest and largest
number seen on a sample of positions. Sums of residual blocks, the first convolution and the heads stay in float32: with
8-bit sums the values of a trained network moved four times as far, for the same speed.

    model = to_model(network, RangePass(folded))            # run it on a sample: its scalars are the ranges
    model = to_model(network, Int8Pass(folded, ranges))     # the network in 8 bits

Both passes quantize the same tensors in the same order: what a wide convolution reads, and what it gives, after its
ReLU if one follows. In 8 bits boards are [B, H, W, F] and convolutions are ONNX Runtime's own operator for that layout:
with ONNX's layout a sixth of the time of one position went to transposing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tabia.networks.layers import Folded, Layer, Shape
from tabia.networks.onnx_graph import GraphPass, Value, padding
from tabia.networks.quantize import quantize

RUNTIME = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""
FEWEST_INPUTS = 16
"""A convolution with fewer inputs is too small to gain from 8 bits."""
_STEPS = 255
_SMALLEST = 1e-8  # a range or scale of zero would divide by zero
_LARGEST_BIAS = 2**30  # half of what the 32 bits of a sum can hold


def has_int8(layer: Layer) -> bool:
    """Whether a layer computes in 8 bits."""
    return layer.kernel > 1 and layer.inputs >= FEWEST_INPUTS and not layer.exact


class _MarkedPass(GraphPass):
    """Knows which tensors are quantized, and when."""

    def __init__(self, folded: Folded) -> None:
        super().__init__(folded)
        self._wide: set[str] = set()  # outputs of wide convolutions
        self._finished: dict[tuple[str, bool], str] = {}

    @abstractmethod
    def wide(self, layer: Layer, x: Value) -> str:
        """A convolution in 8 bits, by the name of its output."""

    @abstractmethod
    def finish(self, name: str, *, relu: bool) -> str:
        """The quantized output of a wide convolution, with or without a ReLU."""

    @abstractmethod
    def in_float32(self, name: str) -> str:
        """A tensor that may be quantized, in float32."""

    def __call__(self, layer: Layer, x: Value) -> Value:
        if not has_int8(layer):
            return self.float_layer(layer, x)
        name = self.wide(layer, x._replace(name=self._read(x.name)))
        self._wide.add(name)
        return Value(name, (*x.shape[:-1], layer.outputs))

    def float_layer(self, layer: Layer, x: Value) -> Value:
        """A layer in float32."""
        return super().__call__(layer, x)

    def _add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        if operator == "Relu" and inputs[0] in self._wide:
            return self._finish_once(inputs[0], relu=True)
        return super()._add(operator, *(self.in_float32(self._read(one)) for one in inputs), name=name, **attributes)

    def _read(self, name: str) -> str:
        return self._finish_once(name, relu=False) if name in self._wide else name

    def _finish_once(self, name: str, *, relu: bool) -> str:
        if (name, relu) not in self._finished:
            self._finished[name, relu] = self.finish(name, relu=relu)
        return self._finished[name, relu]


class RangePass(_MarkedPass):
    """The network in float32, with the smallest and the largest number of each quantized tensor as further outputs."""

    def __init__(self, folded: Folded) -> None:
        super().__init__(folded)
        self._marked: set[str] = set()

    def wide(self, layer: Layer, x: Value) -> str:
        self._mark(x.name)
        return GraphPass.__call__(self, layer, x).name

    def finish(self, name: str, *, relu: bool) -> str:
        output = GraphPass._add(self, "Relu", name) if relu else name
        self._mark(output)
        return output

    def in_float32(self, name: str) -> str:
        return name

    def _mark(self, name: str) -> None:
        if name not in self._marked:
            self._marked.add(name)
            both = ("ReduceMin", "ReduceMax")
            self.scalars += [GraphPass._add(self, operator, name, keepdims=0) for operator in both]


class _Scale(NamedTuple):
    """The scale and the zero of a tensor in 8 bits: their names, and the scale itself."""

    names: tuple[str, str]
    scale: np.ndarray


class Int8Pass(_MarkedPass):
    """The network with its wide convolutions in 8 bits; `ranges` holds two numbers for each quantized tensor."""

    domains = (*GraphPass.domains, (RUNTIME, 1))

    def __init__(self, folded: Folded, ranges: Sequence[tuple[float, float]]) -> None:
        super().__init__(folded)
        self._ranges = iter(ranges)
        self._scales: dict[str, _Scale] = {}  # of the tensors in 8 bits
        self._quantized: dict[str, str] = {}  # float32 -> 8 bits
        self._dequantized: dict[str, str] = {}  # 8 bits -> float32
        self._waiting: dict[str, tuple[Layer, str]] = {}  # wide convolutions, until it is known whether a ReLU follows

    def wide(self, layer: Layer, x: Value) -> str:
        self._waiting[layer.name] = layer, self._in_8_bits(x.name)
        return layer.name

    def finish(self, name: str, *, relu: bool) -> str:
        """The range of a rectified output starts at zero, so the convolution itself cuts off what is below."""
        layer, source = self._waiting[name]
        kernel, bias = (np.asarray(self.folded[name][leaf], np.float32) for leaf in ("kernel", "bias"))
        output = f"{name}.relu" if relu else f"{name}.sum"
        given, taken = self._scales[source], self._next_scale(output)
        # A channel whose weights are zero still has its bias, which is counted in units of its scale.
        steps, scale = quantize(kernel, np.maximum(np.abs(bias) / (given.scale * _LARGEST_BIAS), _SMALLEST))
        weights = {
            f"{name}.kernel": steps.transpose(3, 2, 0, 1),
            f"{name}.scale": scale,
            f"{name}.zero": np.zeros(layer.outputs, np.int8),
        }
        inputs = (source, *given.names, *(self._weight(*one) for one in weights.items()), *taken.names)
        sums = np.rint(bias / (scale * given.scale)).astype(np.int32)
        self._scales[output] = taken
        return GraphPass._add(
            self,
            "QLinearConv",
            *(*inputs, self._weight(f"{name}.bias", sums)),
            name=output,
            domain=RUNTIME,
            channels_last=1,
            pads=padding(kernel.shape),
        )

    def in_float32(self, name: str) -> str:
        if name not in self._scales:
            return name
        if name not in self._dequantized:
            self._dequantized[name] = GraphPass._add(self, "DequantizeLinear", name, *self._scales[name].names)
        return self._dequantized[name]

    def float_layer(self, layer: Layer, x: Value) -> Value:
        """A layer in float32; ONNX's convolution wants channels first."""
        if x.is_board and layer.kernel > 1:
            first = self._add("Transpose", x.name, perm=[0, 3, 1, 2])
            y = super().float_layer(layer, x._replace(name=first))
            return y._replace(name=self._add("Transpose", y.name, perm=[0, 2, 3, 1]))
        kernel, bias = (np.asarray(self.folded[layer.name][leaf], np.float32) for leaf in ("kernel", "bias"))
        weights = self._weight(f"{layer.name}.kernel", kernel.reshape(-1, layer.outputs))
        product = self._add("MatMul", x.name, weights)
        name = self._add("Add", product, self._weight(f"{layer.name}.bias", bias))
        return Value(name, (*x.shape[:-1], layer.outputs))

    def board(self, name: str, shape: Shape) -> Value:
        return Value(name, shape)

    def add_to_cells(self, x: Value, y: Value) -> Value:
        wide = self._add("Unsqueeze", y.name, self._weight("axes.cells", np.array([1, 2])))
        return x._replace(name=self._add("Add", x.name, wide))

    def pool(self, x: Value) -> Value:
        return Value(self._mean_and_max(x, [1, 2]), (2 * x.shape[-1],))

    def pool_columns(self, x: Value) -> Value:
        return Value(self._mean_and_max(x, [1], axis=2), (x.shape[1], 2 * x.shape[2]))

    def flatten(self, x: Value) -> Value:
        return Value(self._add("Flatten", x.name, axis=1), (int(np.prod(x.shape)),))

    def _in_8_bits(self, name: str) -> str:
        if name in self._scales:
            return name
        if name not in self._quantized:
            scale = self._next_scale(name)
            self._quantized[name] = GraphPass._add(self, "QuantizeLinear", name, *scale.names)
            self._scales[self._quantized[name]] = scale
        return self._quantized[name]

    def _next_scale(self, name: str) -> _Scale:
        low, high = next(self._ranges)
        low, high = min(low, 0.0), max(high, 0.0)  # zero must be exact: it is what padding adds
        scale = np.asarray(max(high - low, _SMALLEST) / _STEPS, np.float32)
        zero = np.clip(np.rint(-low / scale), 0, _STEPS).astype(np.uint8)
        return _Scale((self._weight(f"{name}.step", scale), self._weight(f"{name}.origin", zero)), scale)
