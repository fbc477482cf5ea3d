"""The overview's charts: what they draw, and the same figures as words and as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from gateway.statistics import LatencyDay, MemoryDay, RequestDay
from memory.records import MEMORY_TYPES, MemoryType
from studio.views.request_rows import tell_milliseconds
from studio.wire_words import name_word
from studio.wording import write_number, write_short_number

ChartKind = Literal["stack", "columns", "lines"]
Value = float | int | None
# With fewer days a line says less than the figures themselves.
MIN_POINTS: Final = 5
MAX_LINES: Final = 5
# Token of the stylesheet and dash of each line; the classes line-1 to line-5 draw the same in the legend.
LINE_STYLES: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (
    ("--leg-keyword", ()),
    ("--leg-vector", (5, 3)),
    ("--procedural", (1.5, 3)),
    ("--semantic", (9, 3, 2, 3)),
    ("--factual", (2, 6)),
)


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """`mark` is the class of its sign in the legend; `last` its newest figure in words."""

    label: str
    token: str
    dash: tuple[float, ...]
    mark: str
    values: list[Value]
    last: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`summary` says what the drawing shows to those who don't see it. `points` counts the days with figures."""

    id: str
    kind: ChartKind
    title: str
    aside: str
    summary: str
    legend_note: str
    unit: str
    labels: list[str]
    series: list[ChartSeries]
    points: int
    rows: list[tuple[str, list[str]]]

    @property
    def is_drawn(self) -> bool:
        return self.points >= MIN_POINTS

    @property
    def data_id(self) -> str:
        return f"chart-{self.id}-data"

    @property
    def data(self) -> dict[str, Any]:
        """What charts.js draws."""
        series = [{"label": it.label, "token": it.token, "dash": it.dash, "values": it.values} for it in self.series]
        return {"kind": self.kind, "unit": self.unit, "labels": self.labels, "series": series}


def build_growth_chart(days: Sequence[MemoryDay]) -> Chart:
    series = [
        ChartSeries(
            label=_name_type(kind),
            token=f"--{kind}",
            dash=(),
            mark=kind,
            values=[day.by_type[kind] for day in days],
            last=write_number(days[-1].by_type[kind]),
        )
        for kind in MEMORY_TYPES
    ]
    told = _("Memories by type over {days} days, from {first} to {last}")
    figures = {"first": write_short_number(days[0].total), "last": write_short_number(days[-1].total)}
    return _build_chart(
        "growth",
        "stack",
        series,
        [day.day for day in days],
        write_number,
        title=_("Memories by type"),
        summary=told.format(days=len(days), **figures),
        legend_note=_("From bottom to top, of those that are still there."),
        points=_count_from_first([day.total for day in days]),
    )


def build_token_chart(days: Sequence[RequestDay]) -> Chart:
    values: list[Value] = [day.memory_tokens for day in days]
    series = [ChartSeries(_("Tokens"), "--accent", (), "col", values, write_short_number(days[-1].memory_tokens))]
    told = _("Tokens that memories added a day over {days} days, {today} today")
    return _build_chart(
        "tokens",
        "columns",
        series,
        [day.day for day in days],
        write_number,
        title=_("Injected tokens a day"),
        summary=told.format(days=len(days), today=write_number(days[-1].memory_tokens)),
        legend_note=_("Today is not over yet; its bar is faint."),
        points=_count_from_first([day.requests for day in days]),
    )


def build_latency_chart(days: Sequence[LatencyDay], tiers: Sequence[str]) -> Chart:
    """`tiers` in the order of their use; only the first few get a line."""
    series = []
    for number, (tier, (token, dash)) in enumerate(zip(tiers[:MAX_LINES], LINE_STYLES, strict=False), start=1):
        values: list[Value] = [day.p95_ms.get(tier) for day in days]
        newest = next((value for value in reversed(values) if value is not None), None)
        series.append(ChartSeries(name_word(tier), token, dash, f"line-{number}", values, _write_ms(newest)))
    told = _("Search time by tier over {days} days, 95th percentile: {lines}")
    lines = ", ".join(f"{it.label} {it.last}" for it in series)
    return _build_chart(
        "latency",
        "lines",
        series,
        [day.day for day in days],
        _write_ms,
        title=_("Search time by tier"),
        aside=_("95 % are faster"),
        summary=told.format(days=len(days), lines=lines),
        unit="ms",
        points=sum(bool(day.p95_ms) for day in days),
    )


def draw_spark(values: Sequence[float]) -> str:
    """Return the path of a small line, 100 wide and 24 high; "" where there is too little to compare."""
    if sum(map(bool, values)) < MIN_POINTS or max(values) == min(values):
        return ""
    low, high, last = min(values), max(values), len(values) - 1
    points = (f"{100 * at / last:.1f},{22 - 20 * (value - low) / (high - low):.1f}" for at, value in enumerate(values))
    return f"M{' '.join(points)}"


def _build_chart(
    id: str,
    kind: ChartKind,
    series: list[ChartSeries],
    days: Sequence[date],
    write: Callable[[Any], str],
    *,
    title: str,
    summary: str,
    points: int,
    aside: str = "",
    legend_note: str = "",
    unit: str = "",
) -> Chart:
    labels = [date_format(day, pgettext("day of a chart", "j M")) for day in days]
    rows = [
        (labels[at], ["–" if it.values[at] is None else write(it.values[at]) for it in series])
        for at in reversed(range(len(days)))
    ]
    return Chart(id, kind, title, aside, summary, legend_note, unit, labels, series, points, rows)


def _name_type(kind: MemoryType) -> str:
    names = {
        "factual": _("factual"),
        "episodic": _("episodic"),
        "procedural": _("procedural"),
        "semantic": _("semantic"),
    }
    return names[kind]


def _count_from_first(values: Sequence[int]) -> int:
    """How many days there are from the first that has a figure on."""
    first = next((at for at, value in enumerate(values) if value), len(values))
    return len(values) - first


def _write_ms(value: float | None) -> str:
    return "–" if value is None else tell_milliseconds(value)
