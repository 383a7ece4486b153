"""Laws about the rules, checked on the record of random games."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.laws.law import DoesNotApply, Law, Note
from tabia.games.laws.random_games import look
from tabia.games.laws.trials import ASPECTS, Trials


def mover_is_a_seat(played: Trials) -> str | None:
    """The mover is a seat, 0 to P - 1."""
    mover = played.plies.mover
    wrong = (mover < 0) | (mover >= played.game.num_players)
    idle = sorted(set(range(played.game.num_players)) - set(np.unique(mover[played.before_end]).tolist()))
    return played.first(
        wrong & played.reached, lambda at: f"The mover is {mover[at]} of {played.game.num_players} seats"
    ) or (Note(f"Seat {idle[0] + 1} never moves in {mover.shape[1]} random games.") if idle else None)


def a_new_game_is_not_over(played: Trials) -> str | None:
    """A new game is not over."""
    first = np.arange(len(played.plies.over)) == 0
    return played.first(played.plies.over & first[:, None], lambda at: "over is True before the first move")


def moves_exist_until_the_end(played: Trials) -> str | None:
    """There are legal moves exactly until the game is over."""
    over, choices = played.plies.over, played.plies.choices
    wrong = (choices > 0) == over
    return played.first(wrong & played.reached, lambda at: f"over is {over[at]} with {choices[at]} legal actions")


def ends_in_time(played: Trials) -> str | None:
    """Every game ends within max_moves."""
    plies, running = len(played.plies.over) - 1, ~played.plies.over.any(axis=0)
    if running.any() and plies < played.game.max_moves:
        raise DoesNotApply(f"Games still ran after {plies} of {played.game.max_moves} moves and were stopped there.")
    return (
        f"max_moves is {plies}, but the game is not over {played.place(plies, int(running.argmax()))}."
        if running.any()
        else None
    )


def legal_moves_change_something(played: Trials) -> str | None:
    """A legal action changes the state."""
    wrong = played.plies.unchanged & (played.plies.choices > 0) & played.before_end
    return played.first(wrong, lambda at: f"Legal action {played.plies.action[at]} changed nothing")


def illegal_moves_change_nothing(played: Trials) -> str | None:
    """An illegal action changes nothing."""
    wrong = played.plies.illegal_changed & played.before_end
    return played.first(wrong, lambda at: f"Illegal action {played.plies.tried[at]} changed the state")


def nothing_follows_the_end(played: Trials) -> str | None:
    """An action after the end changes nothing."""
    wrong = (played.plies.illegal_changed | ~played.plies.unchanged) & ~played.before_end
    return played.first(wrong, lambda at: f"The game is over, yet action {played.plies.tried[at]} changed the state")


def scores_wait(played: Trials) -> str | None:
    """Before the end a seat's score is 0, or already what it ends with."""
    scores, last = played.plies.scores, np.minimum(played.lengths, len(played.plies.over) - 1)
    final = scores[last, np.arange(len(last))]  # [G, P]
    wrong = (scores != 0) & (scores != final[None]) & played.before_end[:, :, None]
    return played.first(wrong.any(axis=-1), lambda at: f"The scores are {scores[at]} but end as {final[at[1]]}")


def scores_stay_in_range(played: Trials) -> str | None:
    """Scores are finite and lie in score_range."""
    scores, (low, high) = played.plies.scores, played.game.score_range
    right = (scores >= low) & (scores <= high)  # false for NaN
    return played.first(
        ~right.all(axis=-1) & played.reached, lambda at: f"The scores are {scores[at]}, not all {low} to {high}"
    )


def same_moves_same_game(played: Trials) -> str | None:
    """The same start and the same actions, with the same keys, give the same states."""
    if played.starts_differ[0]:
        return "init gave two different states for one key."
    wrong = played.plies.repeat_differs & played.before_end
    return played.first(wrong, lambda at: f"Action {played.plies.action[at]} played twice led to two different states")


def chance_is_declared(played: Trials) -> str | None:
    """A game that does not declare chance ignores its keys."""
    if played.game.chance:
        raise DoesNotApply("The game declares chance.")
    if played.starts_differ[1]:
        return "init depends on its key, though chance is False."
    wrong = played.plies.key_differs & played.before_end
    return played.first(
        wrong, lambda at: f"What action {played.plies.action[at]} does depends on the key, though chance is False"
    )


