"""Studies: published experiments, repeated with one command beside the published values.

- A study: `study` (the declaration), `catalog` (one module per study), `registry` (by name).
- Its parts: `part` (the interface), `matches`, `trainings`; `parts` has those of particular studies.
- Running them: `runner` here, `remote` on a cluster; `directory` stores them, `clock` counts their time, `packing`
  brings them to another machine.
- Its results: `estimates` (values with intervals), `verdicts`, `results` (what is stored, by seed); `plots` and
  `figures`, `report`, `publication`.
"""

from tabia.studies.directory import StudyDirectory as StudyDirectory
from tabia.studies.estimates import Estimate as Estimate
from tabia.studies.estimates import StudyError as StudyError
from tabia.studies.registry import load as load
from tabia.studies.registry import names as names
from tabia.studies.runner import run as run
from tabia.studies.study import Study as Study
