"""What this server has put into Qdrant: its collections, and in which state each point is there."""

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Collection(models.Model):
    """A collection that is, was or will be filled for one embedding.

    `name` is the collection itself and `alias` the name in the settings; they are the same where a collection was
    there before us, which is then never dropped (`is_ours`). `cursor` is the last change of the source that it holds.
    One that is building answers no query until it has come to `filled_to`. `config` are the fields of the
    `EmbeddingConfig` that queries must be embedded with to be comparable.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        ACTIVE = "active"
        RETIRED = "retired"

    base_url = models.CharField(max_length=2000)
    alias = models.CharField(max_length=255)
    name = models.CharField(max_length=255, blank=True, default="")
    vector_name = models.CharField(max_length=255, blank=True, default="")
    # source:model:dimensions of the embedding; "null" while the dimensions are not known.
    signature = models.CharField(max_length=512)
    config = models.JSONField(default=dict)
    dimensions = models.PositiveIntegerField(null=True, blank=True)
    quantization = models.CharField(max_length=10, default="none")
    state = models.CharField(max_length=10, choices=State.choices)
    is_ours = models.BooleanField(default=True)
    is_created = models.BooleanField(default=False)
    cursor = models.BigIntegerField(default=0)
    filled_to = models.BigIntegerField(default=0)
    # Why the last try to write failed, how often in a row, and when the next one is due.
    fault = models.TextField(blank=True, default="")
    # A fault that waiting does not mend: an operator has to change something.
    is_blocked = models.BooleanField(default=False)
    failures = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    # The change that a fault was last logged at: once per write is enough.
    logged_at = models.BigIntegerField(default=-1)
    created_at = models.DateTimeField(default=timezone.now)
    state_since = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "qdrant_collections"
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=~Q(state="retired"), name="qdrant_collections_one_per_state"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name or self.alias} ({self.state})"

    @property
    def is_whole(self) -> bool:
        return self.cursor >= self.filled_to


class Point(models.Model):
    """A row of the source and its point. Empty digests: the point may be there, and must be written again.

    The row is made before the point is sent, so that a deletion knows the point's id even if we are killed between.
    `has_vector` is false for a text that its embedding can't read: there is no point, and no use in trying again.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="points")
    source_id = models.BigIntegerField()
    point_id = models.CharField(max_length=36)
    text_digest = models.CharField(max_length=32, blank=True, default="")
    payload_digest = models.CharField(max_length=32, blank=True, default="")
    has_vector = models.BooleanField(default=True)

    class Meta:
        db_table = "qdrant_points"
        constraints = [
            models.UniqueConstraint(fields=["collection", "source_id"], name="qdrant_points_one_per_source_row")
        ]
        indexes = [models.Index(fields=["collection", "point_id"], name="idx_qdrant_points_point")]

    def __str__(self) -> str:
        return self.point_id
