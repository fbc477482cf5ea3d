"""Points and collections of one Qdrant: the only package that touches qdrant_client."""

from qdrant_admin.points.server import READ_SECONDS, WRITE_SECONDS, Server, open_server
from qdrant_admin.points.values import (
    INDEXED_FIELDS,
    KIND,
    NOT_CONFIGURED,
    CollectionFacts,
    Fault,
    PointData,
    PointFilter,
    QdrantError,
    ScoredPoint,
    StaleFilter,
)

__all__ = [
    "INDEXED_FIELDS",
    "KIND",
    "NOT_CONFIGURED",
    "READ_SECONDS",
    "WRITE_SECONDS",
    "CollectionFacts",
    "Fault",
    "PointData",
    "PointFilter",
    "QdrantError",
    "ScoredPoint",
    "Server",
    "StaleFilter",
    "open_server",
]
