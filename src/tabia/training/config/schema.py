"""A run's configuration: nested frozen objects, checked before any work starts.

    config = Config(game="connect4").changed({"search.simulations": 64})

Every value a user may set has a dotted name such as `learner.learning_rate`; `settings.py` reads and writes them as TOML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tabia.core.settings import bounded, check, one_of
from tabia.core.text import quote
from tabia.networks import NetworkConfig
from tabia.networks.presets import tower
from tabia.training.errors import TrainingError

Schedule = tuple[tuple[str, tuple[tuple[float, Any], ...]], ...]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """[search] How each move of self-play is looked for."""

    rule: str = one_of("gumbel", "puct")
    simulations: int = bounded(32, 1, 1_000_000)
    fast_simulations: int = bounded(0, 0, 1_000_000)
    """Playout caps: simulations of the quick plies, whose moves are played but not learned; 0: there are none."""
    full_search_fraction: float = bounded(0.25, 0.0, 1.0)
    """Playout caps: the share of plies searched in full."""
    considered_actions: int = bounded(16, 1, 1_000_000)
    """Gumbel: moves sampled at the root."""
    value_scale: float = bounded(1.0, 0.0, 1e6)
    """Gumbel: how much a difference in value weighs against the prior."""
    maxvisit_init: float = bounded(50.0, 0.0, 1e6)
    gumbel_scale: float = bounded(1.0, 0.0, 1e6)
    """Gumbel: how much chance is in the moves sampled and played; 0: none beyond temperature and exploration."""
    c: float = bounded(1.25, 0.0, 1e6)
    """PUCT: weight of the prior."""
    dirichlet_fraction: float = bounded(0.25, 0.0, 1.0)
    """PUCT: share of Dirichlet noise in the root's prior."""
    dirichlet_total: float = bounded(10.0, 0.01, 1e6)
    """PUCT: the noise's alpha is this over the number of legal moves."""
    dirichlet_alpha: float = bounded(0.0, 0.0, 1e6)
    """PUCT: the noise's alpha itself; 0: see noise_total."""
    winning_moves_first: bool = False
    """Every leaf is looked through for a move that wins at once, which counts as played; not for games of chance."""
    transpositions: bool = False
    cut_loops: bool = False


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings:
    """[selfplay] The games played side by side."""

    games: int = bounded(512, 1, 1_000_000)
    plies: int = bounded(8, 1, 10_000)
    """Moves in every game between two visits to the learner: together they are an iteration."""
    temperature: float = bounded(1.0, 0.0, 100.0)
    temperature_moves: int = bounded(12, 0, 1_000_000)
    """So many moves of a game are drawn at `temperature`, the rest at `temperature_end`."""
    temperature_end: float = bounded(0.0, 0.0, 100.0)
    """0: the move the search itself would play."""
    temperature_switch: str = one_of("fixed", "random")
    """`random`: each game draws anew, from 0 to temperature_moves, how many."""
    opening_fraction: float = bounded(0.5, 0.0, 1.0)
    """The share of games that begin with random moves."""
    opening_moves: int = bounded(8, 0, 1_000_000)
    """From 1 to so many of them."""
    opening_candidates: int = bounded(1, 1, 1_000)
    """Of so many openings drawn, the one the network thinks most even is played."""
    revisit_fraction: float = bounded(0.0, 0.0, 1.0)
    """The share of games that begin at a position of the replay whose outcome was not what the search expected.

    Nobody resigns those. `opened` is a share of the others.
    """
    revisit_candidates: int = bounded(16, 1, 1_000)
    """The most surprising of so many positions drawn."""
    teacher: str = ""
    """A simple player (random, greedy, initialize) that plays instead of the network; schedule it for the start."""
    epsilon: float = bounded(0.0, 0.0, 1.0)
    """The share of moves replaced by random ones; what happened after one never counts for positions before it."""
    resign_threshold: float = bounded(0.0, 0.0, 1.0)
    """A seat whose search expects less than -resign gives up (two seats only); 0: nobody ever does."""
    resign_disabled_fraction: float = bounded(0.1, 0.0, 1.0)
    """The share of games played on all the same, to see how often giving up was wrong."""


