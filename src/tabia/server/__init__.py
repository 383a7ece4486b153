"""The page's server: games against agents, review, training runs. HTTP and WebSocket are a thin edge.

play           one game as a state machine (live, clocks); the hub keeps games and sends every change to the screens
analysis       the search thread, which answers waiting positions of one agent in one batch; reviews, explanations
database       SQLite or PostgreSQL: an acknowledged move is kept; accounts, ratings: people and how well they play
catalog        the games and agents that the operator allows
learn          training runs as the page shows them, started and stopped as processes
web            the application: routes, models, security (Host, Origin, sizes, headers), context (its parts)
page           what the browser runs
launch, serve  `tabia play` and `tabia serve`; doctor: `tabia doctor`; paths: the data directory
"""
