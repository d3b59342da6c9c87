"""The UPC libraries that the papers compare, as what Copse runs for each of them (UPC evaluation 3 and 4.5).

NUMACol is Copse's own choice. The reference implementation is flat, and pushes by puts or pulls by gets. Berkeley's library has
trees and Bruck's exchange. PROP's threads lie as far apart as the machine allows, on cores of their own.
"""

from .errors import CopseError

OWN = "NUMACol"
# The variables of each library. Algorithms have the registry's names.
LIBRARIES: dict[str, dict[str, str]] = {
    OWN: {},
    "REF pull": {
        "COPSE_ALGORITHM": "broadcast=flat:get;scatter=flat:get;gather=flat:get;allgather=flat:get;alltoall=flat:get;permute=direct:get;reduce=flat"
    },
    "REF push": {
        "COPSE_ALGORITHM": "broadcast=flat:put;scatter=flat:put;gather=flat:put;allgather=flat:put;alltoall=pairwise:put;permute=direct:put;reduce=flat"
    },
    "BCOL": {"COPSE_ALGORITHM": "broadcast=knomial;scatter=knomial;gather=knomial;allgather=bruck;alltoall=bruck;permute=direct:get;reduce=knomial"},
    "PROP": {
        "COPSE_ALGORITHM": "broadcast=prop;scatter=prop;gather=prop;allgather=prop;alltoall=prop;permute=direct:get;reduce=prop",
        "COPSE_BIND": "core",
    },
}
WORDS = {title.lower().replace(" ", "-"): title for title in LIBRARIES}  # as a user types them


def variables_of(word: str) -> dict[str, str]:
    """Returns the variables of the library that the user names, as in `ref-pull`."""
    if word not in WORDS:
        raise CopseError(f"--upc-collectives: {word!r} is no library that Copse knows", f"it knows {', '.join(WORDS)}")
    return LIBRARIES[WORDS[word]]