@dataclass(frozen=True, kw_only=True)
class TargetSettings:
    """[targets] What the network is taught about a position."""

    policy: str = one_of("improved", "visits")
    """`improved`: what the search recommends (Gumbel's improved policy; PUCT's visits). `visits`: shares of visits."""
    search_value_weight: float = bounded(0.3, 0.0, 1.0)
    """The value taught is (1 - share) * outcome + share * the search's own value."""
    td_lambda: float = bounded(1.0, 0.0, 1.0)
    """Below 1 the outcome is mixed with the search's values on the way to it: nearer ones count more."""


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """[replay] The positions the learner draws from."""

    positions: int = bounded(200_000, 1, 1_000_000_000)
    iterations: int = bounded(0, 0, 1_000_000)
    """The last so many iterations, instead of a number of positions; 0: see positions."""
    place: str = one_of("auto", "device", "host")
    """Where they are kept; `auto`: on the device, or in the machine's memory if they need over half of its own."""
    min_positions: int = bounded(0, 0, 1_000_000_000)
    """Finished positions to wait for before learning begins; 0: four batches."""


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """[learner] The optimizer and the losses."""

    steps: int = bounded(16, 1, 1_000_000)
    """Optimizer steps an iteration."""
    batch_size: int = bounded(512, 1, 1_000_000)
    optimizer: str = one_of("adamw", "muon", "adam", "sgd")
    momentum: float = bounded(0.9, 0.0, 1.0)
    """Of sgd."""
    learning_rate: float = bounded(1e-3, 0.0, 100.0)
    learning_rate_schedule: str = one_of("cosine", "constant", "stepped")
    learning_rate_end: float = bounded(1e-5, 0.0, 100.0)
    """Cosine: the rate at the end."""
    learning_rate_drops: tuple[tuple[float, float], ...] = ()
    """Stepped: from each progress (0 to 1) on the rate is multiplied by a factor: [[0.5, 0.1], [0.8, 0.01]]."""
    warmup_steps: int = bounded(100, 0, 1_000_000)
    """Steps in which the rate rises from 0."""
    weight_decay: float = bounded(1e-4, 0.0, 1.0)
    """adamw and muon: decay beside the gradient. adam and sgd: half its square is part of the loss (L2)."""
    gradient_clip: float = bounded(1.0, 0.0, 1e6)
    """The longest gradient; 0: any."""
    policy_loss: str = one_of("cross_entropy", "squared")
    """`squared` is Wandhoven's: squared error over the legal moves."""
    value_loss: str = one_of("squared", "cross_entropy")
    """`cross_entropy` is for networks that tell win, draw and loss."""
    value_weight: float = bounded(1.0, 0.0, 1e6)
    final_position_weight: float = bounded(1.0, 0.0, 1e6)
    """Weight of the final position loss, for networks with `final_position`."""
    mask_illegal: bool = True
    """Illegal moves take no part in the policy loss; false teaches the network that they are illegal."""
    ema_decay: float = bounded(0.999, 0.0, 1.0)
    """Weights are averaged with this decay for play; 0: the latest are played."""
    symmetries: bool = True
    """Every position is learned in a symmetry drawn at random."""
    precision: str = one_of("auto", "float32", "bfloat16")
    """What the network computes in; `auto`: bfloat16 but on CPUs."""


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """[gate] Whether a new network must prove itself before it plays."""

    kind: str = one_of("none", "score", "ratio", "sequential")
    """`score`: share of the points (Schulte 2021). `ratio`: of wins to losses (Wandhoven 2022). `sequential`: a test that stops early."""
    every: int = bounded(20, 1, 1_000_000)
    """Iterations between two attempts."""
    games: int = bounded(40, 2, 1_000_000)
    threshold: float = bounded(0.55, 0.0, 100.0)
    simulations: int = bounded(0, 0, 1_000_000)
    """Of each side; 0: those of self-play."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """[evaluation] How strength is measured while training and at the end; it changes nothing in the run."""

    every: int = bounded(0, 0, 1_000_000)
    """Iterations between two evaluations; 0: at most eight in a run, which take about a twentieth of its time.

    The end of the run is always evaluated. With 0 the number of games depends on the clock; otherwise it is `games`.
    """
    opponents: tuple[str, ...] = ()
    """Players by spec, weakest first; empty: those that suit the game (`training/opponents.py`)."""
    games: int = bounded(100, 0, 1_000_000)
    """Games against each opponent, fewer where `every` is 0 and time is short; 0: strength is never measured."""
    simulations: int = bounded(64, 0, 1_000_000)
    """Of our side; 0: the network alone, and positions with search as in self-play."""
    positions: int = bounded(-1, -1, 1_000_000)
    """Positions on which moves are compared with perfect play; 0: none; -1: 200 where it is known at once."""


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """[checkpoints] What is kept on disk."""

    every: int = bounded(50, 1, 1_000_000)
    """Iterations between two checkpoints; there is also one at the end and one at Ctrl-C."""
    minutes: float = bounded(5.0, 0.0, 1e6)
    """And at least every so many minutes."""
    resumable: int = bounded(2, 1, 1_000)
    """So many of the newest can be resumed from; older ones keep their weights alone."""
    games: int = bounded(4, 0, 1_000)
    """Self-play games written to games/ at each checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides how a run goes."""

    game: str
    other_boards: tuple[str, ...] = ()
    """Other boards of the game that the same network learns in turn, an iteration each; it must be one for any size."""
    recipe: str = "own"
    seed: int = bounded(0, 0, 2**31 - 1)
    iterations: int = bounded(400, 1, 1_000_000_000)
    """How long the run is, if no minutes are given; such a run can be repeated bit for bit on a CPU."""
    minutes: float = bounded(0.0, 0.0, 1e6)
    """How long the run is by the clock, compiling included; schedules then follow the clock from the first iteration on."""
    network: NetworkConfig = field(default_factory=tower)
    search: SearchSettings = SearchSettings()
    selfplay: SelfPlaySettings = SelfPlaySettings()
    targets: TargetSettings = TargetSettings()
    replay: ReplaySettings = ReplaySettings()
    learner: LearnerSettings = LearnerSettings()
    gate: GateSettings = GateSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    schedule: Schedule = ()
    """Values that change on the way: (("search.simulations", ((0.0, 16), (0.5, 32))),)."""

    def __post_init__(self) -> None:
        check(self, error=TrainingError)
        for section in SECTIONS:
            check(getattr(self, section), section=section, error=TrainingError)
        _check_together(self)

    def at(self, progress: float) -> Config:
        """The configuration as scheduled for a share of the run, 0 to 1."""
        return self.changed(self.scheduled(progress)) if self.schedule else self

    @property
    def changes(self) -> tuple[float, ...]:
        """The shares of the run at which the schedule sets something, in order; 0 is always the first."""
        return tuple(sorted({0.0} | {start for _, steps in self.schedule for start, _ in steps}))

    def scheduled(self, progress: float) -> dict[str, Any]:
        """The values that `schedule` sets at a share of the run."""
        return {name: [value for start, value in steps if start <= progress][-1] for name, steps in self.schedule}

    def changed(self, changes: Mapping[str, Any]) -> Config:
        """The same with some values changed, by dotted names."""
        parts: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            section, _, key = name.rpartition(".")
            parts.setdefault(section, {})[key] = value
        whole = parts.pop("", {})
        return replace(self, **whole, **{name: replace(getattr(self, name), **part) for name, part in parts.items()})


SECTIONS: dict[str, type[Any]] = {
    "search": SearchSettings,
    "selfplay": SelfPlaySettings,
    "targets": TargetSettings,
    "replay": ReplaySettings,
    "learner": LearnerSettings,
    "gate": GateSettings,
    "evaluation": EvaluationSettings,
    "checkpoints": CheckpointSettings,
}


FIXED = frozenset(
    {
        "game",
        "other_boards",
        "recipe",
        "seed",
        "iterations",
        "minutes",
        "selfplay.games",
        "selfplay.plies",
        "gate.kind",
        "replay.place",
        "learner.optimizer",
        "learner.gradient_clip",
        "learner.weight_decay",
    }
)
"""What decides the shapes of a run's arrays, or what the run is, and so stays the same throughout."""


