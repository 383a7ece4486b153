"""Self-play and the replay buffer.

`play` plays many games at once on the device, `openings` decides where they start, `replay` stores their positions.
"""
