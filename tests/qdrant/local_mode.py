"""Qdrant's calls in qdrant-client's local mode, with the refusals that a server would give."""

from typing import Any

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models


def dump(result: Any) -> Any:
    return TypeAdapter(Any).dump_python(result, mode="json")


def change_aliases(client: QdrantClient, name: str, body: Any) -> Any:
    actions = models.ChangeAliasesOperation(**body).actions
    taken = {item.name for item in client.get_collections().collections}
    for action in actions:
        created = getattr(action, "create_alias", None)
        if created is not None and created.alias_name in taken:
            raise ValueError(f"collection {created.alias_name} already exists")
    return client.update_collection_aliases(actions)


def create_collection(client: QdrantClient, name: str, body: Any) -> Any:
    config = models.CreateCollection(**body)
    return client.create_collection(name, vectors_config=config.vectors, quantization_config=config.quantization_config)


def upsert_points(client: QdrantClient, name: str, body: Any) -> Any:
    points = models.PointsList(**body).points
    vectors = client.get_collection(name).config.params.vectors
    for point in points:
        pairs = point.vector.items() if isinstance(point.vector, dict) else [("", point.vector)]
        for vector_name, vector in pairs:
            if isinstance(vectors, dict) != bool(vector_name) or (vector_name and vector_name not in vectors):
                raise ValueError(f"Wrong input: vector name {vector_name!r}")
            width = (vectors[vector_name] if vector_name else vectors).size
            if len(vector) != width:
                raise ValueError(f"Wrong input: Vector dimension error: expected dim: {width}, got {len(vector)}")
    return client.upsert(name, points)


def change_points(client: QdrantClient, name: str, body: Any) -> Any:
    steps = models.UpdateOperations(**body).operations
    known = {str(row.id) for row in client.scroll(name, limit=10_000, with_payload=False)[0]}
    for step in steps:
        changed = getattr(step, "overwrite_payload", None)
        if changed is not None and not set(map(str, changed.points)) <= known:
            raise ValueError("No point with id found")
    return client.batch_update_points(name, steps)


def delete_points(client: QdrantClient, name: str, body: Any) -> Any:
    kind = models.PointIdsList if "points" in body else models.FilterSelector
    return client.delete(name, kind(**body))


def count_points(client: QdrantClient, name: str, body: Any) -> Any:
    return client.count(name, count_filter=models.CountRequest(**body).filter, exact=True)


def scroll_points(client: QdrantClient, name: str, body: Any) -> Any:
    asked = models.ScrollRequest(**body)
    rows, following = client.scroll(
        name, scroll_filter=asked.filter, limit=asked.limit or 10, offset=asked.offset, with_payload=asked.with_payload
    )
    return {"points": [dump(row) for row in rows], "next_page_offset": following}
