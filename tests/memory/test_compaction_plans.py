"""What is planned is what the forms say, however few texts are read twice for it."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.condensing import condense_line
from memory.records import MEMORY_TYPES, MemoryRecord
from memory.retrieval import describe_memory
from memory.search.ranking import estimate_tokens
from memory.summarization.plans import GOOD_CONTENT_CHARACTERS, GOOD_SAVING, LINE_FORMS, GroupPlan, plan_group

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
FACT = {"category": "preference", "polarity": "negative", "source": "user_message"}
SENTENCES = [
    "Tea is good.",
    "It is green, hot and strong. ",
    "word " * 30,
    "一。二三。",
    "e.g. v3.8 is out. ",
    "\n\n- a",
    "🎉",
]
CONTENTS = st.one_of(
    st.lists(st.sampled_from(SENTENCES), max_size=9).map("".join),
    st.text(max_size=300),
    st.integers(1, 700).map(lambda length: "x" * length),
)
RECORDS = st.lists(
    st.builds(
        lambda content, kind, metadata: MemoryRecord(
            0, "id", "A", "", kind, "", content, metadata, MOMENT, MOMENT, None
        ),
        CONTENTS,
        st.sampled_from(MEMORY_TYPES),
        st.sampled_from([{}, FACT]),
    ),
    max_size=60,
)


def plan_plainly(records: list[MemoryRecord]) -> str | None:
    """The content of the summary, each form written from the texts themselves; None where there is none."""
    if len(records) < 2:
        return None
    tokens = sum(estimate_tokens(record.content) for record in records)
    for form in LINE_FORMS:
        bounds: dict[str, Any] = {"max_sentences": form.max_sentences, "max_characters": form.max_characters}
        lines = [f"[{record.type}] {condense_line(describe_memory(record), **bounds)}" for record in records]
        content = "\n".join([f"Summary of {len(records)} memories:", *lines])
        saved = tokens - estimate_tokens(content)
        if len(content) <= GOOD_CONTENT_CHARACTERS and saved >= GOOD_SAVING * tokens:
            return content
    is_shorter = saved > 0 and len(content) < sum(len(record.content) for record in records)
    return content if is_shorter else None


@given(RECORDS)
@settings(deadline=None)
def test_a_plan_is_the_first_form_that_saves_enough(records):
    plan = plan_group("A", "", records)
    assert (plan.parts[0].content if isinstance(plan, GroupPlan) else None) == plan_plainly(records)
