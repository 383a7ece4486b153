"""Any game as a PettingZoo environment (AEC): one agent per seat.

    env = zoo.env("connect4")
    env.reset(seed=0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"]))

As in PettingZoo's own board games, an observation is {"observation", "action_mask"}, the mask is empty unless the seat
is to move, and an illegal action ends the game with the lowest score for its seat (TerminateIllegalWrapper). Rewards
are the changes of each seat's score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tabia.games.errors import GameError
from tabia.games.exports.gym import within
from tabia.games.game import Game
from tabia.games.registry import make
from tabia.games.session import Session

try:
    from gymnasium import logger, spaces
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ImportError:
    raise GameError("PettingZoo is not installed; install tabia[gym].") from None


def env(game: Game | str, render_mode: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> Any:
    """The game in PettingZoo's usual wrappers: an illegal action loses, and calls in the wrong order are refused."""
    raw = RawEnv(game, render_mode, bounds)
    safe = wrappers.TerminateIllegalWrapper(raw, illegal_reward=raw.game.score_range[0])
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(safe))


class RawEnv(AECEnv):  # type: ignore[misc]
    """One game; an illegal action raises."""

    def __init__(
        self, game: Game | str, render_mode: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        super().__init__()
        self.game = make(game) if isinstance(game, str) else game
        self.metadata: dict[str, Any] = {
            "name": f"{self.game.id}_v{self.game.version}",
            "render_modes": ["ansi", "svg"],
            "is_parallelizable": False,
            "render_fps": 1,
        }
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise GameError(
                f"Unknown render mode {render_mode!r}; expected one of: {', '.join(self.metadata['render_modes'])}."
            )
        self.render_mode = render_mode
        self.possible_agents = [f"seat_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self._planes = spaces.Box(*bounds, shape=self.game.observation_shape, dtype=np.float32)
        self.observation_spaces = {agent: self._space() for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents}
        self._session = Session.start(self.game)
        self._seeds = np.random.default_rng()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new game; the same seed and actions give the same game."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        self._session = Session.start(self.game, seed=int(self._seeds.integers(2**31)))
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._session.mover]

    def step(self, action: int | None) -> None:
        """Play for the mover; once the game is over, each seat leaves with None."""
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action is None:
            raise GameError(f"{self.agent_selection} is to move and needs an action, not None.")
        self._cumulative_rewards[self.agent_selection] = 0.0
        before = self._session.scores
        self._session = self._session.play(int(action))
        gained = self._session.scores - before
        self.rewards = {agent: float(gain) for agent, gain in zip(self.possible_agents, gained, strict=True)}
        self.terminations = dict.fromkeys(self.agents, self._session.over)
        self.agent_selection = self.possible_agents[self._session.mover]
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """The observation of an agent and its legal actions."""
        seat = self.possible_agents.index(agent)
        may_act = agent == self.agent_selection and not self._session.over
        mask = self._session.legal.astype(np.int8) if may_act else np.zeros(self.game.num_actions, np.int8)
        return {"observation": within(self._session.observe(seat), self._planes, self.game), "action_mask": mask}

    def render(self) -> str | None:
        """The position as text (`ansi`) or as an SVG document (`svg`)."""
        if self.render_mode is None:
            logger.warn("render() needs a render_mode: ansi or svg.")
            return None
        return self._session.draw() if self.render_mode == "ansi" else self._session.svg()

    def close(self) -> None:
        """Nothing to release."""

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def _space(self) -> Any:
        mask = spaces.Box(0, 1, shape=(self.game.num_actions,), dtype=np.int8)
        return spaces.Dict({"observation": self._planes, "action_mask": mask})
