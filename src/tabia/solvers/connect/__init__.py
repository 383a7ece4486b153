"""The Connect solver: exact scores on boards of up to 63 bits. Importing `solver` needs Numba.

solver.py        `Solver`: scores of batches of positions
bits.py          bitboards
kernel.py        alpha-beta search with a null window
follow_up.py     bounds without search
table.py         transposition tables
book.py          opening books; compute_book.py writes them
positions.py     batches of positions on the host
compiled.py      the interface to Numba
"""
