"""Our filters as the library's."""

from typing import Any

from qdrant_admin.points.values import KIND, PointFilter, StaleFilter


def build_filter(models: Any, condition: PointFilter | StaleFilter) -> Any:
    """Return the filter of qdrant_client, whose `models` are handed in."""
    if isinstance(condition, StaleFilter):
        return _build_stale(models, condition)
    must = [_match(models, "kind", KIND)]
    if condition.tenant is not None:
        must.append(_match(models, "apiKeyId", condition.tenant))
    if condition.session_id is not None:
        must.append(_match(models, "sessionId", condition.session_id))
    if condition.installation is not None:
        must.append(_is_ours(models, condition.installation))
    if condition.ids is not None:
        must.append(models.HasIdCondition(has_id=list(condition.ids)))
    # As exclusions, so that a point which lacks the field stays in.
    must_not = []
    if condition.not_expired_at is not None:
        must_not.append(_range(models, "expiresAtUnix", lte=condition.not_expired_at))
    if condition.updated_since is not None:
        must_not.append(_range(models, "updatedAtUnix", lt=condition.updated_since))
    return models.Filter(must=must, must_not=must_not or None)


def _build_stale(models: Any, condition: StaleFilter) -> Any:
    never_updated = models.Filter(
        must=[_is_empty(models, "updatedAtUnix"), _range(models, "createdAtUnix", lt=condition.retained_since)]
    )
    return models.Filter(
        must=[_match(models, "kind", KIND), _is_ours(models, condition.installation)],
        should=[
            _range(models, "expiresAtUnix", lt=condition.now),
            _range(models, "updatedAtUnix", lt=condition.retained_since),
            never_updated,
        ],
    )


def _is_ours(models: Any, installation: str) -> Any:
    return models.Filter(should=[_match(models, "installation", installation), _is_empty(models, "installation")])


def _match(models: Any, key: str, value: str) -> Any:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _range(models: Any, key: str, *, lt: int | None = None, lte: int | None = None) -> Any:
    return models.FieldCondition(key=key, range=models.Range(lt=lt, lte=lte))


def _is_empty(models: Any, key: str) -> Any:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
