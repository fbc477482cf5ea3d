"""The log of chat calls that went through the gateway."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class RequestLog(models.Model):
    """One chat call, written when it is over: whose, what for, how it went, what memory put in and what that took.

    Which memories it carried and which facts came out of it stands in `memory.models.RequestLink`, under the same
    `request_id` and owner. A caller may name its requests itself, so an id can occur more than once.
    """

    class Outcome(models.TextChoices):
        ANSWERED = "answered", _("answered")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")
        BROKEN = "broken", _("broken off")
        LEFT = "left", _("client left")

    class MemoryState(models.TextChoices):
        ON = "on", _("on")
        OFF = "off", _("switched off")
        OPTED_OUT = "opted_out", _("opted out")
        NO_KEY = "no_key", _("no API key")
        FAILED = "failed", _("failed")
        UNKNOWN = "", _("not reached")

    request_id = models.CharField(_("request id"), max_length=128)
    created_at = models.DateTimeField(_("time"))
    # "" is a call without a key, or with one that nobody knows.
    api_key_id = models.CharField(_("API key id"), max_length=256, blank=True, default="")
    key_name = models.CharField(_("API key"), max_length=100, blank=True, default="")
    model = models.CharField(_("model"), max_length=256, blank=True, default="")
    provider = models.CharField(_("provider"), max_length=64, blank=True, default="")
    session_id = models.CharField(_("session"), max_length=256, blank=True, default="")
    is_stream = models.BooleanField(_("stream"), default=False)
    # What the client was answered with; 499 when it had left before there was anything to answer.
    status = models.PositiveSmallIntegerField(_("status"))
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome.choices)
    is_failed = models.BooleanField(_("failed"), default=False)
    duration_ms = models.FloatField(_("duration, ms"))
    # Until the first byte of the provider's answer was here.
    first_byte_ms = models.FloatField(_("first byte, ms"), null=True, blank=True)
    memory_state = models.CharField(
        _("memory"), max_length=10, choices=MemoryState.choices, blank=True, default=MemoryState.UNKNOWN
    )
    memories_injected = models.PositiveIntegerField(_("memories injected"), default=0)
    memory_tokens = models.PositiveIntegerField(_("tokens added"), default=0)
    # The search alone, and all that memory had to do before the provider was asked.
    retrieval_ms = models.FloatField(_("search, ms"), null=True, blank=True)
    memory_ms = models.FloatField(_("memory, ms"), null=True, blank=True)
    tier = models.CharField(_("tier"), max_length=20, blank=True, default="")
    strategy = models.CharField(_("strategy"), max_length=20, blank=True, default="")
    fallback_reason = models.CharField(_("fallback reason"), max_length=500, blank=True, default="")
    # [id, score, tokens] of every memory it carried, in the order they were put in.
    carried = models.JSONField(default=list, blank=True)
    error_code = models.CharField(_("error code"), max_length=64, blank=True, default="")
    error_message = models.CharField(_("error"), max_length=500, blank=True, default="")
    # Empty unless an operator has the log keep text.
    user_text = models.TextField(_("what the user said"), blank=True, default="")
    answer_text = models.TextField(_("what was answered"), blank=True, default="")

    class Meta:
        db_table = "request_log"
        verbose_name = _("request")
        verbose_name_plural = _("requests")
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="idx_request_log_created"),
            models.Index(fields=["api_key_id", "-created_at", "-id"], name="idx_request_log_api_key"),
            models.Index(fields=["model", "-created_at", "-id"], name="idx_request_log_model"),
            models.Index(fields=["session_id"], name="idx_request_log_session"),
            models.Index(fields=["request_id"], name="idx_request_log_request"),
            models.Index(
                fields=["-created_at", "-id"], condition=Q(is_failed=True), name="idx_request_log_failed_created"
            ),
            # The whole answer to every figure of the overview, so that they need not touch the rows.
            models.Index(
                fields=[
                    "created_at",
                    "api_key_id",
                    "tier",
                    "retrieval_ms",
                    "memories_injected",
                    "memory_tokens",
                    "is_failed",
                ],
                name="idx_request_log_figures",
            ),
            models.Index(
                fields=["created_at"], condition=~Q(user_text="", answer_text=""), name="idx_request_log_text"
            ),
        ]

    def __str__(self) -> str:
        return self.request_id
