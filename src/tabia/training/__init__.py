"""Training: self-play, replay, learner, gate, checkpoints, and the loop that ties them together."""

from tabia.training.config.schema import Config as Config
from tabia.training.errors import TrainingError as TrainingError
from tabia.training.loop import Training as Training
from tabia.training.loop import train as train
from tabia.training.observers import default_observers as default_observers
