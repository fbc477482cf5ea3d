"""What any page names is there: files, headings, commands, variables, rooms, reasons; and no page tells too much."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.config import MEMORY_SECTION
from tests.docs.markdown import ROOT, list_blocks, list_links, list_pages, list_rows, list_words, read_page, unquote
from tests.docs.named_in_code import list_commands, list_readings

RETRIEVAL_REASONS = "Reason (begins with)"


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in list_links(page.read_text("utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in list_anchors(target), f"{page.name} links to {link}"


def list_anchors(page: Path) -> set[str]:
    """What headings are called in a link, as GitHub does it."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_commands_and_variables_named_anywhere_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    words = "\n".join([*list_words(text), *(block.text for block in list_blocks(text))])
    commands = set(re.findall(r"manage\.py ([a-z][a-z_]+)", words))
    django = {
        "check",
        "migrate",
        "makemigrations",
        "makemessages",
        "compilemessages",
        "shell",
        "createsuperuser",
        "changepassword",
        "help",
    }
    assert commands - django <= list_commands().keys()
    variables = set(re.findall(r"\b((?:MEMORY|HF|UPSTREAM|OUTBOUND|VECTOR_STORE|CELERY|METRICS|LOG)_[A-Z_]+)\b", words))
    assert variables <= list_readings().keys()


def test_settings_that_the_pages_change_exist() -> None:
    names = {field.name for field in MEMORY_SECTION.fields}
    for page in list_pages():
        for line in page.read_text("utf-8").splitlines():
            if "memory_settings " in line and "topk" not in line:
                assert set(re.findall(r"(?<![\w.])([a-z]\w+)=", line)) <= names | {"env"}, line


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_no_page_names_a_path_of_the_machine_it_was_written_on(page: Path) -> None:
    assert not re.search(r"(?<!\w)/(?:home|root|tmp|work|Users)/", page.read_text("utf-8"))


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / link).resolve() for link in list_links(read_page("README.md")) if "://" not in link}
    assert set(list_pages()) - {ROOT / "README.md"} <= linked


def test_documented_fallback_reasons_are_the_codes_words() -> None:
    """NAME in a reason stands for what is put in at run time."""
    sources = "\n".join(
        path.read_text() for storey in ("core", "embeddings", "memory") for path in list_sources(storey)
    )
    reasons = [unquote(row[0].split("` (")[0]) for row in list_rows(read_page("docs/retrieval.md"), RETRIEVAL_REASONS)]
    assert len(reasons) > 8
    for reason in reasons:
        assert all(part.strip() in sources for part in reason.split("NAME")), reason


def list_sources(storey: str) -> Iterator[Path]:
    return (ROOT / storey).rglob("*.py")


def test_the_rooms_of_the_architecture_exist() -> None:
    [rooms] = [block.text for block in list_blocks(read_page("ARCHITECTURE.md")) if "gateway/\n" in block.text]
    storey, room = ROOT, ROOT
    for line in rooms.splitlines():
        folder = re.match(r"( *)([\w/]+)/(?: {2,}|$)", line)
        if folder and not folder[1]:
            storey = room = ROOT / folder[2]
        elif folder:
            room = storey / folder[2]
        elif re.match(r"  \S", line):
            room = storey
        assert room.is_dir(), line
        for name in re.findall(r"(?<![\w/])\w+\.py\b", line):
            assert (room / name).is_file() or (room.is_dir() and (storey / name).is_file()), line
