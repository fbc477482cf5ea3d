"""The life of collections: opened for an embedding, made by the first write, swapped in when whole, retired, dropped.

The alias of the settings leads to the collection that answers; what is filled has a name of its own beside it. A
collection of that very name which was there before us is used where it fits and otherwise left untouched.
"""

from dataclasses import asdict
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from embeddings.base import EmbeddingConfig, EmbeddingResolution
from embeddings.resolver import pin
from qdrant_admin.config import QdrantSettings
from qdrant_admin.misfits import tell_other_distance, tell_other_model, tell_other_width
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import INDEXED_FIELDS, CollectionFacts, QdrantError, Server

logger = structlog.get_logger(__name__)

State = Collection.State
# Distances whose score is the cosine of unit vectors.
COSINE_LIKE: Final = ("Cosine", "Dot")
# A change of the model can be taken back for so long without embedding everything anew.
KEEP_RETIRED: Final = timedelta(days=7)
MAX_WAIT_SECONDS: Final = 15
ROWS_A_TRANSACTION: Final = 2000


class CollectionGoneError(Exception):
    """The collection that was filled is not there any more: somebody deleted it."""


def select_here(settings: QdrantSettings) -> QuerySet[Collection]:
    """Collections under the server and name of the settings."""
    return Collection.objects.filter(base_url=settings.base_url, alias=settings.collection)


def find_collection(settings: QdrantSettings, state: Collection.State) -> Collection | None:
    return select_here(settings).filter(state=state).first()


def read_config(collection: Collection) -> EmbeddingConfig:
    """The embedding that the collection's vectors are made with."""
    return EmbeddingConfig(**collection.config)


def open_target(
    settings: QdrantSettings, resolution: EmbeddingResolution, config: EmbeddingConfig, head: int
) -> Collection:
    """Return the collection to fill for this embedding; one that is new has to hold all changes up to `head`.

    Decides by rows alone; Qdrant is not asked, and nothing is made there before the first write.
    """
    with transaction.atomic():
        _retire_elsewhere(settings)
        active, building = find_collection(settings, State.ACTIVE), find_collection(settings, State.BUILDING)
        if active is not None and resolution.agrees_with(active.signature):
            _retire(building)
            return active
        if building is not None and resolution.agrees_with(building.signature):
            return building
        _retire(building)
        return _reopen(settings, resolution, head) or Collection.objects.create(
            base_url=settings.base_url,
            alias=settings.collection,
            signature=resolution.signature,
            # Pinned: while a new collection is filled, queries must go on being embedded the way this one was.
            config=asdict(pin(config)),
            dimensions=resolution.dimensions,
            quantization=settings.quantization,
            state=State.BUILDING,
            filled_to=head,
        )


def reopen_active(settings: QdrantSettings, head: int) -> None:
    """Writes were switched off for a while: nothing answers from Qdrant before it has caught up to `head`."""
    with transaction.atomic():
        _retire_elsewhere(settings)
        active = find_collection(settings, State.ACTIVE)
        if active is not None:
            _retire(find_collection(settings, State.BUILDING))
            _move(active, State.BUILDING, filled_to=head)


def ensure_collection(collection: Collection, settings: QdrantSettings, server: Server, dimensions: int) -> None:
    """Make the collection in Qdrant or see that what is there fits; for writers only.

    Raises `QdrantError` (fault `mismatch` for what an operator has to mend), and `CollectionGoneError`.
    """
    if not collection.name:
        _settle_name(collection, settings, server)
    facts = server.read_collection(collection.name)
    if facts is None and collection.is_created:
        raise CollectionGoneError
    if facts is None:
        server.create_collection(collection.name, dimensions, settings.quantization)
        facts = CollectionFacts(0, "", dimensions, COSINE_LIKE[0], frozenset(), "green")
        logger.info("qdrant.collection_made", collection=collection.name, dimensions=dimensions)
    check_fit(collection, facts, dimensions)
    if collection.quantization != settings.quantization and collection.is_ours and collection.is_created:
        server.change_quantization(collection.name, settings.quantization)
    _make_payload_indexes(collection, facts, server)
    _save(
        collection,
        is_created=True,
        dimensions=dimensions,
        signature=f"{collection.signature.rpartition(':')[0]}:{dimensions}",
        vector_name=facts.vector_name,
        quantization=settings.quantization if collection.is_ours else collection.quantization,
    )
    if collection.state == State.ACTIVE:
        point_alias(collection, server)


def check_fit(collection: Collection, facts: CollectionFacts, dimensions: int) -> None:
    """Raise `QdrantError` when what is in Qdrant can't take vectors of this width."""
    if facts.dimensions != dimensions:
        model = collection.signature.rpartition(":")[0]
        raise QdrantError("mismatch", tell_other_width(collection.name, facts.dimensions, dimensions, model))
    if facts.distance not in COSINE_LIKE:
        raise QdrantError("mismatch", tell_other_distance(collection.name, facts.distance))


def forget_content(collection: Collection, head: int) -> None:
    """The collection is gone from Qdrant: fill it from the start, and let nothing be answered from it meanwhile."""
    logger.warning("qdrant.collection_gone", collection=collection.name)
    forget_points(collection)
    with transaction.atomic():
        other = Collection.objects.filter(state=State.BUILDING).exclude(pk=collection.pk)
        if other.exists():
            # Another one is on its way already.
            _move(collection, State.RETIRED, is_created=False, cursor=0)
        else:
            name = collection.name if collection.is_ours else ""
            _move(collection, State.BUILDING, is_created=False, is_ours=True, cursor=0, filled_to=head, name=name)


