"""Figures and moments in words, in the operator's language and zone."""

from datetime import datetime
from typing import Final

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
# Beyond this the date says more than a number of days.
RELATIVE_DAYS: Final = 60
SHORTENED_FROM: Final = 100_000


def write_number(value: float | int) -> str:
    """128,407 or 0.94: with the separators of the language."""
    return number_format(value, use_l10n=True, force_grouping=True)


def write_short_number(value: float | int) -> str:
    """128 k, 3.1 M; exact below 100,000."""
    if abs(value) < SHORTENED_FROM:
        return write_number(value)
    if abs(value) < 999_500:
        return _("%(number)s k") % {"number": write_number(round(value / 1000))}
    if abs(value) < 999_500_000:
        return _("%(number)s M") % {"number": _round_shortly(value / 1_000_000)}
    return _("%(number)s G") % {"number": _round_shortly(value / 1_000_000_000)}


def write_percent(part: float | int, whole: float | int) -> str:
    """97.1 %, and 100 % or 0 % only where it is exactly that; "" when there is nothing to take a share of."""
    if not whole:
        return ""
    share = 100 * part / whole
    if 0 < share < 100:
        share = min(max(round(share, 1), 0.1), 99.9)
    return _("%(number)s %%") % {"number": number_format(share, decimal_pos=0 if share in (0, 100) else 1)}


def tell_moment(moment: datetime) -> str:
    """12 Mar 2026, 14:02:11 (Europe/Vilnius)."""
    local = timezone.localtime(moment)
    return f"{date_format(local, 'j M Y, H:i:s')} ({timezone.get_current_timezone_name()})"


def tell_age(moment: datetime, now: datetime) -> str:
    """3 min ago, yesterday, in 3 d; a date where that says more."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) >= RELATIVE_DAYS * DAY:
        return date_format(timezone.localtime(moment), "j M Y")
    return _tell_future(-seconds) if seconds < -MINUTE else _tell_past(max(seconds, 0))


def tell_duration(seconds: float) -> str:
    """18 s, 4 min, 2 h 5 min."""
    if seconds < MINUTE:
        return _("%(number)d s") % {"number": round(seconds)}
    minutes = round(seconds / MINUTE)
    if minutes < 60:
        return _("%(number)d min") % {"number": minutes}
    return _("%(hours)d h %(minutes)d min") % {"hours": minutes // 60, "minutes": minutes % 60}


def _tell_past(seconds: float) -> str:
    if seconds < 10:
        return _("just now")
    if seconds < MINUTE:
        return _("%(number)d s ago") % {"number": seconds}
    if seconds < HOUR:
        return _("%(number)d min ago") % {"number": seconds // MINUTE}
    if seconds < DAY:
        return _("%(number)d h ago") % {"number": seconds // HOUR}
    days = int(seconds // DAY)
    return _("yesterday") if days == 1 else _("%(number)d d ago") % {"number": days}


def _tell_future(seconds: float) -> str:
    if seconds < HOUR:
        return _("in %(number)d min") % {"number": round(seconds / MINUTE)}
    if seconds < DAY:
        return _("in %(number)d h") % {"number": round(seconds / HOUR)}
    return _("in %(number)d d") % {"number": round(seconds / DAY)}


def _round_shortly(value: float) -> str:
    return number_format(value, decimal_pos=1 if value < 100 else 0)
