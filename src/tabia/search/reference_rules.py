"""The selection rules in plain Python, as printed in their sources, for the reference implementation.

Sanz & Villanueva 2021: section 2.3.2 (UCT, OMC, PBBM) and 3.2 (PUCT). Goldberg & Ishay 2017: section 2.4 (Mini
AlphaGo). Schulte 2021: equation 3.2.4 (PUCT without the own visit). Danihelka et al. 2022, "Policy improvement by
planning with Gumbel". A rule scores every legal action of a node; the highest is tried, the first on a tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tabia.search.reference_proofs import candidates
from tabia.search.rules import Gumbel, MiniAlphaGo, Omc, Pbbm, Puct, Rule, Uct
from tabia.search.rules.puct import Reduced, UntriedValue, as_draw, as_loss, as_parent

if TYPE_CHECKING:
    from tabia.search.reference import Edge, Node

Scores = dict[int, float]  # by legal action
Order = Callable[[int], int]  # by action: which of equally good ones comes first


def scores(rule: Rule, node: Node) -> Scores:
    """The scores of a node's actions."""
    match rule:
        case Puct():
            return puct(rule, node)
        case Uct():
            score = uct if rule.untried_first else uct_with_untried
            return {action: score(rule.c, node, edge) for action, edge in node.edges.items()}
        case MiniAlphaGo():
            return mini_alphago(rule, node)
        case Omc():
            return fairness(node, omc_urgencies(node))
        case Pbbm():
            return fairness(node, pbbm_urgencies(node))
        case Gumbel():
            return gumbel_interior(rule, node)
    raise TypeError(f"The reference implementation does not know the rule {type(rule).__name__}.")


def best(scores: Scores, order: Order | None = None) -> int:
    """The action with the highest score; on a tie the first, or the highest in the order."""
    return max(scores, key=lambda action: (scores[action], order(action) if order else 0))


def tie_order(seed: int | None, node: Node) -> Order | None:
    """The order of a node's actions in a tree with this seed: a hash of seed, node, visits and action."""
    if seed is None:
        return None
    start = seed + node.number * 0x9E3779B9 + node.visits * 0x85EBCA6B

    def order(action: int) -> int:
        word = (start + (action + 1) * 0xC2B2AE35) % 2**32
        word = (word ^ word >> 16) * 0x85EBCA6B % 2**32
        word = (word ^ word >> 13) * 0xC2B2AE35 % 2**32
        return (word ^ word >> 16) | 1

    return order


# The root.


def root_visits(rule: Rule, legal: int, simulations: int) -> Iterator[int | None]:
    """For each simulation the visits of the root actions considered; None: all actions are."""
    match rule:
        case Gumbel():
            yield from halving(min(rule.considered_actions, legal), simulations)
        case _:
            yield from [None] * simulations


def root_ranks(rule: Rule, root: Node, gumbel: Sequence[float]) -> Scores:
    """The scores of the root's actions."""
    match rule:
        case Gumbel():
            return {action: logit + gumbel[action] for action, logit in improved_logits(rule, root).items()}
        case _:
            return scores(rule, root)


def final_move(rule: Rule, root: Node, gumbel: Sequence[float] | None = None, seed: int | None = None) -> int:
    """The most visited action; a rule that plans its root breaks ties by its ranking, others by `tie_order`.

    Actions that are proven not to be the best are never played.
    """
    possible = candidates(root)
    most = max(edge.visits for edge in possible.values())
    if isinstance(rule, MiniAlphaGo) and rule.final_only and most:
        found = mini_alphago(replace(rule, final_only=False), root)
        return best({action: found[action] for action, edge in possible.items() if edge.visits}, tie_order(seed, root))
    leaders = [action for action, edge in possible.items() if edge.visits == most]
    if not rule.plans_root:
        return best(dict.fromkeys(leaders, 0.0), tie_order(seed, root))
    ranks = root_ranks(rule, root, gumbel or [0.0] * (1 + max(root.edges)))
    return best({action: ranks[action] for action in leaders}, tie_order(seed, root))


def root_policy(rule: Rule, root: Node, actions: Iterable[int]) -> Scores:
    """The recommended policy over some of the root's actions, normalized."""
    match rule:
        case Gumbel():
            logits = improved_logits(rule, root)
            top = max(logits.values())
            weights = {action: math.exp(logits[action] - top) for action in actions}
        case _:
            weights = {action: float(root.edges[action].visits) for action in actions}
    return {action: weight / math.fsum(weights.values()) for action, weight in weights.items()}


# PUCT.


def puct(rule: Puct, node: Node) -> Scores:
    """Q + c P sqrt(N) / (1 + n), where N includes the node's own evaluation if `own_visit`, and is at least 1."""
    count = node.visits + 1 if rule.own_visit else max(node.visits, 1)
    c = rule.c + (0.0 if rule.base is None else math.log((1 + count + rule.base) / rule.base))
    untried = untried_value(rule.untried_value, node)

    def score(edge: Edge) -> float:
        return (edge.mean if edge.visits else untried) + c * edge.prior * math.sqrt(count) / (1 + edge.visits)

    return {action: score(edge) for action, edge in node.edges.items()}


def untried_value(choice: UntriedValue, node: Node) -> float:
    """The value of an untried action."""
    if choice is as_draw:
        return 0.0
    if choice is as_loss:
        return -1.0
    parent = (node.value + math.fsum(edge.total for edge in node.edges.values())) / (1 + node.visits)
    if choice is as_parent:
        return parent
    if isinstance(choice, Reduced):
        visited = sum(edge.prior for edge in node.edges.values() if edge.visits)
        return parent - choice.reduction * math.sqrt(visited)
    raise TypeError(f"The reference implementation does not know {choice} for untried actions.")


