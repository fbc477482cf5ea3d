"""Rows of memory. Everyone else sees `memory.records`; only `memory.backends` and `memory.search` touch rows."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.records import MEMORY_TYPES

# Rows of the pipeline's self-test; never listed, never retrieved.
HEALTH_CHECK_OWNER = "health-check"


class MemoryQuerySet(models.QuerySet["Memory"]):
    """The one place where memories are narrowed to their owner (contract B23)."""

    def owned_by(self, owner: str | None) -> "MemoryQuerySet":
        """Rows of one owner. None means every owner and is for management calls only."""
        if owner is None:
            return self.exclude(api_key_id=HEALTH_CHECK_OWNER)
        return self.filter(api_key_id=owner)

    def usable(self, now: datetime, retained_since: datetime, session_id: str | None) -> "MemoryQuerySet":
        """Rows that may be put into a prompt: not expired, refreshed recently enough, of the session if any."""
        rows = self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), updated_at__gte=retained_since)
        return rows if session_id is None else rows.filter(session_id=session_id)


class Memory(models.Model):
    """One memory. `memory_id` keys the full-text and vector indexes; AUTOINCREMENT, so an id is never used again."""

    memory_id = models.BigAutoField(primary_key=True)
    # Django reserves the attribute name `id` for primary keys; on the wire and in the table it is `id`.
    uuid = models.CharField(max_length=36, unique=True, db_column="id")
    api_key_id = models.CharField(max_length=256)
    session_id = models.CharField(max_length=256, blank=True, default="")
    type = models.CharField(max_length=20, choices=[(name, name) for name in MEMORY_TYPES])
    key = models.CharField(max_length=512, blank=True, default="")
    content = models.TextField()
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    # Words that the full-text index can't make out of the content itself: character pairs of unspaced scripts.
    search_terms = models.TextField(blank=True, default="")
    # True until the vector index being filled holds this content. Tries and the time of the next one are kept here, so
    # that rows which can't be embedded wait their turn instead of standing in the way of those that can.
    needs_reindex = models.BooleanField(default=True)
    index_attempts = models.PositiveIntegerField(default=0)
    index_retry_at = models.DateTimeField(null=True, blank=True)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        db_table = "memories"
        verbose_name_plural = _("memories")
        constraints = [
            models.CheckConstraint(condition=Q(type__in=MEMORY_TYPES), name="memories_type_known"),
            models.UniqueConstraint(
                fields=["api_key_id", "key"], condition=~Q(key=""), name="memories_owner_key_unique"
            ),
        ]
        indexes = [
            models.Index(fields=["api_key_id", "-created_at", "-memory_id"], name="idx_memories_api_key"),
            models.Index(fields=["-created_at", "-memory_id"], name="idx_memories_created"),
            models.Index(fields=["api_key_id", "-updated_at", "-memory_id"], name="idx_memories_owner_updated"),
            models.Index(fields=["-updated_at", "-memory_id"], name="idx_memories_updated"),
            models.Index(fields=["session_id"], name="idx_memories_session"),
            models.Index(fields=["type"], name="idx_memories_type"),
            models.Index(fields=["expires_at"], name="idx_memories_expires"),
            models.Index(fields=["memory_id"], condition=Q(needs_reindex=True), name="idx_memories_needs_reindex"),
        ]

    def __str__(self) -> str:
        # Django's log of what operators did keeps it, also when the memory is erased: so nothing of what it says.
        return self.uuid


class MemoryChange(models.Model):
    """Which memory of an owner changed last: one row a memory, its `seq` renewed by triggers at every write.

    In-process indexes remember the last `seq` they saw and read only what came after it, whoever wrote it, in this
    process or another. A deleted memory leaves its row here, so that a deletion is seen too.
    """

    seq = models.BigAutoField(primary_key=True)
    api_key_id = models.CharField(max_length=256)
    memory_id = models.BigIntegerField()

    class Meta:
        db_table = "memory_changes"
        constraints = [
            models.UniqueConstraint(fields=["api_key_id", "memory_id"], name="memory_changes_owner_memory_unique")
        ]
        indexes = [models.Index(fields=["api_key_id", "seq"], name="idx_memory_changes_owner_seq")]

    def __str__(self) -> str:
        return f"{self.memory_id} @ {self.seq}"


class MemoryUse(models.Model):
    """How often chats have carried a memory, and when last; a memory that no chat has carried has no row."""

    memory_uuid = models.CharField(max_length=36, primary_key=True)
    api_key_id = models.CharField(max_length=256)
    count = models.PositiveIntegerField(default=0)
    last_injected_at = models.DateTimeField()
    last_request_id = models.CharField(max_length=128)

    class Meta:
        db_table = "memory_uses"
        indexes = [
            models.Index(fields=["api_key_id"], name="idx_memory_uses_api_key"),
            models.Index(fields=["count", "last_injected_at", "memory_uuid"], name="idx_memory_uses_count"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_uuid} x {self.count}"


class RequestLink(models.Model):
    """A memory that a chat carried, or a fact that was taken out of it. Kept as long as the log of requests."""

    class Kind(models.TextChoices):
        INJECTED = "injected", _("Injected")
        EXTRACTED = "extracted", _("Extracted")

    request_id = models.CharField(max_length=128)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    memory_uuid = models.CharField(max_length=36)
    api_key_id = models.CharField(max_length=256)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "memory_request_links"
        constraints = [
            models.UniqueConstraint(
                fields=["request_id", "kind", "memory_uuid"], name="memory_request_links_link_unique"
            )
        ]
        indexes = [
            models.Index(fields=["memory_uuid", "-created_at"], name="idx_memory_links_memory"),
            models.Index(fields=["api_key_id"], name="idx_memory_links_api_key"),
            models.Index(fields=["created_at"], name="idx_memory_links_created"),
        ]

    def __str__(self) -> str:
        return f"{self.request_id} {self.kind} {self.memory_uuid}"


class Compaction(models.Model):
    """One change of many memories that can be undone: a compaction, or a correction that an operator made.

    What it replaced is kept in `MemoryArchive` until `expires_at`, or until it is undone. `label` is for operators.
    """

    class Kind(models.TextChoices):
        COMPACTION = "compaction", _("Compaction")
        DELETE = "delete", _("Delete")
        EDIT = "edit", _("Edit")
        RETYPE = "retype", _("Retype")
        MERGE = "merge", _("Merge")
        IMPORT = "import", _("Import")

    uuid = models.CharField(max_length=36, unique=True)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.COMPACTION)
    label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "memory_compactions"
        indexes = [models.Index(fields=["expires_at"], name="idx_memory_compactions_expires")]

    def __str__(self) -> str:
        return self.uuid


class MemoryArchive(models.Model):
    """The row of a memory as it was before something replaced it, every column but the flags of its index entry.

    `replaced_by` is the id of the memory that stands for it now: a summary, the one it was merged into, itself when it
    was changed in place, "" when it was deleted. That memory's `updated_at` right after the change tells later whether
    anybody has changed it since. `was_created` marks a memory that was not there before; undoing takes it away.
    """

    archive_id = models.BigAutoField(primary_key=True)
    compaction = models.ForeignKey(Compaction, on_delete=models.CASCADE, related_name="originals")
    replaced_by = models.CharField(max_length=36, blank=True, default="")
    was_created = models.BooleanField(default=False)
    replacement_updated_at = models.DateTimeField()
    memory_id = models.BigIntegerField()
    uuid = models.CharField(max_length=36)
    api_key_id = models.CharField(max_length=256)
    session_id = models.CharField(max_length=256, blank=True, default="")
    type = models.CharField(max_length=20)
    key = models.CharField(max_length=512, blank=True, default="")
    content = models.TextField()
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    search_terms = models.TextField(blank=True, default="")

    class Meta:
        db_table = "memory_archive"
        verbose_name_plural = _("archived memories")
        indexes = [
            models.Index(fields=["uuid", "-archive_id"], name="idx_memory_archive_uuid"),
            models.Index(fields=["api_key_id"], name="idx_memory_archive_api_key"),
        ]

    def __str__(self) -> str:
        # Django's log of what operators did keeps it, also when the memory is erased: so nothing of what it says.
        return self.uuid


class BackgroundWork(models.Model):
    """What somebody asked for that takes longer than a request: how far its job is, and what came of it.

    `notes` are what the job needs to go on after it was killed; `answer` is what the door would have answered at once,
    without anything that memories say. `told_at` is when the operator `asked_by` was told of its end.
    """

    uuid = models.CharField(max_length=36, primary_key=True)
    kind = models.CharField(max_length=20)
    undo_id = models.CharField(max_length=36, blank=True, default="")
    asked_by = models.CharField(max_length=150, blank=True, default="")
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    notes = models.JSONField(default=dict)
    answer = models.JSONField(null=True)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "memory_background_work"
        verbose_name_plural = "background work"
        indexes = [
            models.Index(fields=["asked_by"], condition=Q(told_at=None), name="idx_memory_work_untold"),
            models.Index(fields=["created_at"], name="idx_memory_work_created"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uuid}"


class VectorIndex(models.Model):
    """One vector table and the embedding it was made for.

    At most one index is active (it answers) and at most one is building (it is filled beside the active one when the
    embedding changed, and takes its place when it is whole). A retired one is asked no more but by searches that were
    under way, and goes a little later. `config` are the fields of the `EmbeddingConfig` that queries must be embedded
    with to be comparable.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        ACTIVE = "active"
        RETIRED = "retired"

    table_name = models.CharField(max_length=64, unique=True)
    # source:model:dimensions of the embedding; "null" while the dimensions are not known.
    signature = models.CharField(max_length=512)
    config = models.JSONField(default=dict)
    dimensions = models.PositiveIntegerField(null=True, blank=True)
    quantization = models.CharField(max_length=10, default="none")
    state = models.CharField(max_length=10, choices=State.choices)
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "memory_vec_meta"
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=~models.Q(state="retired"), name="memory_vec_meta_one_per_state"
            )
        ]

    def __str__(self) -> str:
        return f"{self.signature} ({self.state})"
