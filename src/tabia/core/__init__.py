"""What every package needs once, without knowing about games.

errors          the base class of all errors, and suggestions for misspelled words
files, locks    durable files, safe reading of files from outside, locks between processes
text, parsing   text and data from outside, made safe to print or checked
settings        dataclasses whose fields declare what they accept
trust           data files must not choose Python code to run
runtime         JAX's settings; compile_cache keeps its compiled programs
devices, lanes  several devices that share the games of a batch
groups          groups of those games that CPU cores compute at the same time
batching        batches of games, padded to a few sizes
elo             the Elo curve
plotting        the style of all figures
"""

from tabia.core.errors import TabiaError as TabiaError
from tabia.core.errors import TabiaWarning as TabiaWarning
from tabia.core.errors import did_you_mean as did_you_mean
from tabia.core.errors import nearest as nearest
from tabia.core.locks import FileLock as FileLock
