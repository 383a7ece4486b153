"""A run's configuration: nested frozen objects, checked before any work starts.

    config = Config(game="connect4").changed({"search.simulations": 64})

Every setting has a dotted name such as `learner.learning_rate`; `toml.py` reads and writes them as TOML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tabia.core.settings import bounded, check, one_of
from tabia.networks import NetworkConfig
from tabia.networks.presets import tower
from tabia.search.rules import RULES
from tabia.training.config.checks import WIDENED, check_together
from tabia.training.errors import TrainingError

Schedule = tuple[tuple[str, tuple[tuple[float, Any], ...]], ...]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """[search] The tree search that chooses the moves of self-play."""

    rule: str = one_of("gumbel", *(name for name in RULES if name != "gumbel"))
    simulations: int = bounded(32, 1, 1_000_000)
    fast_simulations: int = bounded(0, 0, 1_000_000)
    """Playout cap randomization: simulations of a fast search, whose policy is not learned; 0: every search is full."""
    full_search_fraction: float = bounded(0.25, 0.0, 1.0)
    """Playout cap randomization: the fraction of plies with a full search."""
    considered_actions: int = bounded(16, 1, 1_000_000)
    """Gumbel: actions sampled at the root."""
    value_scale: float = bounded(1.0, 0.0, 1e6)
    """Gumbel: weight of values against the prior; c_scale in the paper."""
    maxvisit_init: float = bounded(50.0, 0.0, 1e6)
    """Gumbel: added to the largest visit count; c_visit in the paper."""
    gumbel_scale: float = bounded(1.0, 0.0, 1e6)
    """Gumbel: scale of the Gumbel noise at the root; 0: no noise."""
    uniform_fraction: float = bounded(0.0, 0.0, 1.0)
    """Gumbel: fraction of a uniform distribution in the prior from which the actions at the root are sampled."""
    c: float = bounded(1.25, 0.0, 1e6)
    """PUCT: weight of the prior."""
    dirichlet_fraction: float = bounded(0.25, 0.0, 1.0)
    """PUCT: fraction of Dirichlet noise in the prior of the root."""
    dirichlet_total: float = bounded(10.0, 0.01, 1e6)
    """PUCT: Dirichlet alpha is this divided by the number of legal moves."""
    dirichlet_alpha: float = bounded(0.0, 0.0, 1e6)
    """PUCT: Dirichlet alpha; 0: use dirichlet_total."""
    untried_value: str = one_of("zero", "lowest", "parent")
    """PUCT: the value of moves not tried yet: 0, the game's lowest score (Schulte 2021), or the mean of the node."""
    own_visit: bool = True
    """PUCT: N counts the node's own evaluation, not only the visits of its moves; false in Schulte 2021."""
    ties: str = one_of("first", "random")
    """Which of equally good moves is taken, in the tree and at its end: the first, or any of them (Schulte 2021)."""
    winning_moves_first: bool = False
    """Give a leaf with an immediately winning move the value of that win; not for games of chance."""
    transpositions: bool = False
    """Share nodes between equal positions."""
    cut_loops: bool = False
    """Score a position that repeats on the path instead of searching it again."""
    cut_loops_history: bool = False
    """Score a position that repeats an earlier one of the game, too; needs cut_loops or transpositions."""
    reuse_tree: bool = False
    """Keep the subtree of the move played for the next search, at most `simulations` nodes; not with gumbel.

    An iteration starts with new trees, because its network may be different.
    """
    proven_values: bool = False
    """Back up exact wins, draws and losses; a position proven by its search has exact targets. Not for chance."""


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings:
    """[selfplay] The games played in parallel, and how they explore."""

    games: int = bounded(512, 1, 1_000_000)
    plies: int = bounded(8, 1, 10_000)
    """Moves played in every game per iteration."""
    whole_games: bool = False
    """Each iteration plays `games` games from their first position to their end; `plies` is the most they can take.

    Lanes whose game has ended wait for the others. Otherwise the next game starts there at once, and an iteration may
    end in the middle of a game.
    """
    temperature: float = bounded(1.0, 0.0, 100.0)
    temperature_moves: int = bounded(12, 0, 1_000_000)
    """The first moves of a game are sampled at `temperature`, the others at `temperature_end`."""
    temperature_by: str = one_of("ply", "seat")
    """`ply`: temperature_moves counts the moves of the game. `seat`: each seat's own moves (Schulte 2021)."""
    temperature_end: float = bounded(0.0, 0.0, 100.0)
    """0: play the move that the search selects."""
    temperature_switch: str = one_of("fixed", "random")
    """`random`: each game draws its own number of first moves, from 0 to temperature_moves."""
    opening_fraction: float = bounded(0.5, 0.0, 1.0)
    """The fraction of games that start with random moves."""
    opening_moves: int = bounded(8, 0, 1_000_000)
    """Maximum number of random moves; each opening has 1 to this many."""
    opening_candidates: int = bounded(1, 1, 1_000)
    """Sample this many openings and play the most balanced one, as the network sees it."""
    revisit_fraction: float = bounded(0.0, 0.0, 1.0)
    """The fraction of games that start at a position of the replay buffer whose outcome surprised the search.

    Such games are never resigned. `opening_fraction` applies to the other games.
    """
    revisit_candidates: int = bounded(16, 1, 1_000)
    """Sample this many positions and start at the most surprising one."""
    teacher: str = ""
    """A player (random, greedy, initialize) that plays instead of the network; see teacher_games, or schedule it."""
    teacher_games: int = bounded(0, 0, 1_000_000_000)
    """The teacher plays this many games; the network learns from them once, and then plays from an empty replay buffer.

    It plays without passing a gate first. 0: the teacher plays as long as `teacher` is set.
    """
    epsilon: float = bounded(0.0, 0.0, 1.0)
    """The fraction of moves replaced by random ones; positions before one keep their search value as target."""
    resign_threshold: float = bounded(0.0, 0.0, 1.0)
    """A seat resigns if its search value is below minus this (two seats only); 0: never."""
    resign_disabled_fraction: float = bounded(0.1, 0.0, 1.0)
    """The fraction of games that are played to the end, to see how often a resignation would be wrong."""


