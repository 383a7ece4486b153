"""Any game as a Gymnasium environment in which the caller plays all seats.

    env = gymnasium.make("tabia/Game-v0", game="connect4", render_mode="ansi")    # after importing this module
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.unwrapped.legal_actions()[0])

The observation is the mover's. The reward is the change in the score of the seat that moved; `info["scores"]` has all
scores. An illegal action loses: the game ends, and the reward takes that seat's score to the lowest possible.
`action_masks` helps a learner to avoid it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tabia.games.errors import GameError
from tabia.games.game import Game
from tabia.games.registry import make
from tabia.games.session import Session

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise GameError("Gymnasium is not installed; install tabia[gym].") from None

ID = "tabia/Game-v0"


class GameEnv(gymnasium.Env):  # type: ignore[misc]
    """One game, all seats played by the caller; `bounds` are the lowest and highest value of an observation."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "svg"], "render_fps": 1}  # noqa: RUF012  (Gymnasium reads it from the class)

    def __init__(
        self, game: Game | str, render_mode: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        self.game = make(game) if isinstance(game, str) else game
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise GameError(
                f"Unknown render mode {render_mode!r}; expected one of: {', '.join(self.metadata['render_modes'])}."
            )
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = spaces.Box(*bounds, shape=self.game.observation_shape, dtype=np.float32)
        self._session = Session.start(self.game)
        self._forfeited = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game; the same seed and actions give the same game."""
        super().reset(seed=seed)
        self._session = Session.start(self.game, seed=int(self.np_random.integers(2**31)))
        self._forfeited = False
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play for the seat to move."""
        if self._ended():
            raise GameError("The game is over; call reset() before the next step().")
        if not self.action_space.contains(action):
            raise GameError(
                f"Action {action!r} is out of range for {self.game.id}: expected 0 to {self.game.num_actions - 1}."
            )
        seat = self.to_play()
        before = float(self._session.scores[seat])
        if self._session.legal[action]:
            self._session = self._session.play(int(action))
            after = float(self._session.scores[seat])
        else:
            self._forfeited, after = True, self.game.score_range[0]
        return self._observation(), after - before, self._ended(), False, self._info()

    def render(self) -> str | None:
        """The position as text (`ansi`) or as an SVG document (`svg`)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: ansi or svg.")
            return None
        return self._session.draw() if self.render_mode == "ansi" else self._session.svg()

    def legal_actions(self) -> list[int]:
        """The mover's legal actions."""
        return [] if self._ended() else [int(action) for action in np.flatnonzero(self._session.legal)]

    def action_masks(self) -> np.ndarray:
        """bool[A]: the legal actions as a mask, under the name that maskable learners expect."""
        return self._session.legal & (not self._ended())

    def winner(self) -> int | None:
        """The winning seat once the game is over; None before, after a draw, and after a forfeit."""
        return None if self._forfeited else self._session.winner

    def to_play(self) -> int:
        """The seat to move."""
        return self._session.mover

    def _ended(self) -> bool:
        return self._forfeited or self._session.over

    def _observation(self) -> np.ndarray:
        return within(self._session.observe(self.to_play()), self.observation_space, self.game)

    def _info(self) -> dict[str, Any]:
        return {"to_play": self.to_play(), "action_mask": self.action_masks(), "scores": self._session.scores.copy()}


def within(observation: np.ndarray, space: Any, game: Game) -> np.ndarray:
    """The observation, checked to lie within the space."""
    if observation not in space:
        found, expected = (
            (float(observation.min()), float(observation.max())),
            (float(space.low.min()), float(space.high.max())),
        )
        raise GameError(
            f"{game.id} has observations from {found[0]} to {found[1]}; expected {expected}: pass other bounds."
        )
    return observation


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point=GameEnv)
