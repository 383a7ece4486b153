"""The addresses of the server, by subject; each route reads its input, calls one object, and answers."""
