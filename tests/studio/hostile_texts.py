"""Texts that would do something if a page took them for more than text, and a look at whether one did."""

from html.parser import HTMLParser

XSS = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "{{7*7}}",
    '" onmouseover="alert(1)',
    "javascript:alert(1)",
    "<svg onload=alert(1)>",
    "abc\u202etxt.exe",
    "'; alert(1) //",
    "<template><script>alert(1)</script></template>",
]


class Elements(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.strangers: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("img", "iframe", "object", "embed", "style") or (tag == "script" and not values.get("src")):
            self.strangers.append(tag)
        self.strangers += [f"{tag} {name}" for name in values if name.startswith("on") or name == "style"]
        self.strangers += [f"{tag} {value}" for value in values.values() if (value or "").startswith("javascript:")]

    handle_startendtag = handle_starttag


def find_strangers(page: str) -> list[str]:
    """Elements and attributes that none of our templates writes. A field may hold anything; it does nothing."""
    elements = Elements()
    elements.feed(page)
    harmless = ("option javascript:", "input javascript:", "span javascript:")
    return [told for told in elements.strangers if not told.startswith(harmless)]
