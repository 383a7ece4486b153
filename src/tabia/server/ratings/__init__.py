"""Ratings of people: how a game changes them (`scoring`), who plays whom (`matching`), the table (`leaderboard`).

These three are pure. `book` writes ratings in the transaction of the move that ended a game; `recount` folds over all
finished games and must arrive at the same rows.
"""
