"""Learning: batches from replay samples, the terms of the loss, the optimizer, and compiled training steps.

batch       samples as the network sees them, in a random symmetry
epochs      one sample visited several times in mini-batches
losses      the terms of the loss
optimizer   the optimizer and the learning rate schedule
learner     calls of training steps, by the settings and the device
steps       compiled training steps and the train state
packing     parameters as a loop on a GPU carries them
widening    the train state of a network that is widened
"""

from tabia.training.learning.batch import Batch as Batch
from tabia.training.learning.batch import make_batch as make_batch
from tabia.training.learning.learner import Learner as Learner
from tabia.training.learning.losses import Losses as Losses
from tabia.training.learning.optimizer import learning_rate_at as learning_rate_at
from tabia.training.learning.steps import TrainState as TrainState
