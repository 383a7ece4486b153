"""The style of all figures, and how a figure becomes a file; needs matplotlib, the extra `plots`.

Colors are those of Okabe and Ito, which are distinct for every kind of color vision. Curves also differ in markers or
dashes.
"""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tabia.core.text import printable, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GRAY = "#E69F00", "#56B4E9", "#000000", "#777777"
COLORS, MARKERS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GRAY), "osD^vPX*"
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1, 1, 1)))
_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "axes.axisbelow": True,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "tabia",
    "text.parse_math": False,  # a $ in a name does not start a formula
}


def available() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def style() -> AbstractContextManager[None]:
    """Draw in this style within a block."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def label(name: str) -> str:
    """A name for a legend: short, printable, and without a leading underscore, which Matplotlib would hide."""
    text = printable(shorten(name))
    return f" {text}" if text.startswith("_") else text


def content(figure: Figure, format: str = "svg") -> bytes:
    """A figure as the content of a file; the same figure gives the same bytes."""
    file = io.BytesIO()
    figure.savefig(file, format=format, dpi=150, metadata={"Date": None} if format == "svg" else None)
    return file.getvalue()
