"""Play tic-tac-toe against an exported network, without Tabia: python onnx_player.py tictactoe.onnx."""

import json
import sys

import numpy as np
import onnxruntime

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

session = onnxruntime.InferenceSession(sys.argv[1])
moves = json.loads(session.get_modelmeta().custom_metadata_map["moves"])  # from a3, the top left, to c1
cells = np.zeros((9, 2), np.float32)  # the mover's marks, then the other's
for ply in range(9):
    free = [action for action in range(9) if not cells[action].any()]
    if ply % 2:
        logits, values = session.run(["logits", "values"], {"observation": cells.reshape(1, 3, 3, 2)})
        action = max(free, key=lambda action: logits[0, action])
        print(f"The network plays {moves[action]} and expects {values[0, 0]:+.2f}.")
    else:
        names = [moves[action] for action in free]
        while (move := input(f"Your move ({' '.join(names)}): ").strip()) not in names:
            print(f"{move!r} is not one of them.")
        action = moves.index(move)
    cells[action, 0] = 1
    if any(cells[list(line), 0].all() for line in LINES):
        sys.exit("The network wins." if ply % 2 else "You win.")
    cells = cells[:, ::-1].copy()  # the other seat moves
print("Draw.")
