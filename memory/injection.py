"""Put memories into the messages of a chat request. Pure: nothing is read, stored or logged here.

A chat body is somebody else's JSON that we pass on, so it stays a plain `dict`; it is never changed in place.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal, TypeGuard

SystemRole = Literal["any", "first", "none"]
InjectionStrategy = Literal[
    "system",
    "user",
    "system-cache-safe",
    "user-cache-safe",
    "system-strict-merge",
    "system-strict-unshift",
    "top-level-system",
    "already-present",
]
Body = dict[str, Any]

LABEL: Final = "Memory context: "
# Everything that `str.splitlines` or a terminal takes for the start of a new line.
_LINE_BREAKS: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INSTRUCTING_ROLES: Final = ("system", "developer")
_TOOL_ROLES: Final = ("tool", "function")


@dataclass(frozen=True)
class Injection:
    """`body` to send upstream, `text` of the block it holds, and how it came in; `None` = nothing was put in.

    `body` is the caller's own object when nothing changed.
    """

    body: Body
    strategy: InjectionStrategy | None
    text: str

    @property
    def changed(self) -> bool:
        return self.strategy is not None and self.strategy != "already-present"


def build_memory_block(lines: Sequence[str]) -> str:
    """Return the label and one line a memory; "" when no line has text.

    A line break inside a memory becomes a space: stored text must not be able to forge a line of its own.
    """
    folded = (_LINE_BREAKS.sub(" ", line).strip() for line in lines)
    kept = [line for line in folded if line]
    return LABEL + "\n".join(kept) if kept else ""


def inject_memories(body: Body, lines: Sequence[str], *, system_role: SystemRole) -> Injection:
    """Return the body with the memory block in the place that provider and request allow.

    `system_role` says what the provider makes of system messages: takes them anywhere, only as the first message,
    or not at all. A body whose `messages` are not a non-empty list of objects with a role is left alone.
    """
    text = build_memory_block(lines)
    messages = body.get("messages")
    if not text or not _are_messages(messages):
        return Injection(body, None, "")
    if _holds_block(body, text):
        return Injection(body, "already-present", text)
    if isinstance(body.get("system"), str | list):
        return Injection({**body, "system": _merge_top_level(body["system"], text)}, "top-level-system", text)
    changed, strategy = _place_message(body, messages, text, system_role)
    return Injection({**body, "messages": changed}, strategy, text)


def is_spoken_by_user(message: Body) -> bool:
    """Whether a person said it: a user message that is more than the results of tools."""
    if message.get("role") != "user":
        return False
    parts = message.get("content")
    if not isinstance(parts, list) or not parts:
        return True
    return not all(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)


def _are_messages(messages: Any) -> TypeGuard[list[Body]]:
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(item, dict) and isinstance(item.get("role"), str) and item["role"] for item in messages)
    )


# --- is it there already? ---------------------------------------------------------------
def _holds_block(body: Body, text: str) -> bool:
    system = body.get("system")
    if isinstance(system, str) and (system == text or system.startswith(text + "\n")):
        return True
    if isinstance(system, list) and _is_among_parts(system, text):
        return True
    return any(_is_block_message(message, text) for message in body["messages"])


def _is_block_message(message: Body, text: str) -> bool:
    role, content = message["role"], message.get("content")
    if role not in (*_INSTRUCTING_ROLES, "user"):
        return False
    if isinstance(content, list):
        return _is_among_parts(content, text)
    return content == text or (
        role in _INSTRUCTING_ROLES and isinstance(content, str) and content.startswith(text + "\n\n")
    )


def _is_among_parts(parts: Sequence[Any], text: str) -> bool:
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return any(isinstance(item, str) and item.strip() == text for item in texts)


# --- where does it go? ---------------------------------------------------------------
def _place_message(
    body: Body, messages: list[Body], text: str, system_role: SystemRole
) -> tuple[list[Body], InjectionStrategy]:
    role = _instructing_role(messages)
    if system_role == "first":
        # A strict template refuses a second system message and one that is not first, cache or no cache.
        if messages[0]["role"] in _INSTRUCTING_ROLES:
            return [_merge_message(messages[0], text), *messages[1:]], "system-strict-merge"
        return [{"role": role, "content": text}, *messages], "system-strict-unshift"
    message = {"role": "user" if system_role == "none" else role, "content": text}
    if _marks_cache(body):
        index = _cache_safe_index(messages)
        changed = [*messages[:index], message, *messages[index:]]
        return changed, "user-cache-safe" if system_role == "none" else "system-cache-safe"
    return [message, *messages], "user" if system_role == "none" else "system"


def _instructing_role(messages: Sequence[Body]) -> str:
    """Speak in the caller's own instructing role: a request that mixes `system` and `developer` is refused."""
    roles = {message["role"] for message in messages}
    return "developer" if "developer" in roles and "system" not in roles else "system"


