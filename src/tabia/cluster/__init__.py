"""Training on many machines with Ray: self-play actors anywhere in a cluster, one learner, one run directory.

`connection` reaches a cluster or starts one on this machine. Ray is imported there and nowhere else, so that everything
else works without it. `loop` is the way in for training. Below it, `rounds` splits self-play into tasks, `pool` hands
them to actors, `placement` chooses nodes, `launcher` starts actors on Ray, `actors` plays, `chunks` packs.
"""
