"""What a Qdrant can be asked, one method a request."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from core.errors import AppError, UpstreamTimeoutError
from core.outbound import Deadline, check_url, send
from core.words import gettext as _
from qdrant_admin.config import QdrantSettings, Quantization
from qdrant_admin.points.filters import build_filter
from qdrant_admin.points.values import (
    INDEXED_FIELDS,
    NOT_CONFIGURED,
    CollectionFacts,
    Fault,
    PointData,
    PointFilter,
    QdrantError,
    ScoredPoint,
    StaleFilter,
)
from qdrant_admin.points.wire import load_models, read_status, request

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

Result = TypeVar("Result")

READ_SECONDS: Final = 2.0
WRITE_SECONDS: Final = 10.0


class Server:
    """One Qdrant. Every call raises `QdrantError`; `seconds` bound it as a whole, the name look-up included.

    Where a call takes no seconds, or is given none, it has `WRITE_SECONDS`.
    """

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url
        self._api_key = api_key

    def check_ready(self, seconds: float = READ_SECONDS) -> None:
        """The probe that needs no key. By hand, since the library takes its plain text for broken JSON."""
        headers = {"api-key": self._api_key} if self._api_key else {}
        try:
            answer = send("GET", f"{self._base_url}/readyz", headers, b"", deadline=Deadline(seconds), peer="Qdrant")
        except AppError as error:
            fault: Fault = "timeout" if isinstance(error, UpstreamTimeoutError) else "unreachable"
            raise QdrantError(fault, error.message) from None
        # An old server has no such probe; whether it serves shows with the next request.
        if answer.status not in (200, 404):
            raise read_status(answer.status)

    def list_collections(self, seconds: float | None = None) -> list[str]:
        """Names of the collections themselves, without aliases."""
        answer = self._ask(seconds, lambda client: client.get_collections())
        return [item.name for item in answer.collections]

    def find_alias(self, alias: str, seconds: float | None = None) -> str | None:
        """The collection that `alias` leads to, None when there is no such alias."""
        answer = self._ask(seconds, lambda client: client.get_aliases())
        return next((item.collection_name for item in answer.aliases if item.alias_name == alias), None)

    def set_alias(self, alias: str, collection: str) -> None:
        """Let `alias` lead to `collection`, in one step with letting go of where it led before."""
        current = self.find_alias(alias)
        if current == collection:
            return
        models = load_models()
        steps: list[Any] = []
        if current is not None:
            steps.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        create = models.CreateAlias(collection_name=collection, alias_name=alias)
        steps.append(models.CreateAliasOperation(create_alias=create))
        self._ask(None, lambda client: client.update_collection_aliases(steps))

    def read_collection(self, name: str, seconds: float | None = None) -> CollectionFacts | None:
        """What is known of a collection, by its name or an alias; None when there is none."""
        try:
            info = self._ask(seconds, lambda client: client.get_collection(name))
        except QdrantError as error:
            if error.fault == "missing":
                return None
            raise
        vectors: Any = info.config.params.vectors
        vector_name, params = next(iter(vectors.items()), ("", None)) if isinstance(vectors, dict) else ("", vectors)
        return CollectionFacts(
            points=info.points_count or 0,
            vector_name=vector_name,
            dimensions=params.size if params else None,
            distance=str(getattr(params.distance, "value", params.distance)) if params else "",
            indexed=frozenset(info.payload_schema or {}),
            status=str(getattr(info.status, "value", info.status)),
        )

    def create_collection(self, name: str, dimensions: int, quantization: Quantization) -> None:
        models = load_models()
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
        config = _build_quantization(quantization)
        self._ask(
            None,
            lambda client: client.create_collection(name, vectors_config=vectors, quantization_config=config),
        )

    def change_quantization(self, name: str, quantization: Quantization) -> None:
        config = _build_quantization(quantization) or load_models().Disabled.DISABLED
        self._ask(None, lambda client: client.update_collection(name, quantization_config=config))

    def drop_collection(self, name: str) -> None:
        self._ask(None, lambda client: client.delete_collection(name))

    def create_payload_index(self, name: str, field_name: str) -> None:
        models, kind = load_models(), INDEXED_FIELDS[field_name]
        schema: Any = models.PayloadSchemaType.INTEGER
        if kind != "integer":
            schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=kind == "tenant" or None)
        self._ask(None, lambda client: client.create_payload_index(name, field_name, schema, wait=True))

    def upsert(self, collection: str, vector_name: str, points: Sequence[PointData]) -> None:
        """Store the points and come back when searches see them."""
        models = load_models()
        structs = [
            models.PointStruct(
                id=point.id,
                vector={vector_name: list(point.vector)} if vector_name else list(point.vector),
                payload=dict(point.payload),
            )
            for point in points
        ]
        self._ask(None, lambda client: client.upsert(collection, structs, wait=True))

    def overwrite_payloads(self, collection: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the payloads of points that are there; their vectors stay."""
        models = load_models()
        steps = [
            models.OverwritePayloadOperation(overwrite_payload=models.SetPayload(payload=dict(payload), points=[id]))
            for id, payload in payloads.items()
        ]
        self._ask(None, lambda client: client.batch_update_points(collection, steps, wait=True))

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Delete points; those that aren't there don't matter."""
        selector = load_models().PointIdsList(points=list(ids))
        self._ask(None, lambda client: client.delete(collection, selector, wait=True))

    def delete_matching(self, collection: str, condition: PointFilter | StaleFilter) -> None:
        models = load_models()
        selector = models.FilterSelector(filter=build_filter(models, condition))
        self._ask(None, lambda client: client.delete(collection, selector, wait=True))

    def count(self, collection: str, condition: PointFilter | StaleFilter, seconds: float | None = None) -> int:
        built = build_filter(load_models(), condition)
        answer = self._ask(seconds, lambda client: client.count(collection, built, exact=True))
        return int(answer.count)

    def scroll(
        self,
        collection: str,
        condition: PointFilter,
        *,
        limit: int,
        after: str | None = None,
        fields: Sequence[str] = (),
    ) -> tuple[list[ScoredPoint], str | None]:
        """Return up to `limit` points with some fields of their payload, and where the next page begins."""
        wanted: Any = list(fields) if fields else False
        built = build_filter(load_models(), condition)
        rows, following = self._ask(
            None,
            lambda client: client.scroll(
                collection, built, limit=limit, offset=after, with_payload=wanted, with_vectors=False
            ),
        )
        points = [ScoredPoint(str(row.id), 0.0, row.payload or {}) for row in rows]
        return points, None if following is None else str(following)

    def search(
        self,
        collection: str,
        vector_name: str,
        vector: Sequence[float],
        *,
        condition: PointFilter,
        limit: int,
        rescores: bool,
        with_payload: bool = False,
        seconds: float = READ_SECONDS,
    ) -> list[ScoredPoint]:
        """Return the nearest points that meet `condition`, nearest first; the score is the cosine."""
        models = load_models()
        quantized = models.QuantizationSearchParams(rescore=True)
        params = models.SearchParams(quantization=quantized) if rescores else None
        built = build_filter(models, condition)
        answer = self._ask(
            seconds,
            lambda client: client.query_points(
                collection,
                query=list(vector),
                using=vector_name or None,
                query_filter=built,
                limit=limit,
                search_params=params,
                with_payload=with_payload,
            ),
        )
        return [ScoredPoint(str(row.id), float(row.score), row.payload or {}) for row in answer.points]

    def _ask(self, seconds: float | None, call: Callable[["QdrantClient"], Result]) -> Result:
        return request(self._base_url, self._api_key, WRITE_SECONDS if seconds is None else seconds, call)


def open_server(settings: QdrantSettings) -> Server:
    """Return the server of the settings; no request is made. Raises `QdrantError` when they can't be used."""
    if not settings.host:
        raise QdrantError(NOT_CONFIGURED, NOT_CONFIGURED)
    if settings.api_key_fault:
        raise QdrantError("auth", settings.api_key_fault)
    try:
        check_url(settings.base_url)
    except AppError as error:
        raise QdrantError(
            "not_configured", _("the address of Qdrant can't be used: %(reason)s") % {"reason": error.message}
        ) from None
    return Server(settings.base_url, settings.api_key)


def _build_quantization(quantization: Quantization) -> Any:
    models = load_models()
    if quantization == "int8":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True, quantile=0.99)
        return models.ScalarQuantization(scalar=scalar)
    if quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None
