"""A UCI engine for tests that misbehaves in the way that its argument names."""

import sys
import time

ANSWERS = {"illegal": "bestmove a1a5", "none": "bestmove (none)", "good": "bestmove a2a3", "levels": "bestmove a2a3"}


def main(mode: str = "good") -> None:
    for line in sys.stdin:
        command = line.split()[0]
        if command == "uci":
            print("id name Fake 1.0")
            if mode != "no-variants":
                print("option name UCI_Variant type combo default chess var chess var gardner")
            if mode == "levels":
                print("option name Skill Level type spin default 20 min -20 max 20")
            print("uciok", flush=True)
        elif command == "isready":
            print("readyok", flush=True)
        elif command == "go":
            if mode == "hang":
                time.sleep(600)
            print("info depth 1 score cp 13", flush=True)
            print(ANSWERS[mode], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
