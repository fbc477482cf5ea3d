"""What the playground is asked. All of it stands in the address, so that a run can be passed on as a link."""

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from memory.records import Strategy

Letter = Literal["a", "b"]

# `recent` is what chats can be set to besides: the newest, whatever is asked.
PlaygroundStrategy = Strategy | Literal["recent"]

STRATEGIES: Final[tuple[tuple[PlaygroundStrategy, Any], ...]] = (
    ("recent", _("Recent")),
    ("exact", _("Exact")),
    ("semantic", _("Semantic")),
    ("hybrid", _("Hybrid")),
    ("adaptive", _("Adaptive")),
)
MIN_BUDGET_TOKENS: Final = 100
MAX_BUDGET_TOKENS: Final = 16_000
BUDGET_STEP_TOKENS: Final = 100
DEFAULT_BUDGET_TOKENS: Final = 2000
# As many as a chat takes at most, so that the text is a chat's.
MAX_LIMIT: Final = 100
MAX_QUERY_CHARS: Final = 10_000
MAX_ID_CHARS: Final = 512


@dataclass(frozen=True, slots=True)
class PlaygroundAsk:
    """A checked run. `owner` None asks all keys; `second` is None unless two strategies are compared.

    `explained` is the key or id of the memory that was asked about, "" for none, and `explained_in` the run it is
    explained for.
    """

    text: str
    owner: str | None
    session_id: str | None
    budget_tokens: int
    limit: int
    first: PlaygroundStrategy
    second: PlaygroundStrategy | None
    explained: str
    explained_in: Letter


class PlaygroundForm(forms.Form):
    """The query string of the page. What it leaves out has its default; without a query nothing is run."""

    q = forms.CharField(label=_("Query"), required=False, max_length=MAX_QUERY_CHARS)
    key = forms.CharField(label=_("API key"), required=False, max_length=MAX_ID_CHARS)
    session = forms.CharField(label=_("Session"), required=False, max_length=MAX_ID_CHARS)
    budget = forms.IntegerField(label=_("Budget"), min_value=MIN_BUDGET_TOKENS, max_value=MAX_BUDGET_TOKENS)
    limit = forms.IntegerField(label=_("Limit"), min_value=1, max_value=MAX_LIMIT)
    compare = forms.BooleanField(required=False)
    a = forms.ChoiceField(label=_("Strategy A"), choices=STRATEGIES)
    b = forms.ChoiceField(label=_("Strategy B"), choices=STRATEGIES)
    why = forms.CharField(label=_("Key or id"), required=False, max_length=MAX_ID_CHARS)
    w = forms.ChoiceField(choices=[("a", "A"), ("b", "B")])

    def __init__(self, query: QueryDict, *, strategy: PlaygroundStrategy, budget_tokens: int) -> None:
        """`strategy` and `budget_tokens` are those of chats, and so the defaults."""
        is_budget_usable = MIN_BUDGET_TOKENS <= budget_tokens <= MAX_BUDGET_TOKENS
        defaults = {
            "budget": str(budget_tokens if is_budget_usable else DEFAULT_BUDGET_TOKENS),
            "limit": str(MAX_LIMIT),
            "a": strategy,
            "b": "exact" if strategy != "exact" else "adaptive",
            "w": "a",
        }
        given = {name: query[name] for name in self.base_fields if query.get(name)}
        super().__init__({**defaults, **given})

    def read_ask(self) -> PlaygroundAsk | None:
        """Return what to run; None when something is wrong with the form, or nothing is asked yet."""
        if not self.is_valid() or not self.cleaned_data["q"].strip():
            return None
        values = self.cleaned_data
        return PlaygroundAsk(
            text=values["q"].strip(),
            owner=values["key"] or None,
            session_id=values["session"] or None,
            budget_tokens=values["budget"],
            limit=values["limit"],
            first=cast(PlaygroundStrategy, values["a"]),
            second=cast(PlaygroundStrategy, values["b"]) if values["compare"] else None,
            explained=values["why"].strip(),
            explained_in=cast(Letter, values["w"]) if values["compare"] else "a",
        )
