"""A network as an ONNX graph whose wide convolutions compute in 8-bit integers.

Weights have one scale per output channel (`quantize.py`), features one scale per tensor, from the smallest and largest
number seen on a sample of positions. Sums of residual blocks, the first convolution and the heads stay in float32: with
8-bit sums the values of a trained network moved four times as far, for the same speed.

    model = to_model(network, RangePass(folded))            # run it on a sample: its scalars are the ranges
    model = to_model(network, Int8Pass(folded, ranges))     # the network in 8 bits

Both passes quantize the same tensors in the same order: what a wide convolution reads, and what it gives, after its
ReLU if one follows, so that ONNX Runtime fuses all three into one kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabia.networks.layers import Folded, Layer
from tabia.networks.onnx_graph import GraphPass, Value, padding
from tabia.networks.quantize import quantize

FEWEST_INPUTS = 16
"""A convolution with fewer inputs is too small to gain from 8 bits."""
_STEPS = 255
_SMALLEST = 1e-8  # a range or scale of zero would divide by zero


def has_int8(layer: Layer) -> bool:
    """Whether a layer computes in 8 bits."""
    return layer.kernel > 1 and layer.inputs >= FEWEST_INPUTS and not layer.exact


class _MarkedPass(GraphPass):
    """Marks the tensors that are quantized."""

    def __init__(self, folded: Folded) -> None:
        super().__init__(folded)
        self._raw: set[str] = set()  # outputs of wide convolutions that nothing has read yet
        self._marked: dict[str, str] = {}  # tensor -> the tensor that is read in its place

    @abstractmethod
    def mark(self, name: str) -> str:
        """Mark one more tensor; the tensor that is read in its place."""

    def __call__(self, layer: Layer, x: Value) -> Value:
        if not has_int8(layer):
            return super().__call__(layer, x)
        y = self.convolution(layer, x._replace(name=self._mark_once(self._settled(x.name))))
        self._raw.add(y.name)
        return y

    def convolution(self, layer: Layer, x: Value) -> Value:
        """A wide convolution of a marked tensor."""
        return super().__call__(layer, x)

    def _add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        if operator == "Relu" and inputs[0] in self._raw:
            return self._mark_once(super()._add(operator, *inputs, name=name, **attributes))
        return super()._add(operator, *map(self._settled, inputs), name=name, **attributes)

    def _settled(self, name: str) -> str:
        return self._mark_once(name) if name in self._raw else name

    def _mark_once(self, name: str) -> str:
        if name not in self._marked:
            found = self.mark(name)
            self._marked |= {name: found, found: found}
        return self._marked[name]


class RangePass(_MarkedPass):
    """The network in float32, with the smallest and the largest number of each marked tensor as further outputs."""

    def mark(self, name: str) -> str:
        self.scalars += [GraphPass._add(self, operator, name, keepdims=0) for operator in ("ReduceMin", "ReduceMax")]
        return name


class Int8Pass(_MarkedPass):
    """The network with its wide convolutions in 8 bits; `ranges` holds two numbers for each marked tensor."""

    def __init__(self, folded: Folded, ranges: Sequence[tuple[float, float]]) -> None:
        super().__init__(folded)
        self._ranges = iter(ranges)
        self._scales: dict[str, np.ndarray] = {}

    def mark(self, name: str) -> str:
        low, high = next(self._ranges)
        low, high = min(low, 0.0), max(high, 0.0)  # zero must be exact: it is what padding adds
        scale = np.asarray(max(high - low, _SMALLEST) / _STEPS, np.float32)
        zero = np.clip(np.rint(-low / scale), 0, _STEPS).astype(np.uint8)
        places = self._weight(f"{name}.scale", scale), self._weight(f"{name}.zero", zero)
        found = GraphPass._add(self, "DequantizeLinear", GraphPass._add(self, "QuantizeLinear", name, *places), *places)
        self._scales[found] = scale
        return found

    def convolution(self, layer: Layer, x: Value) -> Value:
        kernel, bias = (np.asarray(self.folded[layer.name][leaf], np.float32) for leaf in ("kernel", "bias"))
        steps, scale = quantize(kernel)
        scale = np.maximum(scale, np.float32(_SMALLEST))
        of_sums = (scale * self._scales[x.name]).astype(np.float32)
        inputs = (
            self._dequantized(f"{layer.name}.kernel", steps.transpose(3, 2, 0, 1), scale),
            self._dequantized(f"{layer.name}.bias", np.rint(bias / of_sums).astype(np.int32), of_sums),
        )
        name = self._add("Conv", x.name, *inputs, name=layer.name, pads=padding(kernel.shape))
        return Value(name, (*x.shape[:-1], layer.outputs))

    def _dequantized(self, name: str, steps: np.ndarray, scale: np.ndarray) -> str:
        """Stored integers with one scale per entry of their first axis."""
        zero = np.zeros(scale.shape, steps.dtype)
        parts = {name: steps, f"{name}.scale": scale, f"{name}.zero": zero}
        return self._add("DequantizeLinear", *(self._weight(*part) for part in parts.items()), axis=0)
