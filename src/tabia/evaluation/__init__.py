"""Measuring players: matches, tournaments, ratings with intervals, and agreement with perfect play.

- A match: `rounds` (openings and seatings), `batch` (games side by side), `match`, `tournament`.
- Its games: `records` (the text format), `recorder` (the file of a running match).
- Its outcome: `results` (scores), `significance` (intervals, sequential test), `ratings`, `rating_models`.
- People, rated game by game: `glicko`; the formulas of Wandhoven 2022: `wandhoven`.
- Opponents of known strength: `ladder`, `ladder_candidates`.
- Absolute strength: `positions` and `accuracy` (agreement with perfect play), `exhaustive` (every line of moves).
"""

from tabia.evaluation.match import Match as Match
from tabia.evaluation.match import PlayedMatch as PlayedMatch
from tabia.evaluation.match import play as play
from tabia.evaluation.rating_models import RatingError as RatingError
from tabia.evaluation.rating_models import Ratings as Ratings
from tabia.evaluation.ratings import rate as rate
from tabia.evaluation.recorder import Recorder as Recorder
from tabia.evaluation.records import Record as Record
from tabia.evaluation.records import RecordError as RecordError
from tabia.evaluation.records import RecordFile as RecordFile
from tabia.evaluation.results import MatchResult as MatchResult
from tabia.evaluation.results import match_result as match_result
from tabia.evaluation.rounds import MatchError as MatchError
from tabia.evaluation.significance import SequentialTest as SequentialTest
from tabia.evaluation.tournament import Tournament as Tournament
from tabia.evaluation.tournament import play_tournament as play_tournament
