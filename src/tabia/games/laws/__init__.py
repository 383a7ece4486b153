"""The laws every game obeys, and `check`, which tries them on any game: ours or a stranger's.

law.py      what a law is, and what a verdict
paper.py    laws that need the game alone: numbers, shapes, ids
play.py     laws of the rules, judged on random games
reading.py  laws of what people read: move names, drawings, games as text
trials.py   the random games, and what is tried on each of their positions
"""

from __future__ import annotations

from tabia.games.game import Game
from tabia.games.laws import paper, play, reading, trials
from tabia.games.laws.law import Law as Law
from tabia.games.laws.law import Verdict as Verdict
from tabia.games.laws.law import first_line, judge
from tabia.games.laws.law import text as text

ON_PAPER: tuple[Law, ...] = paper.LAWS
IN_PLAY: tuple[Law, ...] = play.LAWS + reading.LAWS
LAWS = ON_PAPER + IN_PLAY


def check(game: Game, *, seed: int = 0, games: int = 64) -> list[Verdict]:
    """Try every law on the game; `games` random games are played, fewer where they may be long.

    >>> from tabia import games
    >>> all(verdict.holds for verdict in check(games.make("tictactoe"), games=4))
    True
    """
    verdicts = [judge(law, game) for law in ON_PAPER]
    try:
        turns = (game.identity,) if paper.turns_are_permutations(game) else game.symmetries
        played = trials.play(game, seed=seed, games=games, symmetries=turns)
    except Exception as error:  # a stranger's rules may raise anything, and the check must still report
        unjudged = f"Not judged, because random games could not be played: {first_line(error)}"
        return verdicts + [Verdict(text(law), False, unjudged) for law in IN_PLAY]
    return verdicts + [judge(law, played) for law in IN_PLAY]