def alone_as_in_a_batch(played: Trials) -> str | None:
    """One state alone, not compiled, gives the same answers and the same next state as in a compiled batch."""
    for ply, g, state in played.states(3):
        kept, action = played.kept[ply], jnp.int32(played.plies.action[ply, g])
        alone = look(played.game, state)._asdict()
        key = (kept.key[g],) if played.game.chance else ()  # without chance a step needs no key
        alone["the state after the move"] = played.game.step(state, action, *key)
        batched = {**kept.look._asdict(), "the state after the move": kept.following}
        for name, answer in alone.items():
            expected = jax.tree.map(lambda leaf, g=g: _on_host(leaf)[g], batched[name])
            if not jax.tree.all(jax.tree.map(_agree, jax.tree.map(_on_host, answer), expected)):
                return f"{name} alone is {answer}, compiled in a batch {expected}, {played.place(ply, g)}."
    return None


def observations_are_numbers(played: Trials) -> str | None:
    """Observations are finite for every seat."""
    return played.first(~played.plies.observation_finite & played.reached, lambda at: "An observation is not finite")


def mover_observes_by_default(played: Trials) -> str | None:
    """Without a seat, `observe` shows what the mover sees."""
    wrong = played.plies.seat_differs & played.reached
    return played.first(
        wrong, lambda at: f"observe(state) is not observe(state, {played.plies.mover[at]}), the mover's view"
    )


def heuristic_is_in_range(played: Trials) -> str | None:
    """A heuristic is finite and lies in -1 to 1."""
    if not played.game.has_heuristic:
        raise DoesNotApply("The game has no heuristic.")
    values = played.plies.heuristic
    wrong = ~(np.abs(values) <= 1).all(axis=-1)  # true for NaN
    return played.first(wrong & played.reached, lambda at: f"The heuristic is {values[at]}, not all within -1 to 1")


def symmetric_games_agree(played: Trials) -> str | None:
    """A game played under a symmetry shows the transformed board and moves, and the same mover, end and scores."""
    differs = played.plies.turned_differs  # [T, G, S, 5]

    def describe(at: tuple[int, int]) -> str:
        number = int(differs[at].any(axis=-1).argmax())
        aspects = ", ".join(name for name, wrong in zip(ASPECTS, differs[at][number], strict=True) if wrong)
        return f"The game under symmetries[{number}] is a different game; they differ in {aspects}"

    return played.first(differs.any(axis=(-1, -2)) & played.reached, describe)


def equal_words_mean_one_future(played: Trials) -> str | None:
    """Equal `position` words mean equal mover, legal moves, end and scores, and equal words after equal actions."""
    seen: dict[bytes, tuple[bytes, tuple[int, int]]] = {}
    following = played.plies.position[1:]
    for ply, g in zip(*np.nonzero(played.reached), strict=True):
        words = played.plies.position[ply, g].tobytes()
        facts = {words: played.plies.face[ply, g].tobytes()}
        if played.before_end[ply, g] and ply < len(following) and not played.game.chance:
            facts[words + int(played.plies.action[ply, g]).to_bytes(4, "big")] = following[ply, g].tobytes()
        for question, answer in facts.items():
            earlier, place = seen.setdefault(question, (answer, (ply, g)))
            if earlier != answer:
                how = "answer differently" if question == words else "differ after the same action"
                return f"Equal words, but the states {how}: {played.place(*place)}, and {played.place(ply, g)}."
    return None


LAWS: tuple[Law, ...] = (
    mover_is_a_seat,
    a_new_game_is_not_over,
    moves_exist_until_the_end,
    ends_in_time,
    legal_moves_change_something,
    illegal_moves_change_nothing,
    nothing_follows_the_end,
    scores_wait,
    scores_stay_in_range,
    same_moves_same_game,
    chance_is_declared,
    alone_as_in_a_batch,
    observations_are_numbers,
    mover_observes_by_default,
    heuristic_is_in_range,
    symmetric_games_agree,
    equal_words_mean_one_future,
)


def _on_host(leaf: jax.Array) -> np.ndarray:
    """The numbers of a leaf in the host's memory, where comparing them compiles nothing."""
    is_key = jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    if jnp.issubdtype(one.dtype, jnp.inexact):
        return one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
    return one.shape == other.shape and one.dtype == other.dtype and bool((one == other).all())
