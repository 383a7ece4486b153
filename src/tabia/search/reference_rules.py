"""The selection rules in plain Python, each as its source prints it, for the twin in `reference.py`.

Sanz & Villanueva 2021: section 2.3.2 (UCT, OMC, PBBM) and 3.2 (PUCT). Goldberg & Ishay 2017: section 2.4 (Mini AlphaGo). Schulte 2021: equation 3.2.4. Gumbel:
Danihelka et al. 2022, "Policy improvement by planning with Gumbel". A rule gives every legal move of a node a
number; the highest is tried, the first on a tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tabia.search import selection
from tabia.search.gumbel import Gumbel
from tabia.search.selection import MiniAlphaGo, Omc, Pbbm, Puct, Reduced, Rule, Uct, Unvisited

if TYPE_CHECKING:
    from tabia.search.reference import Edge, Node

Scores = dict[int, float]  # by legal action


def scores(rule: Rule, node: Node) -> Scores:
    match rule:
        case Puct():
            return puct(rule, node)
        case Uct():
            return {action: uct(rule.c, node, edge) for action, edge in node.edges.items()}
        case MiniAlphaGo():
            return mini_alphago(rule, node)
        case Omc():
            return fairness(node, omc_urgencies(node))
        case Pbbm():
            return fairness(node, pbbm_urgencies(node))
        case Gumbel():
            return gumbel_interior(rule, node)
    raise TypeError(f"The twin does not know the rule {type(rule).__name__}.")


def best(scores: Scores) -> int:
    return max(scores, key=lambda action: scores[action])


# PUCT.


def puct(rule: Puct, node: Node) -> Scores:
    """Q + c P sqrt(N) / (1 + n), N counting the node's own evaluation unless told otherwise."""
    count = node.visits + (1 if rule.own_visit else 0)
    c = rule.c + (0.0 if rule.base is None else math.log((1 + count + rule.base) / rule.base))
    untried = value_of_untried(rule.unvisited, node)

    def score(edge: Edge) -> float:
        return (edge.mean if edge.visits else untried) + c * edge.prior * math.sqrt(count) / (1 + edge.visits)

    return {action: score(edge) for action, edge in node.edges.items()}


def value_of_untried(choice: Unvisited, node: Node) -> float:
    if choice is selection.as_draw:
        return 0.0
    if choice is selection.as_loss:
        return -1.0
    parent = node.means[node.mover]
    if choice is selection.as_parent:
        return parent
    if isinstance(choice, Reduced):
        tried = sum(edge.prior for edge in node.edges.values() if edge.visits)
        return parent - choice.reduction * math.sqrt(tried)
    raise TypeError(f"The twin does not know what {choice} thinks of moves never tried.")


# UCT and Mini AlphaGo.


def uct(c: float, node: Node, edge: Edge) -> float:
    """UCB1: v + c sqrt(log N / n), everything once first; N counts the tries of all moves."""
    return edge.mean + c * math.sqrt(math.log(node.visits) / edge.visits) if edge.visits else math.inf


def mini_alphago(rule: MiniAlphaGo, node: Node) -> Scores:
    """Q + c1 sqrt(ln N / n) + c2 [the network's move] / (1 + n); without c1 nothing has to be tried once."""
    favorite = best({action: edge.prior for action, edge in node.edges.items()})

    def score(action: int, edge: Edge) -> float:
        first = uct(rule.c1, node, edge) if rule.c1 else edge.mean
        return first + (rule.c2 / (1 + edge.visits) if action == favorite else 0.0)

    return {action: score(action, edge) for action, edge in node.edges.items()}


# OMC and PBBM.


def omc_urgencies(node: Node) -> Scores:
    """U = erfc((V - v) / (sqrt 2 sigma)), and 1 below two visits (Sanz & Villanueva's footnote)."""
    top = leader(node)
    if top is None:
        return dict.fromkeys(node.edges, 1.0)

    def urgency(edge: Edge) -> float:
        return 1.0 if edge.visits < 2 else math.erfc(ratio(top.mean - edge.mean, math.sqrt(2) * edge.deviation))

    return {action: urgency(edge) for action, edge in node.edges.items()}