def _merge_message(message: Body, text: str) -> Body:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": _merge_parts(content, text)}
    if isinstance(content, str) and content:
        return {**message, "content": f"{text}\n\n{content}"}
    return {**message, "content": text}


def _merge_parts(parts: list[Any], text: str) -> list[Any]:
    """Add a text part in front, or behind the last cached part: what a provider has cached must not move.

    Templates glue parts together as they are, so the blank line has to be in the part itself.
    """
    index = _end_of_cached(parts)
    before, after = parts[:index], parts[index:]
    return [*before, {"type": "text", "text": "\n\n" * bool(before) + text + "\n\n" * bool(after)}, *after]


def _merge_top_level(system: str | list[Any], text: str) -> str | list[Any]:
    if isinstance(system, str):
        return f"{text}\n{system}" if system else text
    index = _end_of_cached(system)
    return [*system[:index], {"type": "text", "text": text}, *system[index:]]


def _end_of_cached(parts: Sequence[Any]) -> int:
    """Index behind the last part that is marked for the cache; 0 when none is."""
    return max((index + 1 for index, part in enumerate(parts) if _is_cached(part)), default=0)


# --- prompt caches ---------------------------------------------------------------
def _is_cached(item: Any) -> bool:
    return isinstance(item, dict) and item.get("cache_control") is not None


def _marks_cache(body: Body) -> bool:
    tools = body.get("tools")
    return (
        _is_cached(body)
        or any(_holds_cache_mark(message) for message in body["messages"])
        or any(
            _is_cached(tool) or (isinstance(tool, dict) and _is_cached(tool.get("function")))
            for tool in (tools if isinstance(tools, list) else ())
        )
    )


def _holds_cache_mark(message: Body) -> bool:
    return _is_cached(message) or any(_is_cached(part) for part in _nested_parts(message.get("content")))


def _nested_parts(content: Any) -> Iterator[Any]:
    """Parts, and the parts inside tool results."""
    for part in content if isinstance(content, list) else ():
        yield part
        inner = part.get("content") if isinstance(part, dict) else None
        if isinstance(inner, list):
            yield from inner


def _cache_safe_index(messages: Sequence[Body]) -> int:
    """Directly before the last thing the user said: all before it stays as it was, byte for byte."""
    splits = _split_positions(messages)
    spoken = [index for index, message in enumerate(messages) if is_spoken_by_user(message)]
    if spoken:
        return next(index for index in range(spoken[-1], -1, -1) if not splits[index])
    cached = [index for index, message in enumerate(messages) if _holds_cache_mark(message)]
    behind_cached = cached[-1] + 1 if cached else 0
    return next(index for index in range(behind_cached, len(messages) + 1) if not splits[index])


# --- tool calls and their results ---------------------------------------------------------------
def _split_positions(messages: Sequence[Body]) -> list[bool]:
    """For every index, whether a message put there would stand between a tool call and its result."""
    asked_at: dict[str, int] = {}
    opened = [0] * (len(messages) + 2)
    for index, message in enumerate(messages):
        for call_id in _answered_ids(message):
            if call_id in asked_at:
                opened[asked_at[call_id] + 1] += 1
                opened[index + 1] -= 1
        asked_at.update((call_id, index) for call_id in _call_ids(message))
    depths = list(accumulate(opened))
    return [
        depths[index] > 0 or (0 < index < len(messages) and messages[index]["role"] in _TOOL_ROLES)
        for index in range(len(messages) + 1)
    ]


def _call_ids(message: Body) -> Iterator[str]:
    calls = message.get("tool_calls")
    content = message.get("content")
    for item in (*(calls if isinstance(calls, list) else ()), *(content if isinstance(content, list) else ())):
        is_call = isinstance(item, dict) and item.get("type") != "tool_result" and isinstance(item.get("id"), str)
        if is_call:
            yield item["id"]


def _answered_ids(message: Body) -> Iterator[str]:
    if isinstance(message.get("tool_call_id"), str):
        yield message["tool_call_id"]
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("tool_use_id"), str):
            yield part["tool_use_id"]
