"""ChatGPT's data export: conversations.json (or -000.json, …) is a list of conversations, each a tree of messages.

There is no file of what ChatGPT remembers, but its traces are in the conversations: what was written into the memory
(messages to `bio`), and the memory as a conversation was given it (`model_set_context`). The newest such list counts,
and what was written after it. A memory.json, which some exports are said to hold, is read as well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from core.words import gettext as _
from memory.transfer.formats.conversations import read_statement
from memory.transfer.formats.stamps import stamp
from memory.transfer.rows import BadRow, ForeignMemory, Reading, make_key, read_epoch

NAME: Final = "chatgpt"
# "1. [2025-05-02]. Likes tea"
_LISTED: Final = re.compile(r"\s*\d+\.\s*\[(\d{4}-\d{2}-\d{2})\]\.?\s*(.+)")
_TEXTS: Final = ("content", "memory", "text")


def recognises(first: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of such an export."""
    return isinstance(first.get("mapping"), dict)


def recognises_memory(first: Mapping[str, Any]) -> bool:
    """Whether this is a memory of memory.json."""
    return "enabled" in first and any(isinstance(first.get(name), str) for name in _TEXTS)


def read_memory(row: Mapping[str, Any]) -> ForeignMemory | BadRow:
    content = next((row[name] for name in _TEXTS if row.get(name)), None)
    if row.get("enabled") is False:
        return BadRow(_("it is switched off in ChatGPT"), key=str(content)[:80], outcome="left_out")
    return _make_memory(content, read_epoch(row.get("updated_at") or row.get("created_at")))


def read_conversations(elements: Iterable[Any], reading: Reading) -> Iterator[ForeignMemory | BadRow]:
    """Yield the facts of each conversation, if they are wanted, and in the end what ChatGPT remembered."""
    written: list[tuple[datetime | None, str]] = []
    listed: tuple[datetime | None, str] = (None, "")
    for conversation in elements:
        if not isinstance(conversation, dict) or not recognises(conversation):
            yield BadRow(_("it is no conversation"))
            continue
        reading.conversations += 1
        for message in _list_messages(conversation):
            said_at = _read_time(message, conversation)
            content = message["content"]
            context = content.get("model_set_context")
            if isinstance(context, str) and context.strip() and _is_later(said_at, listed[0]):
                listed = (said_at, context)
            elif message.get("recipient") == "bio":
                written.append((said_at, _join_parts(content)))
            elif reading.reads_conversations and _is_spoken(message):
                yield from read_statement(_join_parts(content), _read_id(conversation), said_at, reading)
    yield from _read_remembered(listed, written)


def _read_remembered(
    listed: tuple[datetime | None, str], written: list[tuple[datetime | None, str]]
) -> Iterator[ForeignMemory]:
    since, context = listed
    for found in map(_LISTED.match, context.splitlines()):
        if found is not None:
            yield _make_memory(found[2].strip(), found[1])
    for said_at, text in written:
        if text.strip() and (not context or _is_later(said_at, since)):
            yield _make_memory(text.strip(), said_at)


def _make_memory(content: Any, moment: Any) -> ForeignMemory:
    return ForeignMemory(
        content,
        key=make_key("chatgpt", str(content)),
        metadata=stamp(NAME),
        created_at=moment,
        updated_at=moment,
    )


def _list_messages(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All messages of the tree, also those of branches that were left: they were said too."""
    for node in conversation["mapping"].values():
        message = node.get("message") if isinstance(node, dict) else None
        if isinstance(message, dict) and isinstance(message.get("content"), dict):
            yield message


def _is_spoken(message: Mapping[str, Any]) -> bool:
    author, content = message.get("author"), message["content"]
    is_user = isinstance(author, dict) and author.get("role") == "user"
    return is_user and content.get("content_type") in ("text", "multimodal_text")


def _join_parts(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    return "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""


def _read_time(message: Mapping[str, Any], conversation: Mapping[str, Any]) -> datetime | None:
    moment = read_epoch(message.get("create_time") or conversation.get("create_time"))
    return moment if isinstance(moment, datetime) else None


def _read_id(conversation: Mapping[str, Any]) -> str:
    return str(conversation.get("conversation_id") or conversation.get("id") or "")[:256]


def _is_later(moment: datetime | None, than: datetime | None) -> bool:
    return than is None or (moment is not None and moment > than)