def pbbm_urgencies(node: Node) -> Scores:
    """U = exp(-2.4 (V - v) / sqrt(2 (Sigma^2 + sigma^2))), and 1 where either move has less than two visits."""
    top = leader(node)
    if top is None or top.visits < 2:
        return dict.fromkeys(node.edges, 1.0)

    def urgency(edge: Edge) -> float:
        spread = math.sqrt(2 * (top.deviation**2 + edge.deviation**2))
        return 1.0 if edge.visits < 2 else math.exp(-2.4 * ratio(top.mean - edge.mean, spread))

    return {action: urgency(edge) for action, edge in node.edges.items()}


def leader(node: Node) -> Edge | None:
    """The tried move with the highest mean."""
    tried = [edge for edge in node.edges.values() if edge.visits]
    return max(tried, key=lambda edge: edge.mean) if tried else None


def ratio(gap: float, spread: float) -> float:
    """How many spreads wide the gap is, infinitely many if there is none."""
    return gap / spread if spread else (math.inf if gap > 0 else 0.0)


def fairness(node: Node, urgencies: Scores) -> Scores:
    """N U / ((n + 1) * the urgency of all others)."""

    def score(action: int, edge: Edge) -> float:
        # fsum rounds once, so that moves which are alike get exactly the same number.
        others = math.fsum(urgency for other, urgency in urgencies.items() if other != action)
        return (1 + node.visits) * urgencies[action] / ((1 + edge.visits) * max(others, 1e-12))

    return {action: score(action, edge) for action, edge in node.edges.items()}


# Gumbel AlphaZero.


def gumbel_interior(rule: Gumbel, node: Node) -> Scores:
    """Where the improved policy, softmax(log p + sigma(q)), is furthest ahead of the visits."""
    logits = improved_logits(rule, node)
    top = max(logits.values())
    total = math.fsum(math.exp(logit - top) for logit in logits.values())
    return {
        action: math.exp(logits[action] - top) / total - edge.visits / (1 + node.visits)
        for action, edge in node.edges.items()
    }


def gumbel_root(rule: Gumbel, root: Node, gumbel: Sequence[float]) -> Scores:
    """By log p + sigma(q) + noise the root's moves are ranked."""
    return {action: logit + gumbel[action] for action, logit in improved_logits(rule, root).items()}


def improved_logits(rule: Gumbel, node: Node) -> Scores:
    both = zip(node.edges.items(), sigmas(rule, node), strict=True)
    return {action: math.log(edge.prior) + sigma for (action, edge), sigma in both}


def sigmas(rule: Gumbel, node: Node) -> list[float]:
    """sigma(q) of each legal move, where moves never tried have the mixed value for q."""
    mixed = mixed_value(node)
    values = [edge.mean if edge.visits else mixed for edge in node.edges.values()]
    if rule.rescale:
        # Stretched to [0, 1] over all actions; the illegal ones stand among those never tried.
        everything = [*values, mixed] if node.closed else values
        low, high = min(everything), max(everything)
        values = [(value - low) / max(high - low, 1e-8) for value in values]
    most = max(edge.visits for edge in node.edges.values())
    return [(rule.visit_offset + most) * rule.scale * value for value in values]


def mixed_value(node: Node) -> float:
    """(v + N * the prior-weighted mean of the moves tried) / (1 + N), the paper's appendix D."""
    tried = [edge for edge in node.edges.values() if edge.visits]
    if not tried:
        return node.value
    weighted = sum(edge.prior * edge.mean for edge in tried) / sum(edge.prior for edge in tried)
    return (node.value + node.visits * weighted) / (1 + node.visits)


def halving(candidates: int, simulations: int) -> Iterator[int]:
    """Sequential halving: how often the move to be tried next has been tried before.

    Every round looks at all candidates equally often, log2(candidates) rounds share the budget evenly, and the
    better half goes on to the next; two always remain, and the last round goes on until the budget is spent.

    >>> list(halving(4, 8))
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    if candidates == 1:
        yield from range(simulations)
        return
    rounds, spent, visits = math.ceil(math.log2(candidates)), 0, 0
    while True:
        for _ in range(max(1, simulations // (rounds * candidates))):
            for _ in range(candidates):
                if spent == simulations:
                    return
                yield visits
                spent += 1
            visits += 1
        candidates = max(2, candidates // 2)
