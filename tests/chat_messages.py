"""Messages of a chat as tests write them."""

from typing import Any


def said(role: str, content: Any, **others: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **others}
