"""From a configuration to the parts that run: self-play, learner, and the rows of the replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tabia.core.trust import names_code
from tabia.games import make
from tabia.games.game import Game
from tabia.networks import Network
from tabia.players import make as make_player
from tabia.players.simple import GreedyPlayer, InitializePlayer, RandomPlayer
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.learning.learner import Learner
from tabia.training.selfplay.play import SelfPlay


@dataclass(frozen=True)
class Plan:
    """What a configuration means for its game."""

    config: Config

    @cached_property
    def game(self) -> Game:
        return make(self.config.game)

    @cached_property
    def boards(self) -> tuple[Plan, ...]:
        """The plan for each board the network learns, this one first."""
        return self, *(Plan(replace(self.config, game=other, other_boards=())) for other in self.config.other_boards)

    @cached_property
    def network(self) -> Network:
        game = self.game
        return Network(self.config.network, game.observation_shape, game.num_actions, game.num_players)

    @cached_property
    def selfplay(self) -> SelfPlay:
        config = self.config
        return SelfPlay(
            self.game, self.network, config.search, config.selfplay, config.targets.policy, config.learner.precision
        )

    @cached_property
    def learner(self) -> Learner:
        return Learner(self.game, self.network, self.config.learner, self.config.targets, self.window)

    @property
    def window(self) -> int:
        """Rows of the replay the learner draws from."""
        replay, selfplay = self.config.replay, self.config.selfplay
        if replay.iterations:
            return replay.iterations * selfplay.plies
        return max(-(-replay.positions // selfplay.games), selfplay.plies)

    @property
    def reach(self) -> int:
        """Rows back to which the end of a game can matter."""
        return self.game.max_moves + self.config.selfplay.plies

    @property
    def rows(self) -> int:
        """Rows of the ring: the widest window, but at least the longest game, so that none is lost; whole chunks."""
        plies = self.config.selfplay.plies
        return -(-max(*(stage.window for stage in self.stages), self.reach) // plies) * plies

    @cached_property
    def stages(self) -> tuple[Plan, ...]:
        """The plan as it is from the start on and from every change its schedule makes."""
        return self.stages_from(0.0)

    def stages_from(self, progress: float) -> tuple[Plan, ...]:
        """The plan as it stands at a share of the run and as every later change of the schedule makes it."""
        later = (start for start in self.config.changes if start > progress)
        return tuple(Plan(self.config.at(start)) for start in (progress, *later))

    @property
    def start(self) -> int:
        """Positions to wait for before learning."""
        return self.config.replay.min_positions or 4 * self.config.learner.batch_size

    def check(self) -> None:
        """Refuse what the game cannot do, now or later in the schedule."""
        names = [board.game.id for board in self.boards]
        if len(set(names)) < len(names):
            raise TrainingError(f"other_boards names a board twice: {', '.join(names)}.")
        for stage in self.stages:
            for board in stage.boards:
                board.check_now(iterations=self.config.iterations // len(names))
                board.check_like(self)

    def _can_teach(self, spec: str) -> bool:
        return not names_code(spec) and isinstance(
            make_player(spec, self.game), RandomPlayer | GreedyPlayer | InitializePlayer
        )

    def check_like(self, first: Plan) -> None:
        """Refuse a board that the first one's weights do not fit."""
        mine, its = self.game, first.game
        same = (mine.name, mine.num_players, mine.observation_shape[2]) == (
            its.name,
            its.num_players,
            its.observation_shape[2],
        )
        if not same:
            raise TrainingError(f"other_boards: {mine.id} is not {its.id} on another board, so no network fits both.")

    def check_now(self, *, iterations: int) -> None:
        """The same for the settings as they stand, and the iterations this board has."""
        config, game = self.config, self.game
        if config.selfplay.opening_moves >= game.max_moves:
            raise TrainingError(
                f"selfplay.opening_moves={config.selfplay.opening_moves}: games of {game.id} have at most "
                f"{game.max_moves} moves."
            )
        if config.selfplay.resign_threshold and game.num_players != 2:
            raise TrainingError(f"selfplay.resign_threshold is for two seats; {game.id} has {game.num_players}.")
        if config.search.winning_moves_first and game.chance:
            raise TrainingError(
                "search.winning_moves_first does not go with games of chance: what a move brings is not known."
            )
        if config.search.cut_loops and config.search.rule == "gumbel" and game.chance:
            raise TrainingError("search.cut_loops does not go with games of chance.")
        if config.selfplay.teacher and not self._can_teach(config.selfplay.teacher):
            raise TrainingError(
                f"selfplay.teacher={config.selfplay.teacher!r}: random, greedy and initialize can teach."
            )
        held = self.rows * config.selfplay.games
        if config.learner.batch_size > held:
            raise TrainingError(
                f"learner.batch_size={config.learner.batch_size} is more than the replay's {held} positions."
            )
        fill = self.start / config.selfplay.games
        if not config.minutes and fill > iterations * config.selfplay.plies:
            raise TrainingError(
                f"The run ends before learning begins: {iterations} iterations play "
                f"{iterations * config.selfplay.plies * config.selfplay.games:,} positions, and learning waits for "
                f"{self.start:,}. Raise iterations, or lower replay.min_positions or learner.batch_size."
            )
