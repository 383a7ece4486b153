"""The page's server: games against agents, review, live runs; HTTP and WebSocket are a thin edge.

live      one game with people and agents: event in, new state and replies out
worker    one thread that searches, waiting positions of one agent in one batch
store     games on disk (SQLite); an acknowledged move is kept
hub       joins the three and sends every change to the screens
catalog   the games and agents the operator allows
review    whole games analyzed; explain: one position three ways
runs      training runs: read, watched, started and stopped as processes
app       create_app: routes, checks of Host and Origin, headers
launch    `tabia play`: one process on 127.0.0.1
"""
