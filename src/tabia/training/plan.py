"""The plan of a run: its configuration turned into self-play, a learner, and the size of the replay buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from tabia.core.trust import names_code
from tabia.games import make
from tabia.games.game import Game
from tabia.networks import Network
from tabia.networks.widening import Widening
from tabia.players import make as make_player
from tabia.players.simple import GreedyPlayer, InitializePlayer, RandomPlayer
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.learning.learner import Learner
from tabia.training.selfplay.play import SelfPlay


@dataclass(frozen=True)
class Plan:
    """A configuration applied to its game."""

    config: Config

    @cached_property
    def game(self) -> Game:
        return make(self.config.game)

    @cached_property
    def boards(self) -> tuple[Plan, ...]:
        """The plan for each board that the network learns, this one first."""
        return self, *(Plan(replace(self.config, game=other, other_boards=())) for other in self.config.other_boards)

    @cached_property
    def network(self) -> Network:
        return Network.of(self.config.network, self.game)

    @cached_property
    def selfplay(self) -> SelfPlay:
        config = self.config
        return SelfPlay(
            game=self.game,
            network=self.network,
            search=config.search,
            settings=config.selfplay,
            target=config.targets.policy,
            precision=config.learner.precision,
        )

    @cached_property
    def learner(self) -> Learner:
        return Learner(
            game=self.game,
            network=self.network,
            settings=self.config.learner,
            targets=self.config.targets,
            window=self.window,
        )

    @property
    def window(self) -> int:
        """The newest rows of the replay buffer, from which the learner samples."""
        replay, selfplay = self.config.replay, self.config.selfplay
        if replay.iterations:
            return replay.iterations * selfplay.plies
        return max(-(-replay.positions // selfplay.games), selfplay.plies)

    @property
    def reach(self) -> int:
        """How many rows back the end of a game can reach."""
        return self.game.max_moves + self.config.selfplay.plies

    @property
    def rows(self) -> int:
        """Rows of the replay buffer: the widest window or the longest game, rounded up to whole iterations."""
        plies = self.config.selfplay.plies
        return -(-max(*(stage.window for stage in self.stages), self.reach) // plies) * plies

    @cached_property
    def stages(self) -> tuple[Plan, ...]:
        """The plan at the start and after every change of its schedule."""
        return self.stages_from(0.0)

    def stages_from(self, progress: float) -> tuple[Plan, ...]:
        """The plan at this progress and after every later change of its schedule."""
        later = (start for start in self.config.changes if start > progress)
        return tuple(Plan(self.config.at(start)) for start in (progress, *later))

    @property
    def after_teacher(self) -> tuple[Plan, ...]:
        """The stages once more, as they are after the teacher's games; none if its games are not counted."""
        return tuple(Plan(stage.config.without_teacher) for stage in self.stages if stage.config.selfplay.teacher_games)

    @property
    def min_positions(self) -> int:
        """Positions that must be ready before learning starts."""
        return self.config.replay.min_positions or 4 * self.config.learner.batch_size

    @property
    def gate_plies(self) -> int:
        """The moves of a game that the gate samples, opening included; seats are taken to move in turn."""
        seats = self.game.num_players if self.config.selfplay.temperature_by == "seat" else 1
        return self.config.gate.temperature_moves * seats

    def check(self) -> None:
        """Refuse settings that do not fit the game, at any stage of the schedule."""
        names = [board.game.id for board in self.boards]
        if len(set(names)) < len(names):
            raise TrainingError(f"other_boards names a board twice: {', '.join(names)}.")
        for stage in self.stages:
            for board in stage.boards:
                board._check_settings(iterations=self.config.iterations // len(names))
                board._check_same_game(self)
        for before, after in pairwise(self.stages):
            _ = Widening(before.network, after.network)  # refuses a network that cannot be widened exactly

    def _check_same_game(self, first: Plan) -> None:
        """Refuse a board that the weights for the first one do not fit."""
        mine, its = self.game, first.game
        if _kind(mine) != _kind(its):
            raise TrainingError(
                f"other_boards: {mine.id} is not {its.id} on another board, so one network cannot learn both."
            )

    def _check_settings(self, *, iterations: int) -> None:
        """Refuse settings of this stage that do not fit this board and its number of iterations."""
        config, game = self.config, self.game
        if config.selfplay.opening_moves >= game.max_moves:
            raise TrainingError(
                f"selfplay.opening_moves={config.selfplay.opening_moves}: games of {game.id} have at most "
                f"{game.max_moves} moves."
            )
        self._check_gate()
        if config.selfplay.whole_games and config.selfplay.plies < game.max_moves:
            raise TrainingError(
                f"selfplay.whole_games: a game of {game.id} can take {game.max_moves} moves, more than "
                f"selfplay.plies={config.selfplay.plies}. Set selfplay.plies={game.max_moves}."
            )
        if config.selfplay.resign_threshold and game.num_players != 2:
            raise TrainingError(
                f"selfplay.resign_threshold works for two seats only; {game.id} has {game.num_players}. Set it to 0."
            )
        if config.search.winning_moves_first and game.chance:
            raise TrainingError(
                f"search.winning_moves_first does not work for games of chance, such as {game.id}. Set it to false."
            )
        if config.search.cut_loops and config.search.rule == "gumbel" and game.chance:
            raise TrainingError(f"search.cut_loops does not work for games of chance, such as {game.id}.")
        if config.search.proven_values and game.chance:
            raise TrainingError(f"search.proven_values does not work for games of chance, such as {game.id}.")
        if config.search.reuse_tree and game.chance:
            raise TrainingError(f"search.reuse_tree does not work for games of chance, such as {game.id}.")
        if config.selfplay.teacher and not self._can_teach(config.selfplay.teacher):
            raise TrainingError(
                f"selfplay.teacher={config.selfplay.teacher!r}: only random, greedy and initialize can teach."
            )
        if not config.is_supervised:
            self._check_replay(iterations)

    def _check_gate(self) -> None:
        """Refuse openings of the gate that end the game, or that leave no move to sample."""
        gate, longest = self.config.gate, self.game.max_moves
        if gate.opening_moves >= longest:
            raise TrainingError(
                f"gate.opening_moves={gate.opening_moves}: games of {self.game.id} have at most {longest} moves."
            )
        if 0 < self.gate_plies <= gate.opening_moves:
            raise TrainingError(
                f"gate.temperature_moves={gate.temperature_moves} samples no move, because the first "
                f"{gate.opening_moves} moves are random. Lower gate.opening_moves, or raise gate.temperature_moves."
            )

    def _check_replay(self, iterations: int) -> None:
        """Refuse a replay buffer smaller than a batch, or one that does not fill before the run ends."""
        config, capacity = self.config, self.rows * self.config.selfplay.games
        if config.learner.batch_size > capacity:
            raise TrainingError(
                f"learner.batch_size={config.learner.batch_size} is more than the {capacity} positions of the replay "
                "buffer. Lower it, or raise replay.positions."
            )
        if config.learner.sample_positions > self.window * config.selfplay.games:
            raise TrainingError(
                f"learner.sample_positions={config.learner.sample_positions} is more than the "
                f"{self.window * config.selfplay.games} positions that the learner samples from. Lower it, or raise "
                "replay.positions or replay.iterations."
            )
        played = iterations * config.selfplay.plies * config.selfplay.games
        if not config.minutes and self.min_positions > played:
            raise TrainingError(
                f"The run ends before learning begins: {iterations} iterations play {played:,} positions, and learning "
                f"waits for {self.min_positions:,}. Raise iterations, or lower replay.min_positions or "
                "learner.batch_size."
            )

    def _can_teach(self, spec: str) -> bool:
        """Whether a player is one of those whose policy can be compiled into self-play."""
        return not names_code(spec) and isinstance(
            make_player(spec, self.game), RandomPlayer | GreedyPlayer | InitializePlayer
        )


def _kind(game: Game) -> tuple[str, int, int]:
    """What boards must share for one network to play them: the rules, the seats, the planes."""
    return game.name, game.num_players, game.observation_shape[2]