def forget_points(collection: Collection) -> None:
    """A few rows a transaction, so that nobody who wants to write waits for long."""
    while ids := list(Point.objects.filter(collection=collection).values_list("pk", flat=True)[:ROWS_A_TRANSACTION]):
        Point.objects.filter(pk__in=ids).delete()


def swap_in(collection: Collection, server: Server) -> None:
    """Let the filled collection answer, and let the alias lead to it."""
    if collection.is_created:
        point_alias(collection, server)
    with transaction.atomic():
        before = Collection.objects.filter(state=State.ACTIVE).exclude(pk=collection.pk).first()
        _retire(before)
        _move(collection, State.ACTIVE)
    logger.info("qdrant.collection_swapped", collection=collection.name, signature=collection.signature)


def point_alias(collection: Collection, server: Server) -> None:
    """Others find the collection under the alias; we do not need it, so a server that refuses it is no obstacle."""
    if not collection.is_ours:
        return
    try:
        server.set_alias(collection.alias, collection.name)
    except QdrantError as error:
        if error.fault not in ("missing", "refused"):
            raise
        logger.warning("qdrant.alias_not_set", alias=collection.alias, reason=error.reason)


def drop_retired(settings: QdrantSettings, server: Server, now: datetime) -> int:
    """Delete collections of ours that were replaced a week ago; return how many."""
    dropped = 0
    for collection in Collection.objects.filter(state=State.RETIRED, state_since__lt=now - KEEP_RETIRED):
        is_named_elsewhere = Collection.objects.filter(name=collection.name).exclude(pk=collection.pk).exists()
        is_reachable = collection.base_url == settings.base_url and collection.is_created
        if collection.is_ours and is_reachable and not is_named_elsewhere:
            server.drop_collection(collection.name)
            dropped += 1
        forget_points(collection)
        collection.delete()
    return dropped


def note_failure(collection: Collection, error: QdrantError, change: int) -> datetime:
    """Keep why writing failed and return when to try again; logged once for each newest `change`."""
    wait_seconds = min(2**collection.failures, MAX_WAIT_SECONDS)
    next_try_at = timezone.now() + timedelta(seconds=wait_seconds)
    if collection.logged_at != change:
        logger.warning("qdrant.not_written", fault=error.fault, reason=error.reason, collection=collection.name)
    _save(
        collection,
        fault=error.reason,
        is_blocked=error.fault == "mismatch",
        failures=min(collection.failures + 1, 30),
        next_try_at=next_try_at,
        logged_at=change,
    )
    return next_try_at


def note_success(collection: Collection) -> None:
    if collection.fault or collection.failures or collection.is_blocked:
        _save(collection, fault="", is_blocked=False, failures=0, next_try_at=None, logged_at=-1)
        logger.info("qdrant.written_again", collection=collection.name)


def _settle_name(collection: Collection, settings: QdrantSettings, server: Server) -> None:
    """Take a name of our own, or the collection that has the alias's name already."""
    if settings.collection not in server.list_collections():
        model = collection.signature.rpartition(":")[0]
        name = f"{settings.collection}-{sha256(model.encode()).hexdigest()[:8]}"
        _save(collection, name=name, is_ours=True)
        return
    others = select_here(settings).filter(name=settings.collection).exclude(pk=collection.pk)
    other = next((row for row in others if row.signature != collection.signature), None)
    if other is not None:
        told = tell_other_model(settings.collection, other.signature, collection.signature)
        raise QdrantError("mismatch", told)
    _save(collection, name=settings.collection, is_ours=False)


def _make_payload_indexes(collection: Collection, facts: CollectionFacts, server: Server) -> None:
    for name in INDEXED_FIELDS:
        if name in facts.indexed:
            continue
        try:
            server.create_payload_index(collection.name, name)
        except QdrantError as error:
            if error.fault not in ("missing", "refused"):
                raise
            # Searches are slower without, and work.
            logger.warning("qdrant.payload_index_not_made", field=name, reason=error.reason)
            return


def _reopen(settings: QdrantSettings, resolution: EmbeddingResolution, head: int) -> Collection | None:
    """A collection of this embedding that was retired needs only what has changed since."""
    for row in select_here(settings).filter(state=State.RETIRED).order_by("-state_since"):
        if resolution.agrees_with(row.signature):
            _move(row, State.BUILDING, filled_to=head, fault="", failures=0, next_try_at=None, is_blocked=False)
            return row
    return None


def _retire_elsewhere(settings: QdrantSettings) -> None:
    elsewhere = Collection.objects.exclude(base_url=settings.base_url, alias=settings.collection)
    elsewhere.exclude(state=State.RETIRED).update(state=State.RETIRED, state_since=timezone.now())


def _retire(collection: Collection | None) -> None:
    if collection is None:
        return
    if collection.is_created:
        _move(collection, State.RETIRED)
    else:
        collection.delete()


def _move(collection: Collection, state: Collection.State, **values: Any) -> None:
    _save(collection, state=state, state_since=timezone.now(), **values)


def _save(collection: Collection, **values: Any) -> None:
    changed = {name: value for name, value in values.items() if getattr(collection, name) != value}
    for name, value in changed.items():
        setattr(collection, name, value)
    if changed:
        collection.save(update_fields=list(changed))
