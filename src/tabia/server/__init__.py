"""The page's server: games against agents, review, training runs. HTTP and WebSocket are a thin edge.

live                 one game with people and agents: event in, new game out
worker, asking       one thread that searches, waiting positions of one agent in one batch
store, migrations    games on disk (SQLite); an acknowledged move is kept
hub                  joins the three and sends every change to the screens
catalog, agents      the games and agents that the operator allows; lines: moves from clients
review, explain      a whole game analyzed; one position three ways; hints; exact: what a solver knows
runs, curves         training runs as the page shows them; trainings: started and stopped as processes
importing            records in and out
app, routes, models  the web application; security: Host, Origin, sizes, headers; context: its parts
launch, doctor       `tabia play` and `tabia doctor`; paths: the data directory
"""
