"""Whether a run's arrays fit into memory: checked before any of them is made or any program is compiled.

Self-play holds its trees, the learner the features of a batch, one after the other; the weights and a replay on the
device are there all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tabia.evaluation.wave import padded_size
from tabia.search import layout, memory
from tabia.search.memory import Need
from tabia.training import contest
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay import make_search

_COPIES = 5  # of every weight: itself, its average, two moments of the optimizer, its gradient
_FLOAT = 4  # bytes


def check(plan: Plan) -> None:
    """Refuse a run whose trees, batches or weights need more memory than the limit, at any stage of its schedule."""
    limit = memory.device_limit()
    for board in chain.from_iterable(stage.boards for stage in plan.stages):
        for needs in (playing(board), learning(board), *judging(board)):
            sentence = memory.shortage(needs, limit)
            if sentence is not None:
                raise TrainingError(sentence)


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
    return [weights(plan), *_named("search", layout.needs(search, games, simulations=simulations))]


def learning(plan: Plan) -> list[Need]:
    """What a step of the learner needs: the features of every layer are kept for the gradient."""
    height, width, _ = plan.network.observation_shape
    features = sum(layer.outputs * (height * width if layer.kernel else 1) for layer in plan.network.layers)
    batch = plan.config.learner.batch
    return [weights(plan), Need("learner.batch", batch, batch * features * _FLOAT, "for its features in every layer")]


def judging(plan: Plan) -> list[list[Need]]:
    """What the searches of the gate and of evaluations need."""
    gate, evaluation = plan.config.gate, plan.config.evaluation
    searches = []
    if gate.kind != "none":
        searches.append(("gate", gate.simulations or plan.config.search.simulations, gate.games))
    if evaluation.every and evaluation.simulations:
        searches.append(("evaluation", evaluation.simulations, evaluation.games))
    search = contest.make_search(plan, 1)
    return [
        _named(section, layout.needs(search, padded_size(min(games, contest.TOGETHER)), simulations=simulations))
        for section, simulations, games in searches
    ]


def weights(plan: Plan) -> Need:
    """What the weights need, with everything the optimizer keeps of each."""
    count = sum(layer.inputs * layer.outputs * max(layer.kernel, 1) ** 2 for layer in plan.network.layers)
    return Need("weights", count, count * _COPIES * _FLOAT, "with averages, gradients and the optimizer's state")


def _named(section: str, needs: Sequence[Need]) -> list[Need]:
    """The same needs under the names that settings have in a configuration; `batch` is the number of games there."""
    names = {"batch": "selfplay.games" if section == "search" else f"{section}.games"}
    return [need._replace(setting=names.get(need.setting, f"{section}.{need.setting}")) for need in needs]
