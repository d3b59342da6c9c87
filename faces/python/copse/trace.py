"""Reads what COPSE_TRACE=1 prints at the end of an MPI program."""

import re
from collections import Counter

SERVED = re.compile(r"^copse: (\w+) +served +\w+ +(\d+) ", re.MULTILINE)


def served_calls(trace: str) -> Counter[str]:
    """Returns how many calls of each collective helpers have made, as the sum over all ranks."""
    counts: Counter[str] = Counter()
    for collective, calls in SERVED.findall(trace):
        counts[collective] += int(calls)
    return counts
