"""The report of a run: report.md and its figures, made from nothing but the run directory.

`report` writes the pages, `figures` draws, `strength` and `ratings` say how strong the run is, and `series` turns
metrics into curves and tables.
"""
