"""Where plots are drawn: matplotlib, which an installed Copse does not bring along, because it is large and seldom needed."""

import importlib.util
import sys
from typing import Any

WITHOUT = f"{sys.executable} has no matplotlib, which draws the plots"
REMEDY = "install it for that Python (on Debian: apt install python3-matplotlib)"


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def pyplot() -> Any:
    """Returns matplotlib.pyplot, which here draws into files and needs no screen. Only if can_draw()."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
