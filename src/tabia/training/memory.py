"""Whether a run's arrays fit into memory: checked before any of them is made or any program is compiled.

Self-play holds its trees, the learner the features of a batch, one after the other; the weights and a replay on the
device are there all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tabia.evaluation.batch import query_size
from tabia.search import layout, memory
from tabia.search.memory import Limit, Need
from tabia.training import arena as contest
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay.play import make_search

_COPIES = 5  # of every weight: itself, its average, two moments of the optimizer, its gradient
_FLOAT = 4  # bytes


def check(plan: Plan) -> None:
    """Refuse a run whose trees, batches or weights need more memory than the limit, at any stage of its schedule."""
    limit = memory.device_limit()
    for board in chain.from_iterable(stage.boards for stage in plan.stages):
        for needs in (playing(board), learning(board), *judging(board)):
            sentence = memory.shortage(needs, limit)
            if sentence is not None:
                raise TrainingError(f"{sentence}{_fewer_games(board, needs, limit)}")


def _fewer_games(plan: Plan, needs: list[Need], limit: Limit) -> str:
    """How many games of self-play would fit, where it is their trees that do not."""
    if max(needs, key=lambda need: need.bytes).setting != "search.simulations":
        return ""
    fixed, *growing = (need.bytes for need in needs)
    most = memory.fitting(Need("", plan.config.selfplay.games, sum(growing), ""), limit.bytes - fixed)
    return f" With fewer games: selfplay.games at most {most:,}." if most else ""


def working_bytes(plan: Plan) -> int:
    """Bytes that a run needs at its peak besides its replay."""
    boards = chain.from_iterable(stage.boards for stage in plan.stages)
    return max(sum(need.bytes for need in needs) for board in boards for needs in (playing(board), learning(board)))


def playing(plan: Plan) -> list[Need]:
    """What self-play needs."""
    settings, games = plan.config.search, plan.config.selfplay.games
    if plan.config.selfplay.teacher:
        return [weights(plan)]
    simulations = max(settings.simulations, settings.fast_simulations)
    search = make_search(plan.game, plan.network, settings, 1)  # with all of them it would refuse to be made
    needs = layout.needs(search, games, simulations=simulations)
    return [weights(plan), *_named("search.simulations", "selfplay.games", games, needs)]


def learning(plan: Plan) -> list[Need]:
    """What a step of the learner needs: the features of every layer are kept for the gradient."""
    height, width, _ = plan.network.observation_shape
    features = sum(layer.outputs * (height * width if layer.kernel else 1) for layer in plan.network.layers)
    batch = plan.config.learner.batch_size
    return [
        weights(plan),
        Need("learner.batch_size", batch, batch * features * _FLOAT, "for its features in every layer"),
    ]


def judging(plan: Plan) -> list[list[Need]]:
    """What the searches of the gate and of evaluations need."""
    gate, evaluation = plan.config.gate, plan.config.evaluation
    searches = []
    if gate.kind != "none":
        searches.append(("gate", gate.simulations or plan.config.search.simulations, gate.games))
    if evaluation.every and evaluation.simulations:
        searches.append(("evaluation", evaluation.simulations, evaluation.games))
    search = contest.make_search(plan, 1)
    found = []
    for section, simulations, games in searches:
        batch = query_size(min(games, contest.TOGETHER))
        needs = layout.needs(search, batch, simulations=simulations)
        found.append(_named(f"{section}.simulations", f"{section}.games", batch, needs))
    return found


def weights(plan: Plan) -> Need:
    """What the weights need, with everything the optimizer keeps of each."""
    count = sum(layer.inputs * layer.outputs * max(layer.kernel, 1) ** 2 for layer in plan.network.layers)
    return Need("weights", count, count * _COPIES * _FLOAT, "with averages, gradients and the optimizer's state")


def _named(simulations: str, games: str, batch: int, needs: Sequence[Need]) -> list[Need]:
    """The needs of a search under the names of two settings of the run: what is not for simulations is for games."""
    trees, *others = needs
    rest = Need(games, batch, sum(need.bytes for need in others), "for the positions evaluated at once")
    return [trees._replace(setting=simulations), rest]
