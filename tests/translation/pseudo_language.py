"""A translation of everything, made by the commands that translators use: each text in brackets, accented, longer."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from tests.live_server import ROOT

# Django's own words are in letters that none of ours has, and it is written from right to left.
LANGUAGE: Final = "ar"
OPEN, CLOSE = "⟦", "⟧"
SOURCES: Final = ("core", "embeddings", "qdrant_admin", "memory", "gateway", "studio", "omniroute", "templates")
ACCENTED: Final = str.maketrans("aceginorsuyAEINORSU", "áçéğíñøřšúýÅÉÍÑØŘŠÚ")
LONGER_BY: Final = 0.4
FILLER: Final = "łøŋğ "
# What a translator must leave as it is: placeholders, markup, line ends.
KEPT: Final = re.compile(r"(%\(\w+\)[#0\- +]*[\d.]*[a-z]|%%|\{\w*\}|<[^>]+>|&\w+;|\n)")


def disguise(text: str) -> str:
    """Return the text as the pseudo-language says it."""
    parts = KEPT.split(text)
    said = "".join(part if KEPT.fullmatch(part) else part.translate(ACCENTED) for part in parts)
    filler = (FILLER * len(text))[: round(len(text) * LONGER_BY)].strip()
    return f"{OPEN}{said} {filler}{CLOSE}"


def make_translation(folder: Path) -> Path:
    """Translate a copy of the sources in `folder` and return its folder of translations, compiled.

    A copy, because Django writes what it takes out of a template beside it.
    """
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("bundled"))
    # The model is no source.
    (folder / "embeddings" / "bundled").symlink_to(ROOT / "embeddings" / "bundled")
    shutil.copy(ROOT / "manage.py", folder)
    told = run_command(folder, "makemessages", "--locale", LANGUAGE, "--no-location")
    assert "warning" not in told, told
    fill(folder / "locale" / LANGUAGE / "LC_MESSAGES" / "django.po")
    run_command(folder, "compilemessages", "--locale", LANGUAGE)
    return folder / "locale"


def fill(path: Path) -> None:
    with path.open("rb") as file:
        catalog: Catalog = read_po(file, locale=LANGUAGE)
    for message in catalog:
        if message.id:
            message.string = _translate(message, catalog.num_plurals)
    catalog.fuzzy = False
    with path.open("wb") as file:
        write_po(file, catalog)


def _translate(message: Message, forms: int) -> str | tuple[str, ...]:
    if isinstance(message.id, str):
        return disguise(message.id)
    singular, plural = message.id
    return (disguise(singular), *[disguise(plural)] * (forms - 1))


def run_command(folder: Path, *arguments: str) -> str:
    """Run it and return what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "DATA_DIR": str(folder / "data")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
