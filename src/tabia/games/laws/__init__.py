"""The laws every game obeys, and `check`, which tests any game against them.

law           what a law and a verdict are
declaration   laws about the game alone: numbers, shapes, ids
rules         laws about the rules, checked on random games
notation      laws about move names, games as text and drawings
trials        the record of the random games
random_games  plays them and tries things out in each position
"""

from __future__ import annotations

from tabia.games.game import Game
from tabia.games.laws import declaration, notation, random_games, rules
from tabia.games.laws.law import Law as Law
from tabia.games.laws.law import Verdict as Verdict
from tabia.games.laws.law import check_law, first_line
from tabia.games.laws.law import text as text

ABOUT_GAMES: tuple[Law, ...] = declaration.LAWS
ABOUT_PLAY: tuple[Law, ...] = rules.LAWS + notation.LAWS
LAWS = ABOUT_GAMES + ABOUT_PLAY


def check(game: Game, *, seed: int = 0, games: int = 64) -> list[Verdict]:
    """Check every law on `games` random games, fewer if games may be long.

    >>> from tabia import games
    >>> all(verdict.holds for verdict in check(games.make("tictactoe"), games=4))
    True
    """
    verdicts = [check_law(law, game) for law in ABOUT_GAMES]
    try:
        symmetries = (game.identity,) if declaration.symmetries_are_permutations(game) else game.symmetries
        played = random_games.play(game, seed=seed, games=games, symmetries=symmetries)
    except Exception as error:  # a user's rules may raise anything, and the check must still report
        unchecked = f"Not checked, because random games could not be played: {first_line(error)}"
        return verdicts + [Verdict(text(law), False, unchecked) for law in ABOUT_PLAY]
    return verdicts + [check_law(law, played) for law in ABOUT_PLAY]
