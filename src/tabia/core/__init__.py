"""The bottom layer: errors, safe text, durable files, locks and the compilation cache; knows nothing about games."""
