"""The studies by name: every module of `tabia.studies.catalog` declares one as `STUDY`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.studies import catalog
from tabia.studies.estimates import StudyError
from tabia.studies.study import Study

AnyStudy = Study[Any]
"""A study with whatever sizes its scales have."""


def names() -> list[str]:
    """The names of all studies."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(catalog.__path__))


def load(name: str) -> AnyStudy:
    """A study by its name."""
    known = names()
    if name not in known:
        raise StudyError(f"There is no study {quote(name)}. {did_you_mean(name, known)} List them: tabia study list")
    module = importlib.import_module(f"{catalog.__name__}.{name.replace('-', '_')}")
    found = getattr(module, "STUDY", None)
    if not isinstance(found, Study) or found.name != name:
        raise StudyError(f"The module {module.__name__} declares no STUDY named {name}.")
    return found
