"""Claude's data export: conversations.json is a list of conversations with chat_messages; memories.json, or a file of
the folder memories, holds what Claude remembers as running text, which becomes one memory a paragraph or list item.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from core.fields import parse_moment
from core.words import gettext as _
from memory.transfer.formats.conversations import read_statement
from memory.transfer.formats.stamps import stamp
from memory.transfer.rows import BadRow, ForeignMemory, Reading, make_key

NAME: Final = "claude"
MEMORY_FIELDS: Final = frozenset({"conversations_memory", "project_memories", "memory_files"})
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s+(.+?)|\*\*([^*]+)\*\*:?)\s*", re.S)
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")


def recognises(first: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of such an export."""
    return isinstance(first.get("chat_messages"), list)


def recognises_memory(first: Mapping[str, Any]) -> bool:
    """Whether this holds what Claude remembers."""
    return bool(MEMORY_FIELDS & first.keys())


def read_conversations(elements: Iterable[Any], reading: Reading) -> Iterator[ForeignMemory | BadRow]:
    """Yield the facts in what the person wrote, if they are wanted."""
    for conversation in elements:
        if not isinstance(conversation, dict) or not recognises(conversation):
            yield BadRow(_("it is no conversation"))
            continue
        reading.conversations += 1
        if not reading.reads_conversations:
            continue
        session_id = str(conversation.get("uuid") or "")[:256]
        for message in conversation["chat_messages"]:
            if isinstance(message, dict) and message.get("sender") in ("human", "user"):
                moment = parse_moment(message.get("created_at") or conversation.get("created_at"))
                yield from read_statement(_read_text(message), session_id, moment, reading)


def read_memories(elements: Iterable[Any], reading: Reading) -> Iterator[ForeignMemory | BadRow]:
    """Yield what Claude remembers, piece by piece."""
    for account in elements:
        if not isinstance(account, dict) or not recognises_memory(account):
            yield BadRow(_("it holds no memory of Claude's"))
            continue
        owner = account.get("account_uuid")
        yield from _read_pieces(account.get("conversations_memory"), owner, None)
        projects = account.get("project_memories")
        for project_id, text in projects.items() if isinstance(projects, dict) else ():
            yield from _read_pieces(text, owner, None, project=project_id)
        files = account.get("memory_files")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict):
                yield from _read_pieces(file.get("content"), owner, file.get("updated_at"), path=file.get("path"))


def split_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield (heading, piece) for each paragraph and list item of a text in Markdown."""
    heading = ""
    for paragraph in re.split(r"\n\s*\n", text):
        piece: list[str] = []
        for line in paragraph.splitlines():
            found = _HEADING.fullmatch(line)
            if (found or _ITEM.match(line)) and piece:
                yield heading, " ".join(piece)
                piece = []
            if found:
                heading = (found[1] or found[2]).strip()
            elif line.strip():
                piece.append(_ITEM.sub("", line, count=1).strip())
        if piece:
            yield heading, " ".join(piece)


def _read_pieces(text: Any, owner: Any, updated_at: Any, **where: Any) -> Iterator[ForeignMemory]:
    if not isinstance(text, str):
        return
    kept = {name: value for name, value in where.items() if isinstance(value, str)}
    for heading, piece in split_text(text):
        yield ForeignMemory(
            piece,
            key=make_key("claude", *kept.values(), piece),
            metadata=stamp(NAME, {**kept, **({"section": heading} if heading else {})}),
            created_at=updated_at,
            updated_at=updated_at,
            owner=owner,
        )


def _read_text(message: Mapping[str, Any]) -> str:
    """The message's blocks of text; older exports have the text alone."""
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    text = message.get("text")
    return "\n".join(texts) or (text if isinstance(text, str) else "")