@dataclass(frozen=True, kw_only=True)
class TargetSettings:
    """[targets] The policy and value targets of a position."""

    policy: str = one_of("improved", "visits")
    """`improved`: the improved policy of Gumbel, the visit counts of PUCT. `visits`: always the visit counts."""
    search_value_weight: float = bounded(0.3, 0.0, 1.0)
    """The value target is (1 - weight) * outcome + weight * search value."""
    td_lambda: float = bounded(1.0, 0.0, 1.0)
    """TD(lambda): below 1, the outcome is mixed with the search values of later positions."""


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """[replay] The replay buffer."""

    positions: int = bounded(200_000, 1, 1_000_000_000)
    """The newest positions, from which the learner samples."""
    iterations: int = bounded(0, 0, 1_000_000)
    """Sample from this many of the newest iterations instead; 0: use positions."""
    place: str = one_of("auto", "device", "host")
    """Where the buffer is stored; `auto`: on the device if it fits there, otherwise in host memory."""
    min_positions: int = bounded(0, 0, 1_000_000_000)
    """Positions that must be ready before learning starts; 0: four batches."""


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """[learner] The optimizer and the losses."""

    steps: int = bounded(16, 1, 1_000_000)
    """Optimizer steps per iteration, each on a fresh batch; unused with `epochs` or `steps_per_game`."""
    epochs: int = bounded(0, 0, 1_000)
    """Epochs per iteration over one sample from the replay buffer; 0: `steps` on fresh batches."""
    sample_positions: int = bounded(0, 0, 1_000_000_000)
    """Epochs: positions in that sample, drawn without repetition; 0: all that are ready."""
    steps_per_game: float = bounded(0.0, 0.0, 1e6)
    """Optimizer steps for each game that ended in the iteration, on fresh batches; 0: `steps`."""
    train_every_games: int = bounded(0, 0, 1_000_000_000)
    """Learn only in iterations in which the number of finished games passes a multiple of this; 0: in all."""
    batch_size: int = bounded(512, 1, 1_000_000)
    optimizer: str = one_of("adamw", "muon", "adam", "sgd")
    momentum: float = bounded(0.9, 0.0, 1.0)
    """SGD only."""
    learning_rate: float = bounded(1e-3, 0.0, 100.0)
    learning_rate_schedule: str = one_of("cosine", "constant", "stepped")
    learning_rate_end: float = bounded(1e-5, 0.0, 100.0)
    """Cosine: the learning rate at the end."""
    learning_rate_drops: tuple[tuple[float, float], ...] = ()
    """Stepped: factors of the learning rate by progress (0 to 1), such as [[0.5, 0.1], [0.8, 0.01]]."""
    warmup_steps: int = bounded(100, 0, 1_000_000)
    """Steps in which the learning rate rises from 0."""
    weight_decay: float = bounded(1e-4, 0.0, 1.0)
    """adamw and muon: decoupled weight decay. adam and sgd: L2 regularization, as part of the loss."""
    gradient_clip: float = bounded(1.0, 0.0, 1e6)
    """Clip gradients to this global norm; 0: no clipping."""
    policy_loss: str = one_of("cross_entropy", "squared")
    """`squared`: squared error over the legal moves (Wandhoven 2022)."""
    value_loss: str = one_of("squared", "cross_entropy")
    """`cross_entropy`: for networks that predict win, draw and loss."""
    value_weight: float = bounded(1.0, 0.0, 1e6)
    final_position_weight: float = bounded(1.0, 0.0, 1e6)
    """Weight of predicting the position before the final move, for networks with `final_position`."""
    mask_illegal: bool = True
    """Leave illegal moves out of the policy loss; false: the network learns that they are illegal."""
    ema_decay: float = bounded(0.999, 0.0, 1.0)
    """Play with an exponential moving average of the weights with this decay; 0: play with the latest weights."""
    symmetries: bool = True
    """Apply a random symmetry of the game to every sample."""
    precision: str = one_of("auto", "float32", "bfloat16")
    """The data type of the network; `auto`: float32 on CPUs, bfloat16 elsewhere."""


