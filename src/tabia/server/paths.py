"""Where this system keeps a user's data; needs nothing but Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_directory() -> Path:
    """Where this system keeps a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Tabia"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "Tabia"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "tabia"


def server_directory() -> Path:
    """Where `tabia serve` keeps its data, apart from that of `tabia play`."""
    return data_directory() / "server"
