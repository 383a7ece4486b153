"""Measuring players: matches, tournaments, ratings with intervals, early stopping, agreement with perfect play."""

from tabia.evaluation.match import Match as Match
from tabia.evaluation.match import play as play
from tabia.evaluation.ratings import Ratings as Ratings
from tabia.evaluation.records import Record as Record
from tabia.evaluation.seating import MatchError as MatchError
from tabia.evaluation.sequential import SequentialTest as SequentialTest
from tabia.evaluation.standings import rate as rate
from tabia.evaluation.tally import Tally as Tally
from tabia.evaluation.tally import tally as tally
from tabia.evaluation.tournament import Tournament as Tournament
from tabia.evaluation.tournament import play_tournament as play_tournament
