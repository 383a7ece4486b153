"""A network as an ONNX graph: the pass that writes nodes instead of computing arrays.

The graph reads `observation` float32[batch, H, W, C] and gives `logits` float32[batch, A] and `values`
float32[batch, P]; `batch` is any size. Nodes are named by layer (`block1.first`), and normalization is folded into the
weights. ONNX convolutions expect channels before rows, so boards are [B, F, H, W] inside the graph.
Axis letters: B batch, H rows, W columns, F features, C planes, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tabia.networks.cell_layers import AttentionLayer, CellLayer, DepthwiseLayer
from tabia.networks.errors import NetworkError
from tabia.networks.layers import Folded, Layer, Shape
from tabia.networks.network import Network

try:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper
except ImportError:
    raise NetworkError("ONNX files need the onnx library: install tabia[onnx].") from None

OPSET = 17
"""The version of ONNX's operators; ONNX Runtime reads it since 1.12 (2022)."""
IR_VERSION = 8
"""The version of the file format that belongs to the opset."""
INPUT, LOGITS, VALUES = "observation", "logits", "values"


class Value(NamedTuple):
    """What a node gives: its name in the graph, and its shape without the batch axis."""

    name: str
    shape: Shape  # (H, W, F) for a board, although the graph keeps it as [B, F, H, W]

    @property
    def is_board(self) -> bool:
        """Whether it has rows and columns."""
        return len(self.shape) == 3


class GraphPass:
    """Collects the nodes and weights of a network; features are `Value`s."""

    domains: tuple[tuple[str, int], ...] = (("", OPSET),)
    """Where the operators come from, with their versions."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.scalars: list[str] = []

    def __call__(self, layer: Layer, x: Value) -> Value:
        """The layer as a convolution on boards, or as a product with its matrix."""
        kernel, bias = self._leaf(layer, "kernel"), self._leaf(layer, "bias")
        shape = (*x.shape[:-1], layer.outputs)
        if not x.is_board:
            product = self._add("MatMul", x.name, self._weight(f"{layer.name}.kernel", kernel), name=layer.name)
            name = f"{layer.name}.sum"
            return Value(self._add("Add", product, self._weight(f"{layer.name}.bias", bias), name=name), shape)
        window = kernel if layer.kernel else kernel[None, None]  # a dense layer on a board treats each cell alike
        weights = {"kernel": window.transpose(3, 2, 0, 1), "bias": bias}
        inputs = [self._weight(f"{layer.name}.{leaf}", array) for leaf, array in weights.items()]
        return Value(self._add("Conv", x.name, *inputs, name=layer.name, pads=padding(window.shape)), shape)

    def depthwise(self, layer: DepthwiseLayer, x: Value) -> Value:
        kernel = self._leaf(layer, "kernel").transpose(3, 2, 0, 1)
        inputs = (
            self._weight(f"{layer.name}.kernel", kernel),
            self._weight(f"{layer.name}.bias", self._leaf(layer, "bias")),
        )
        attributes = {"pads": padding(layer.window), "group": layer.outputs}
        return x._replace(name=self._add("Conv", x.name, *inputs, name=layer.name, **attributes))

    def mix_cells(self, layer: CellLayer, x: Value) -> Value:
        """One product of matrices per group: [B, groups, F, cells] times [groups, cells, cells]."""
        grouped = self._reshape(x.name, (layer.groups, layer.outputs // layer.groups, layer.cells))
        kernel = self._weight(f"{layer.name}.kernel", self._leaf(layer, "kernel"))
        mixed = self._reshape(self._add("MatMul", grouped, kernel, name=layer.name), _first(x.shape))
        scale, bias = (
            self._weight(f"{layer.name}.{leaf}", self._leaf(layer, leaf)[:, None, None]) for leaf in ("scale", "bias")
        )
        return x._replace(name=self._add("Add", self._add("Mul", mixed, scale), bias))

    def attend(self, layer: AttentionLayer, queries: Value, keys: Value, values: Value) -> Value:
        """Per head: the softmax of queries [B, cells, F] times keys [B, F, cells], times the values."""
        size = layer.outputs // layer.heads
        q, k, v = (self._reshape(x.name, (layer.heads, size, layer.cells)) for x in (queries, keys, values))
        products = self._add("MatMul", self._add("Transpose", q, perm=[0, 1, 3, 2]), k)
        root = self._weight(f"{layer.name}.root", np.array(np.sqrt(size), np.float32))
        positions = self._weight(f"{layer.name}.positions", self._leaf(layer, "positions"))
        scores = self._add("Add", self._add("Div", products, root), positions)
        weights = self._add("Transpose", self._add("Softmax", scores, axis=-1), perm=[0, 1, 3, 2])
        attended = self._add("MatMul", v, weights, name=layer.name)
        return values._replace(name=self._reshape(attended, _first(values.shape)))

    def dropout(self, x: Value) -> Value:
        """Nothing is dropped."""
        return x

    def relu(self, x: Value) -> Value:
        return x._replace(name=self._add("Relu", x.name))

    def leaky_relu(self, x: Value, slope: float) -> Value:
        return x._replace(name=self._add("LeakyRelu", x.name, alpha=slope))

    def silu(self, x: Value) -> Value:
        return x._replace(name=self._add("Mul", x.name, self._add("Sigmoid", x.name)))

    def multiply(self, x: Value, y: Value) -> Value:
        return x._replace(name=self._add("Mul", x.name, y.name))

    def add(self, x: Value, y: Value) -> Value:
        return x._replace(name=self._add("Add", x.name, y.name))

    def add_to_cells(self, x: Value, y: Value) -> Value:
        wide = self._add("Unsqueeze", y.name, self._weight("axes.cells", np.array([2, 3])))
        return x._replace(name=self._add("Add", x.name, wide))

    def pool(self, x: Value) -> Value:
        return Value(self._mean_and_max(x, [2, 3]), (2 * x.shape[-1],))

    def pool_columns(self, x: Value) -> Value:
        pooled = self._mean_and_max(x, [2])  # [B, 2F, W]
        return Value(self._add("Transpose", pooled, perm=[0, 2, 1]), (x.shape[1], 2 * x.shape[2]))

    def flatten(self, x: Value) -> Value:
        name = self._add("Transpose", x.name, perm=[0, 2, 3, 1]) if x.is_board else x.name
        return Value(self._add("Flatten", name, axis=1), (int(np.prod(x.shape)),))

    def join(self, x: Value, y: Value) -> Value:
        return Value(self._add("Concat", x.name, y.name, axis=1), (x.shape[0] + y.shape[0],))

    def tanh(self, x: Value) -> Value:
        return x._replace(name=self._add("Tanh", x.name))

    def wins_less_losses(self, x: Value) -> Value:
        difference = self._weight("wins_less_losses", np.array([[1, -1], [0, 0], [-1, 1]], np.float32))
        return Value(self._add("MatMul", self._add("Softmax", x.name, axis=1), difference), (2,))

    def to_float32(self, x: Value) -> Value:
        """All weights of a graph are float32."""
        return x

    def board(self, name: str, shape: Shape) -> Value:
        """The input [B, H, W, C] with its channels first."""
        return Value(self._add("Transpose", name, perm=[0, 3, 1, 2]), shape)

    def output(self, x: Value, name: str) -> None:
        """Give a value the name of an output."""
        self._add("Identity", x.name, name=name)

    def _mean_and_max(self, x: Value, axes: list[int], *, axis: int = 1) -> str:
        parts = [self._add(operator, x.name, axes=axes, keepdims=0) for operator in ("ReduceMean", "ReduceMax")]
        return self._add("Concat", *parts, axis=axis)

    def _leaf(self, layer: Layer, leaf: str) -> np.ndarray:
        return np.asarray(self.folded[layer.name][leaf], np.float32)

    def _reshape(self, name: str, shape: Shape) -> str:
        """A tensor in another shape, which leaves out the batch."""
        axes = "x".join(map(str, shape))
        return self._add("Reshape", name, self._weight(f"shape.{axes}", np.array([0, *shape])))  # 0: as it is

    def _weight(self, name: str, array: np.ndarray) -> str:
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def _add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node; the name of its only output."""
        output = name or f"{operator}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output


