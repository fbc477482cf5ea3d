"""How far a long job is: a bar that is drawn over on a terminal, plain lines every few seconds elsewhere."""

import time
from collections.abc import Callable
from typing import Final, Protocol

from django.core.management.base import OutputWrapper

BAR_CHARACTERS: Final = 30
LINE_SECONDS: Final = 5.0
QUIET_SECONDS: Final = 2.0
# What was done in less time than this tells no rate.
RATED_SECONDS: Final = 0.2


class Output(Protocol):
    """Django's wrapper of a stream, which ends what it writes with a line break unless told otherwise."""

    def write(self, msg: str = ..., *, ending: str | None = ...) -> None: ...

    def flush(self) -> None: ...


class ProgressLine:
    """Tells of the work that leads from `pending` open items to none; items that come meanwhile add to it."""

    def __init__(
        self,
        output: Output,
        pending: int,
        *,
        is_terminal: bool,
        read_clock: Callable[[], float] = time.monotonic,
        started_at: float | None = None,
    ) -> None:
        self._output = output
        self._started_with = pending
        self._is_terminal = is_terminal
        self._read_clock = read_clock
        self._started_at = read_clock() if started_at is None else started_at
        self._told_at = float("-inf")
        self._told = ""

    def show(self, pending: int) -> None:
        """Tell how far it is, if that is news."""
        done = max(self._started_with - pending, 0)
        text = self._write(done, done + pending)
        if self._is_terminal:
            self._output.write(f"\r{text.ljust(len(self._told))}", ending="")
            self._output.flush()
        elif text != self._told and (not pending or self._read_clock() - self._told_at >= LINE_SECONDS):
            self._output.write(text)
            self._told_at = self._read_clock()
        else:
            return
        self._told = text

    def end(self) -> None:
        """Leave the bar as it stands and go on below it."""
        if self._is_terminal and self._told:
            self._output.write("")

    def _write(self, done: int, total: int) -> str:
        share = done / total if total else 1.0
        seconds = self._read_clock() - self._started_at
        parts = [f"{done} of {total}", f"{share:.0%}"]
        if done and seconds >= RATED_SECONDS:
            rate = done / seconds
            parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            parts += [f"{write_duration((total - done) / rate)} left"] if done < total else []
        told = ", ".join(parts)
        if not self._is_terminal:
            return told
        filled = int(share * BAR_CHARACTERS)
        return f"[{'#' * filled}{'.' * (BAR_CHARACTERS - filled)}] {told}"


class LateProgress:
    """Tells how far a call is, as it says itself by (done, total), once it has taken longer than one likes to wait."""

    def __init__(self, output: OutputWrapper, *, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._read_clock = read_clock
        self._started_at = read_clock()
        self._line: ProgressLine | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._line is None and self._read_clock() - self._started_at < QUIET_SECONDS:
            return
        if self._line is None:
            # What is told is no error, so it has none of its colour.
            self._output.style_func = None
            self._line = ProgressLine(
                self._output,
                total,
                is_terminal=self._output.isatty(),
                read_clock=self._read_clock,
                started_at=self._started_at,
            )
        self._line.show(total - done)

    def end(self) -> None:
        """What is printed next begins on a line of its own."""
        if self._line is not None:
            self._line.end()


def write_duration(seconds: float) -> str:
    """Return a duration in the two largest units that matter: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
