"""Training on many machines with Ray: self-play actors anywhere in a cluster, one learner, one run directory.

`connection` reaches a cluster or starts one on this machine. Ray is imported there and nowhere else, so that everything
else works without it.
"""