@dataclass(frozen=True, kw_only=True)
class SupervisedSettings:
    """[supervised] Learning the best moves of a solved game instead of self-play; see `tabia.training.supervised`."""

    positions: str = one_of("none", "tree", "distinct")
    """`none`: self-play. `tree`: the nodes of the game tree, where a position counts as often as it is reached.

    `distinct`: every position once. An iteration is `learner.epochs` over `learner.sample_positions` of them (0: all).
    """
    labels: str = one_of("first", "all")
    """The move to learn: the first of the best moves, or all of them with equal probability."""
    accuracy: float = bounded(0.0, 0.0, 1.0)
    """End the run once the network's first choice is right in this fraction of the positions; 0: never."""


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """[gate] Whether a new network must beat the champion before it plays."""

    kind: str = one_of("none", "score", "ratio", "sequential")
    """`score`: fraction of the points (Schulte 2021). `ratio`: wins to losses (Wandhoven 2022). `sequential`: SPRT."""
    every: int = bounded(20, 1, 1_000_000)
    """Iterations between two gates."""
    games: int = bounded(40, 2, 1_000_000)
    opening_moves: int = bounded(-1, -1, 1_000_000)
    """Random moves at the start of a game; -1: as few as give each round its own opening, but at least 4."""
    temperature_moves: int = bounded(0, 0, 1_000_000)
    """The first moves are sampled from the search's policy; counted by `selfplay.temperature_by`, opening included."""
    threshold: float = bounded(0.55, 0.0, 100.0)
    simulations: int = bounded(0, 0, 1_000_000)
    """Simulations per move of both sides; 0: as in self-play."""
    search: str = one_of("gumbel", "run")
    """How both sides search: `gumbel`, or by the run's own rule (`run`); without noise in either case."""
    restore_on_refusal: bool = False
    """Replace a rejected network with the champion, weights and optimizer state, instead of training it further."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """[evaluation] How strength is measured during a run and at its end; the run itself does not depend on it."""

    every: int = bounded(0, 0, 1_000_000)
    """Iterations between two evaluations; 0: at most eight per run, in about 5% of its time.

    The end of the run is always evaluated. With 0 the number of games depends on the clock; otherwise it is `games`.
    """
    opponents: tuple[str, ...] = ()
    """Players by spec, weakest first; empty: opponents that suit the game (`tabia.training.evaluate`)."""
    games: int = bounded(100, 0, 1_000_000)
    """Games against each opponent, fewer if `every` is 0 and time is short; 0: strength is never measured."""
    simulations: int = bounded(64, 0, 1_000_000)
    """Simulations per move of our side; 0: the network alone."""
    search: str = one_of("gumbel", "run")
    """How our side searches: `gumbel`, or by the run's own rule (`run`); without noise in either case."""
    positions: int = bounded(-1, -1, 1_000_000)
    """Positions compared with perfect play; 0: none; -1: 200 if the game is solved quickly."""


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """[checkpoints] What is saved, and how often."""

    every: int = bounded(50, 1, 1_000_000)
    """Iterations between two checkpoints; one is also saved at the end and at Ctrl-C."""
    every_games: int = bounded(0, 0, 1_000_000_000)
    """Also save one when the number of finished games passes a multiple of this; 0: never."""
    initial: bool = False
    """Also save one before the first iteration, with the untrained network."""
    accepted: bool = False
    """Also save one for every network that passes the gate."""
    minutes: float = bounded(5.0, 0.0, 1e6)
    """Minutes after which a checkpoint is saved in any case."""
    resumable: int = bounded(2, 0, 1_000)
    """Number of newest checkpoints that can be resumed; the others keep only their weights.

    0: the run cannot be resumed, and saving takes no time, because the replay buffer is not written.
    """
    games: int = bounded(4, 0, 1_000)
    """Self-play games written to games/ per checkpoint."""
    all_games: bool = False
    """Write all self-play games, after every iteration; those that start after random moves cannot be written."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a run."""

    game: str
    other_boards: tuple[str, ...] = ()
    """Other boards of the game, played in turn by the same network, one per iteration; it must fit any size."""
    recipe: str = "own"
    seed: int = bounded(0, 0, 2**31 - 1)
    iterations: int = bounded(400, 1, 1_000_000_000)
    """Length of the run if minutes is 0; such a run can be reproduced bit for bit on a CPU."""
    minutes: float = bounded(0.0, 0.0, 1e6)
    """Length of the run by the clock, compilation included; schedules then follow the clock. 0: see iterations."""
    games: int = bounded(0, 0, 1_000_000_000)
    """End the run after this many finished games if that comes first; schedules then follow them. 0: no limit."""
    loss_target: float = bounded(0.0, 0.0, 1e6)
    """End the run once the total loss of an iteration is at most this; 0: never."""
    network: NetworkConfig = field(default_factory=tower)
    search: SearchSettings = SearchSettings()
    selfplay: SelfPlaySettings = SelfPlaySettings()
    targets: TargetSettings = TargetSettings()
    replay: ReplaySettings = ReplaySettings()
    learner: LearnerSettings = LearnerSettings()
    supervised: SupervisedSettings = SupervisedSettings()
    gate: GateSettings = GateSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    schedule: Schedule = ()
    """Settings that change with progress: (("search.simulations", ((0.0, 16), (0.5, 32))),).

    `network.filters` and `network.blocks` may rise: the network is widened without changing what it computes.
    """

    def __post_init__(self) -> None:
        check(self, error=TrainingError)
        for section in SECTIONS:
            check(getattr(self, section), section=section, error=TrainingError)
        check_together(self)

    def at(self, progress: float) -> Config:
        """The configuration as scheduled for this progress, from 0 to 1."""
        return self.changed(self.scheduled(progress)) if self.schedule else self

    @property
    def changes(self) -> tuple[float, ...]:
        """The progress values at which the schedule changes something, in order, starting with 0."""
        return tuple(sorted({0.0} | {start for _, steps in self.schedule for start, _ in steps}))

    def scheduled(self, progress: float) -> dict[str, Any]:
        """The values that `schedule` sets at this progress."""
        return {name: [value for start, value in steps if start <= progress][-1] for name, steps in self.schedule}

    def with_network(self, network: NetworkConfig) -> Config:
        """The configuration of a run whose weights are for this network: from now on it has at least this size."""
        schedule = tuple(
            (name, tuple((start, max(value, _size(network, name))) for start, value in steps))
            if name in WIDENED
            else (name, steps)
            for name, steps in self.schedule
        )
        return replace(self, network=network, schedule=schedule)

    @property
    def starting(self) -> Config:
        """The configuration with the network of the start of the run."""
        return self.with_network(self.at(0.0).network)

    @property
    def without_teacher(self) -> Config:
        """The configuration after the teacher's games."""
        return self.changed({"selfplay.teacher": "", "selfplay.teacher_games": 0})

    @property
    def is_supervised(self) -> bool:
        """Whether the run learns solved positions instead of games."""
        return self.supervised.positions != "none"

    @property
    def length(self) -> str:
        """The length of the run in words."""
        length = f"{self.minutes:.4g} minutes" if self.minutes else f"{self.iterations:,} iterations"
        return f"{self.games:,} games, or {length}" if self.games else length

    def changed(self, changes: Mapping[str, Any]) -> Config:
        """A copy with some settings changed, by dotted name."""
        parts: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            section, _, key = name.rpartition(".")
            parts.setdefault(section, {})[key] = value
        whole = parts.pop("", {})
        return replace(self, **whole, **{name: replace(getattr(self, name), **part) for name, part in parts.items()})


def _size(network: NetworkConfig, name: str) -> int:
    """The setting `network.NAME` of a network."""
    size: int = getattr(network, name.rpartition(".")[2])
    return size


SECTIONS: dict[str, type[Any]] = {
    "search": SearchSettings,
    "selfplay": SelfPlaySettings,
    "targets": TargetSettings,
    "replay": ReplaySettings,
    "learner": LearnerSettings,
    "supervised": SupervisedSettings,
    "gate": GateSettings,
    "evaluation": EvaluationSettings,
    "checkpoints": CheckpointSettings,
}
