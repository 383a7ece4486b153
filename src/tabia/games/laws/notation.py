"""Laws about what people read: move names, games as text, drawings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from tabia.games.laws.law import Law
from tabia.games.laws.trials import Trials
from tabia.games.session import Session

_NAMES = 200_000  # names a check may ask for where every action's name is compared with every other's


def move_names_come_back(played: Trials) -> str | None:
    """In every position legal moves have different names, and each name is read back as its action."""
    for ply, g, state in played.states(12):
        legal = [int(action) for action in np.flatnonzero(np.asarray(played.game.legal(state)))]
        names = [played.game.move_name(action, state) for action in legal]
        fault = _clash(names, legal) or next(
            (
                f"{name!r} names action {action} and is read as {read}"
                for name, action in zip(names[:40], legal[:40], strict=True)
                if (read := played.game.parse_move(name, state)) != action
            ),
            None,
        )
        if fault:
            return f"{fault}, {played.place(ply, g)}."
    return None


def names_need_no_position(played: Trials) -> str | None:
    """Without a position all actions have different names, and each name is read back as its action."""
    game = played.game
    actions = list(range(game.num_actions))
    fault = _clash([game.move_name(action) for action in actions], actions)
    if fault:
        return f"{fault}."
    asked = np.unique(np.linspace(0, game.num_actions - 1, max(8, _NAMES // game.num_actions)).astype(int))
    for action in map(int, asked):
        read = game.parse_move(game.move_name(action))
        if read != action:
            return f"{game.move_name(action)!r} names action {action} and is read as {read}."
    return None


def names_are_single_words(played: Trials) -> str | None:
    """A move name is one word: not empty, without spaces or commas."""
    named = [(played.game.move_name(action), "without a position") for action in range(played.game.num_actions)]
    for ply, g, state in played.states(12):
        legal = np.flatnonzero(np.asarray(played.game.legal(state)))
        named += [(played.game.move_name(int(action), state), played.place(ply, g)) for action in legal]
    return next(
        (f"{name!r} is not one word, {place}." for name, place in named if not re.fullmatch(r"[^\s,]+", name)), None
    )


def games_come_back_from_text(played: Trials) -> str | None:
    """A game written as text is read back as the same actions."""
    for g in range(min(4, len(played.lengths))):
        can_move = played.plies.choices[:60, g] > 0
        count = len(can_move) if can_move.all() else int(can_move.argmin())
        actions = [int(action) for action in played.plies.action[:count, g]]
        session = Session.replay(played.game, actions, seed=played.seed + g)
        written = " ".join(map(played.game.move_name, session.actions, session.states))
        read = list(Session.from_moves(played.game, written, seed=played.seed + g).actions)
        if read != actions:
            return f"{actions} was written {written!r} and read back as {read}."
    return None


def drawings_are_text(played: Trials) -> str | None:
    """A drawing is text, and not empty."""
    for ply, g, state in played.states(6):
        drawn = played.game.draw(state)
        if not isinstance(drawn, str) or not drawn.strip():
            return f"draw gives {drawn!r}, {played.place(ply, g)}."
    return None


def pictures_are_svg(played: Trials) -> str | None:
    """A picture is an SVG document."""
    for ply, g, state in played.states(6):
        picture = played.game.svg(state)
        try:
            root = ElementTree.fromstring(picture)
        except ElementTree.ParseError as error:
            return f"svg is not XML ({error}), {played.place(ply, g)}: {picture[:60]!r}"
        if root.tag.rpartition("}")[2] != "svg":
            return f"The root of svg is <{root.tag}>, {played.place(ply, g)}; expected <svg>."
    return None


LAWS: tuple[Law, ...] = (
    move_names_come_back,
    names_need_no_position,
    names_are_single_words,
    games_come_back_from_text,
    drawings_are_text,
    pictures_are_svg,
)


def _clash(names: list[str], actions: list[int]) -> str | None:
    """Two actions with the same name, ignoring case, as people type."""
    first: dict[str, int] = {}
    for name, action in zip(names, actions, strict=True):
        if first.setdefault(name.lower(), action) != action:
            return f"Actions {first[name.lower()]} and {action} are both called {name!r}"
    return None
