"""Durable background jobs. The row is the truth; threads, events and brokers are only nudges."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Job(models.Model):
    """One piece of work: `name` finds its handler, `payload` is all it is given.

    A running job holds a lease; when the lease runs out its worker is taken for dead and the job is claimed again,
    so handlers must be safe to run twice. `attempts` counts claims, so a job that kills its worker ends as dead too.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        DEAD = "dead", _("Dead")

    name = models.CharField(max_length=100)
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=6)
    run_at = models.DateTimeField(default=timezone.now)
    lease_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "jobs"
        indexes = [models.Index(fields=["state", "run_at"], name="idx_jobs_state_run_at")]

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"