# UCT and Mini AlphaGo.


def uct(c: float, node: Node, edge: Edge) -> float:
    """UCB1: v + c sqrt(log N / n), unvisited actions first; N counts the visits of all actions."""
    return edge.mean + c * math.sqrt(math.log(node.visits) / edge.visits) if edge.visits else math.inf


def uct_with_untried(c: float, node: Node, edge: Edge) -> float:
    """UCB1 with n + 1 for n and N + 1 for N; the value of an unvisited action is that of a loss."""
    return (edge.mean if edge.visits else -1.0) + c * math.sqrt(math.log(node.visits + 1) / (edge.visits + 1))


def mini_alphago(rule: MiniAlphaGo, node: Node) -> Scores:
    """Q + c1 sqrt(ln N / n) + c2 [the network's favorite] / (1 + n), the second term not with `final_only`.

    With c1 = 0 an action may stay untried, unless `untried_first`.
    """
    favorite = best({action: edge.prior for action, edge in node.edges.items()})

    def score(action: int, edge: Edge) -> float:
        first = uct(rule.c1, node, edge) if rule.c1 or rule.untried_first else edge.mean
        counts = action == favorite and not rule.final_only
        return first + (rule.c2 / (1 + edge.visits) if counts else 0.0)

    return {action: score(action, edge) for action, edge in node.edges.items()}


# OMC and PBBM.


def omc_urgencies(node: Node) -> Scores:
    """U = erfc((V - v) / (sqrt 2 sigma)), and 1 with fewer than two visits (footnote of the thesis)."""
    top = leader(node)
    if top is None:
        return dict.fromkeys(node.edges, 1.0)

    def urgency(edge: Edge) -> float:
        return 1.0 if edge.visits < 2 else math.erfc(ratio(top.mean - edge.mean, math.sqrt(2) * edge.deviation))

    return {action: urgency(edge) for action, edge in node.edges.items()}


def pbbm_urgencies(node: Node) -> Scores:
    """U = exp(-2.4 (V - v) / sqrt(2 (Sigma^2 + sigma^2))), and 1 if either action has fewer than two visits."""
    top = leader(node)
    if top is None or top.visits < 2:
        return dict.fromkeys(node.edges, 1.0)

    def urgency(edge: Edge) -> float:
        spread = math.sqrt(2 * (top.deviation**2 + edge.deviation**2))
        return 1.0 if edge.visits < 2 else math.exp(-2.4 * ratio(top.mean - edge.mean, spread))

    return {action: urgency(edge) for action, edge in node.edges.items()}


def leader(node: Node) -> Edge | None:
    """The visited action with the highest mean."""
    visited = [edge for edge in node.edges.values() if edge.visits]
    return max(visited, key=lambda edge: edge.mean) if visited else None


def ratio(gap: float, spread: float) -> float:
    """Gap / spread; infinite if the spread is 0 and the gap is not."""
    return gap / spread if spread else (math.inf if gap > 0 else 0.0)


def fairness(node: Node, urgencies: Scores) -> Scores:
    """N U / ((n + 1) * the urgency of all others)."""

    def score(action: int, edge: Edge) -> float:
        # fsum rounds once, so that equal actions get exactly the same score.
        others = math.fsum(urgency for other, urgency in urgencies.items() if other != action)
        return (1 + node.visits) * urgencies[action] / ((1 + edge.visits) * max(others, 1e-12))

    return {action: score(action, edge) for action, edge in node.edges.items()}


# Gumbel AlphaZero.


def gumbel_interior(rule: Gumbel, node: Node) -> Scores:
    """How far the improved policy, softmax(log p + sigma(q)), is ahead of the visits."""
    logits = improved_logits(rule, node)
    top = max(logits.values())
    total = math.fsum(math.exp(logit - top) for logit in logits.values())
    return {
        action: math.exp(logits[action] - top) / total - edge.visits / (1 + node.visits)
        for action, edge in node.edges.items()
    }


def improved_logits(rule: Gumbel, node: Node) -> Scores:
    """Log p + sigma(q)."""
    both = zip(node.edges.items(), sigmas(rule, node), strict=True)
    return {action: math.log(edge.prior) + sigma for (action, edge), sigma in both}


def sigmas(rule: Gumbel, node: Node) -> list[float]:
    """sigma(q) of each legal action; unvisited actions have the mixed value."""
    mixed = mixed_value(node)
    values = [edge.mean if edge.visits else mixed for edge in node.edges.values()]
    if rule.rescale_values:
        # Over all actions; illegal ones count as unvisited.
        everything = [*values, mixed] if node.has_illegal else values
        low, high = min(everything), max(everything)
        values = [(value - low) / max(high - low, 1e-8) for value in values]
    most = max(edge.visits for edge in node.edges.values())
    return [(rule.maxvisit_init + most) * rule.value_scale * value for value in values]


def mixed_value(node: Node) -> float:
    """(v + N * the prior-weighted mean of the visited actions) / (1 + N), appendix D of the paper."""
    visited = [edge for edge in node.edges.values() if edge.visits]
    if not visited:
        return node.value
    weighted = sum(edge.prior * edge.mean for edge in visited) / sum(edge.prior for edge in visited)
    return (node.value + node.visits * weighted) / (1 + node.visits)


def halving(candidates: int, simulations: int) -> Iterator[int]:
    """Sequential halving: for each simulation the visits of the candidates considered.

    log2(candidates) rounds share the simulations evenly. Each round visits all its candidates equally often, and the
    better half advances. Two candidates always remain; the last round lasts until the end.

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
