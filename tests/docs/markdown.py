"""Reads the project's own pages: fenced blocks, links, tables. No more Markdown than those pages use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
BACKTICKED = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block; `language` is the word behind its fence."""

    language: str
    text: str


def list_pages() -> list[Path]:
    return [ROOT / name for name in PAGES] + sorted((ROOT / "docs").glob("*.md"))


def read_page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def read_docs() -> str:
    """All pages in one text."""
    return "\n".join(page.read_text("utf-8") for page in list_pages())


def list_blocks(text: str) -> list[Block]:
    return [Block(*found.groups()) for found in BLOCK.finditer(text)]


def drop_blocks(text: str) -> str:
    return BLOCK.sub("", text)


def list_links(text: str) -> list[str]:
    return LINK.findall(drop_blocks(text))


def list_rows(text: str, heading: str) -> list[list[str]]:
    """The rows of every table whose first column is headed so; a cell's bars are written as `\\|`."""
    rows: list[list[str]] = []
    is_inside = False
    for line in drop_blocks(text).splitlines():
        cells = _split_row(line)
        if not cells:
            is_inside = False
        elif cells[0] == heading:
            is_inside = True
        elif is_inside and set(line) - set("|-: "):
            rows.append(cells)
    return rows


def list_words(text: str) -> set[str]:
    """Everything that stands in backticks, and every fenced block's words."""
    words = set(BACKTICKED.findall(drop_blocks(text)))
    for block in list_blocks(text):
        words.update(block.text.split())
    return words


def unquote(cell: str) -> str:
    """A cell without the backticks around it."""
    return cell.strip().strip("`")


def _split_row(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def iterate_pairs(blocks: list[Block], first: str, second: str) -> Iterator[tuple[Block, Block]]:
    """Blocks of language `first` that are followed at once by one of `second`."""
    for block, following in pairwise(blocks):
        if block.language == first and following.language == second:
            yield block, following