def _first(board: Shape) -> Shape:
    """The shape of a board with its features first."""
    return (board[2], *board[:2])


def padding(window: Shape) -> list[int]:
    """The rows and columns to add before and after a board, so that a convolution with this window keeps its size."""
    rows, columns = window[:2]
    return [(rows - 1) // 2, (columns - 1) // 2, rows // 2, columns // 2]


def to_onnx(network: Network, folded: Folded, metadata: Mapping[str, str], *, version: str) -> ModelProto:
    """The model of a network with its folded weights; `version` is that of the program that writes it."""
    model = to_model(network, GraphPass(folded), version=version)
    helper.set_model_props(model, dict(metadata))
    return model


def to_model(network: Network, run: GraphPass, *, version: str = "") -> ModelProto:
    """The model that a pass writes; scalars named in `run.scalars` are outputs too."""
    outputs = network.run(run, run.board(INPUT, network.observation_shape), auxiliary=False)
    run.output(outputs.logits, LOGITS)
    run.output(outputs.values, VALUES)
    graph = helper.make_graph(
        run.nodes,
        "tabia",
        inputs=[_numbers(INPUT, network.observation_shape)],
        outputs=[
            _numbers(LOGITS, (network.num_actions,)),
            _numbers(VALUES, (network.num_players,)),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in run.scalars),
        ],
        initializer=[numpy_helper.from_array(array, name) for name, array in run.weights.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*domain) for domain in run.domains],
        ir_version=IR_VERSION,
        producer_name="tabia",
        producer_version=version,
    )
    checker.check_model(model, full_check=True)
    return model


def _numbers(name: str, shape: Shape) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])