def _check_together(config: Config) -> None:
    if not isinstance(config.other_boards, tuple) or not all(isinstance(board, str) for board in config.other_boards):
        raise TrainingError(f"other_boards is a list of games' ids; got {quote(config.other_boards)}.")
    if config.other_boards and not config.network.any_size:
        raise TrainingError("other_boards needs a network for any size of board, such as --set network=any_size.")
    if config.learner.value_loss == "cross_entropy" and config.network.value != "wdl":
        raise TrainingError("learner.value_loss='cross_entropy' needs a network with value='wdl'.")
    if config.gate.kind == "score" and not 0 < config.gate.threshold < 1:
        raise TrainingError(f"gate.threshold is a share of the points, such as 0.55; got {config.gate.threshold}.")
    if config.gate.kind == "sequential" and not 0.5 < config.gate.threshold < 1:
        raise TrainingError(
            f"gate.threshold is the share the sequential test looks for, more than half; got {config.gate.threshold}."
        )
    for name, steps in config.schedule:
        if name in FIXED or name.startswith("network."):
            raise TrainingError(f"{name} cannot be scheduled: it stays the same throughout a run.")
        if not _are_steps(steps):
            raise TrainingError(f"The schedule of {name} starts at 0 and rises, such as [[0.0, 16], [0.5, 32]].")
    for start in config.changes if config.schedule else ():
        replace(config, schedule=()).changed(config.scheduled(start))  # refuses what does not go together there


def _are_steps(steps: Any) -> bool:
    """Whether these are (share of the run, value) pairs that start at 0 and rise."""
    if not isinstance(steps, tuple) or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        return False
    starts = [start for start, _ in steps]
    if not all(type(start) in (int, float) for start in starts):
        return False
    return bool(starts) and starts[0] == 0 and starts == sorted(starts)
