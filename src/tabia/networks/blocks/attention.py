"""Attention blocks: attention over the cells of the board, then a channel MLP (Vaswani et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks.block import Figure, Step, Style
from tabia.networks.blocks.mixer import ChannelMLP
from tabia.networks.cell_layers import AttentionLayer
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


@dataclass(frozen=True)
class AttentionBlock:
    """Every cell attends to all cells, by content and by position; added to the input, and followed by a channel MLP.

    Queries and keys are normalized like everything else, so their products keep their size during training.
    """

    name: str
    filters: int
    hidden: int
    heads: int
    cells: int
    style: Style
    gain: float = 2.0  # of the two convolutions that are added to their input

    @cached_property
    def queries(self) -> Layer:
        return self._projection("queries")

    @cached_property
    def keys(self) -> Layer:
        return self._projection("keys")

    @cached_property
    def values(self) -> Layer:
        return self._projection("values")

    @cached_property
    def attention(self) -> AttentionLayer:
        return AttentionLayer(
            name=f"{self.name}.attention",
            inputs=self.filters,
            outputs=self.filters,
            kernel=1,
            bias=False,
            cells=self.cells,
            heads=self.heads,
        )

    @cached_property
    def join(self) -> Layer:
        return self._projection("join", gain=self.gain)

    def _projection(self, name: str, *, gain: float = 1.0) -> Layer:
        return self.style.normalized(f"{self.name}.{name}", self.filters, self.filters, kernel=1, gain=gain)

    @cached_property
    def mlp(self) -> ChannelMLP:
        return ChannelMLP(self.name, self.filters, self.hidden, self.style, self.gain)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.queries, self.keys, self.values, self.attention, self.join, *self.mlp.layers)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        queries, keys, values = (run(layer, x) for layer in (self.queries, self.keys, self.values))
        attended = run.attend(self.attention, queries, keys, values)
        return self.mlp(run.add(x, run(self.join, attended)), run)

    def figure(self) -> Figure:
        first = (
            Step(self.queries, "queries, keys, values: {}"),
            Step(self.attention),
            Step(self.join, "{}, plus a skip"),
        )
        return Figure((*first, *self.mlp.steps), residual=True)
