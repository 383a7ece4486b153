"""The reference implementation of a network: plain NumPy, one position at a time, written independently.

It reads the same trees of parameters and statistics and follows the papers: AlphaGo Zero's tower and heads, KataGo's
global pooling and nested bottlenecks, mixers, attention, gates, one tanh per seat or a softmax over win, draw and loss.
"""

from __future__ import annotations

import numpy as np

from tabia.networks import NetworkConfig, Tree


class Reference:
    """A network in float64."""

    def __init__(self, config: NetworkConfig, params: Tree, statistics: Tree) -> None:
        self.config, self.params, self.statistics = config, params, statistics

    def __call__(self, board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits and the value head's raw output for one board [H, W, C]."""
        c, x = self.config, self.tower(board)
        if c.units:
            x = self.dense(x)
            return self.layer("policy.out", x), self.value(x)
        features = self.value_features(x)
        return self.policy(x), self.value(pool(features) if c.value_pool else features.reshape(-1))

    def final_position(self, board: np.ndarray) -> np.ndarray:
        """Logits of the planes of the final position, cell by cell."""
        cells = [
            [self.layer("value.board", cell[None, None])[0, 0] for cell in row]
            for row in self.value_features(self.tower(board))
        ]
        return np.array(cells)

    def over(self, board: np.ndarray) -> np.ndarray:
        """The logit of a game that is over."""
        return self.layer("policy.over", self.dense(self.tower(board)))

    def dense(self, x: np.ndarray) -> np.ndarray:
        x = x.reshape(-1)
        for index, width in enumerate(self.config.units, start=1):
            y = self.layer(f"dense{index}", x)
            x = self.act(x + y if self.config.skips and x.shape == (width,) else y)
        return x

    def tower(self, board: np.ndarray) -> np.ndarray:
        c, x = self.config, board.astype(np.float64)
        blocks = {"residual": self.block, "bottleneck": self.bottleneck}
        blocks |= {"mixer": self.mixer, "attention": self.attention, "gated": self.gated}
        if c.kind in blocks:
            x = self.act(self.layer("stem", x))
            for number in range(1, c.blocks + 1):
                x = blocks[c.kind](f"block{number}", x, pooling=c.pool_every > 0 and number % c.pool_every == 0)
        for number in range(1, len(c.convolutions) + 1):
            x = self.act(self.layer(f"conv{number}", x))
        return x

    def block(self, name: str, x: np.ndarray, *, pooling: bool) -> np.ndarray:
        y = self.layer(f"{name}.first", x)
        if pooling:
            y = y + self.layer(f"{name}.tell", pool(self.act(self.layer(f"{name}.look", x))))
        return self.act(x + self.layer(f"{name}.second", self.act(y)))

    def bottleneck(self, name: str, x: np.ndarray, *, pooling: bool) -> np.ndarray:
        y = self.act(self.layer(f"{name}.reduce", x))
        y = self.block(f"{name}.inner1", y, pooling=pooling)
        for number in range(2, self.config.inner_blocks + 1):
            y = self.block(f"{name}.inner{number}", y, pooling=False)
        return self.act(x + self.layer(f"{name}.restore", y))

    def mixer(self, name: str, x: np.ndarray, *, pooling: bool) -> np.ndarray:
        """Each channel's cells times the matrix of its group."""
        matrices = np.asarray(self.params[f"{name}.mix"]["linear"]["kernel"], np.float64)
        cells = x.reshape(-1, x.shape[-1])
        mixed = [cells[:, f] @ matrices[f // self.config.group_filters] for f in range(x.shape[-1])]
        return self.channel_mlp(name, x + self.after(f"{name}.mix", np.stack(mixed, axis=-1).reshape(x.shape)))

    def attention(self, name: str, x: np.ndarray, *, pooling: bool) -> np.ndarray:
        """Each head: a softmax over all cells of q k / sqrt(d) + bias, one cell at a time."""
        q, k, v = (self.layer(f"{name}.{part}", x).reshape(-1, x.shape[-1]) for part in ("queries", "keys", "values"))
        biases, size = np.asarray(self.params[f"{name}.attention"]["positions"]["bias"]), self.config.head_filters
        attended = np.zeros_like(v)
        for head, bias in enumerate(biases):
            part = slice(head * size, (head + 1) * size)
            for cell in range(len(v)):
                scores = np.exp(
                    [q[cell, part] @ k[other, part] / np.sqrt(size) + bias[cell, other] for other in range(len(v))]
                )
                attended[cell, part] = scores / scores.sum() @ v[:, part]
        return self.channel_mlp(name, x + self.layer(f"{name}.join", attended.reshape(x.shape)))

    def channel_mlp(self, name: str, x: np.ndarray) -> np.ndarray:
        return x + self.layer(f"{name}.contract", self.act(self.layer(f"{name}.expand", x)))

    def gated(self, name: str, x: np.ndarray, *, pooling: bool) -> np.ndarray:
        """Each channel convolved with its own kernel."""
        y, gate = self.layer(f"{name}.expand", x), self.layer(f"{name}.gate", x)
        kernel = np.asarray(self.params[f"{name}.depthwise"]["linear"]["kernel"], np.float64)
        channels = [convolve(y[..., f : f + 1], kernel[..., f : f + 1]) for f in range(y.shape[-1])]
        y = self.after(f"{name}.depthwise", np.concatenate(channels, axis=-1))
        return x + self.layer(f"{name}.contract", y * gate / (1 + np.exp(-gate)))

    def policy(self, x: np.ndarray) -> np.ndarray:
        x = self.layer("policy.conv", x)
        features = self.act(x) if self.config.head_norm else x
        if self.config.policy == "dense":
            return self.layer("policy.out", features.reshape(-1))
        pooled = pool(features)
        x = self.act(x + self.layer("policy.tell", pooled))
        if self.config.policy == "columns":
            columns = [np.concatenate([column.mean(axis=0), column.max(axis=0)]) for column in x.transpose(1, 0, 2)]
            return np.concatenate([self.layer("policy.out", column) for column in columns])
        of_cells = [self.layer("policy.out", cell) for row in x for cell in row]
        extra = [self.layer("policy.extra", pooled)] if self.config.policy_extra else []
        return np.concatenate(of_cells + extra)

    def value_features(self, x: np.ndarray) -> np.ndarray:
        x = self.layer("value.conv", x)
        return self.act(x) if self.config.head_norm else x

    def value(self, x: np.ndarray) -> np.ndarray:
        if self.config.value_units:
            x = self.act(self.layer("value.hidden", x))
        return self.layer("value.out", x)

    def act(self, x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x, 0 if self.config.activation == "relu" else self.config.slope * x)

    def layer(self, name: str, x: np.ndarray) -> np.ndarray:
        """Convolution or dense layer, then bias and normalization."""
        kernel = np.asarray(self.params[name]["linear"]["kernel"], np.float64)
        return self.after(name, convolve(x, kernel) if kernel.ndim == 4 else x @ kernel)

    def after(self, name: str, y: np.ndarray) -> np.ndarray:
        """What follows the linear part of a layer: bias, and normalization by the running statistics."""
        params = self.params[name]
        if "bias" in params["linear"]:
            y = y + np.asarray(params["linear"]["bias"])
        if "norm" in params:
            running = self.statistics[name]["norm"]
            y = (y - np.asarray(running["mean"])) / np.sqrt(np.asarray(running["var"]) + 1e-5)
            y = y * np.asarray(params["norm"]["scale"]) + np.asarray(params["norm"]["bias"])
        return y


def convolve(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Slide the kernel over the board, padded with zeros; of an odd number of zeros, the last side gets one more."""
    (height, width, _), (rows, columns) = x.shape, kernel.shape[:2]
    sides = [((size - 1) // 2, size - 1 - (size - 1) // 2) for size in (rows, columns)]
    padded = np.pad(x, (*sides, (0, 0)))
    return np.array(
        [
            [
                np.einsum("ijc,ijcf->f", padded[row : row + rows, column : column + columns], kernel)
                for column in range(width)
            ]
            for row in range(height)
        ]
    )


def pool(x: np.ndarray) -> np.ndarray:
    cells = x.reshape(-1, x.shape[-1])
    return np.concatenate([cells.mean(axis=0), cells.max(axis=0)])
