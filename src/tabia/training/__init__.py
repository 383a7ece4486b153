"""Training: a network learns a game by playing against itself.

`loop.train` is the algorithm: play, store, learn, gate, save. `config` has the settings and recipes, `selfplay` the
games and the replay buffer, `learning` the optimizer and the losses, `run` the run directory, and `report` its report.
"""

from tabia.training.config import recipes as recipes
from tabia.training.config.schema import Config as Config
from tabia.training.errors import TrainingError as TrainingError
from tabia.training.loop import default_observers as default_observers
from tabia.training.loop import train as train
from tabia.training.observers import BaseObserver as BaseObserver
from tabia.training.observers import Observer as Observer
from tabia.training.run import metrics as metrics
from tabia.training.training import Training as Training
