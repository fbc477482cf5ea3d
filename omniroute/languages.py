"""Which languages pages can be shown in: English, and those that somebody has compiled a translation for."""

from pathlib import Path
from typing import Final

from django.conf.locale import LANG_INFO
from django.utils.translation import to_language

ENGLISH: Final = "en"


def list_languages(locale_folder: Path) -> list[tuple[str, str]]:
    """Return (code, what its speakers call it), English first.

    Without a translation of ours a language is none here, though Django brings its own words in many: a page would be
    half in one language, half in another.
    """
    compiled = sorted(locale_folder.glob("*/LC_MESSAGES/django.mo"))
    codes = dict.fromkeys([ENGLISH, *(to_language(path.parent.parent.name) for path in compiled)])
    return [(code, str(LANG_INFO.get(code, {}).get("name_local", code))) for code in codes]
