"""What is written on every memory that another program made: where it came from."""

from collections.abc import Mapping
from typing import Any, Final

# `metadata.source` of memories that were brought along; retrieval tells their content as it stands.
IMPORT_SOURCE: Final = "import"


def stamp(program: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the metadata with the mark. A `source` that the program gave stays, under another name."""
    given = dict(metadata or {})
    if "source" in given:
        given["originalSource"] = given.pop("source")
    return {**given, "source": IMPORT_SOURCE, "importedFrom": program}
