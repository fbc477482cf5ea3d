"""Blocks that are not the speaker's own words: code, quoted mail, logs, our injected memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

# Our own label, up to the next blank line or the end of the text.
_MEMORY_CONTEXT = re.compile(r"memory\s+context\W{0,4}:(?:[^\n]|\n(?!\n))*")
_FENCE = re.compile(r"```|^~~~+", re.M)
_HTML_COMMENT = re.compile(r"<!--|-->")
_STRUCK_THROUGH = re.compile(r"~~[^~\n]{1,400}~~")
_TAG = re.compile(r"<(/?)([a-z][\w-]{0,40})[^<>]{0,400}>")
_FORMATTING_TAGS = frozenset("b i u em strong span mark small p br div li ul ol h1 h2 h3 h4 h5 h6".split())

_MAIL_QUOTE = re.compile(r"^ ?>[^\n]*", re.M)
_FORWARDED = re.compile(r"^-{2,} ?(?:original|forwarded) message|^begin forwarded message", re.M)
_LOG_LINE = re.compile(
    r"^(?:\W?\d{4}-\d\d-\d\d[t ]\d\d:\d\d|\W?\d\d:\d\d:\d\d\b|\[?\d\d:\d\d\]|"
    r"\[(?:info|error|warn|warning|debug|trace|fatal|critical|notice)\]|"
    r"(?:info|error|warn|warning|debug|trace|fatal|critical) ?[:|])[^\n]*",
    re.M,
)
_CODE_COMMENT = re.compile(r"^(?://|#!|/\*|\*/|\$ |>>> )[^\n]*", re.M)
_DIFF_HEAD = re.compile(r"^(?:diff --git |@@ -\d|--- [ab]/|\+\+\+ [ab]/)", re.M)
_BLANK_LINE = re.compile(r"\n\n")

# A job on somebody's words ("Translate to Dutch: ..."): what stands after the colon is material. Verbs that
# are said of other things too ("fix my bike: ...") need a "this" before the colon.
_TEXT_JOB = re.compile(
    r"\b(?:translate|rewrite|re-write|rephrase|reword|paraphrase|proofread|proof-read|summari[sz]e|"
    r"classify|parse|"
    r"analy[sz]e|tokeni[sz]e|spell-?check|punctuate|transcribe|annotate|transliterate|repeat after me)\b"
    r"[^\n.!?:]{0,120}:|"
    r"\b(?:correct|fix|edit|polish|improve|shorten|condense|label|convert|simplify|continue|complete|"
    r"finish|"
    r"repeat|check|mark|grade|score)\b[^\n.!?:]{0,60} (?:this|these|the following|it|below)(?: \w+)? ?:"
)
# The same with the material in the next lines: "Translate the following." and a paragraph below.
_TEXT_JOB_ABOVE = re.compile(
    r"\b(?:translate|rewrite|rephrase|paraphrase|proofread|summari[sz]e|classify|correct|fix|edit|polish|"
    r"improve|check)\b[^\n.!?:]{0,60} (?:this|these|the following|below)(?: \w+){0,3}[.:!]?\n"
)
_SAMPLE = re.compile(
    r"\b(?:sentences?|phrases?|texts?|examples?|lyrics|slogans?|titles?|captions?|quotes?|mottos?|prompts?|"
    r"paragraphs?|essays?|tweets?|e-?mails?|reviews?|transcripts?|letters?|passages?|(?<!other )words|"
    r"(?<!long )story|novel|chapter|scene|excerpts?|"
    r"snippets?|comments?|headlines?|input|dialogues?|poems?|verses?|statements?|testimonials?|mantras?|"
    r"bios?|jokes?|posts?|status|signature)\b(?: [\w']+){0,3}:"
)
_TOPIC_OPENER = re.compile(r"\b(?:regarding|about|on|for|re|concerning)\b[^\n.!?]*$")
_SPEAKERS = (
    "user|assistant|system|human|ai|bot|chatbot|customer|client|agent|interviewer|interviewee|narrator|"
    "speaker|"
    "guest|host|caller|patient|therapist|doctor|teacher|student|waiter|clerk|buyer|seller|q|a|he|she|him|"
    "her|them"
)
_SPEAKER_LINE = re.compile(rf"^(?:{_SPEAKERS})(?: ?\d{{1,2}})? ?:[^\n]*", re.M)
_TOPICS = frozenset(
    "food drink music work home sport travel colour color morning evening breakfast lunch dinner update "
    "note correction edit also goal plan budget diet hobby language editor backend frontend database "
    "style tone context background question answer summary me monday tuesday wednesday thursday friday "
    "saturday sunday today tomorrow".split()
)
_NAMED_LINE = re.compile(r"^[A-Z][a-z]{1,15}(?: [A-Z][a-z]{0,15}\.?)? ?: [^\n]*", re.M)


def blank_foreign_blocks(text: str, view: str) -> str:
    """Return `text` with every foreign block overwritten by line breaks: no clause reaches across one."""
    for find_spans in (_find_memory_blocks, _find_delimited_blocks, _find_lines, _find_material):
        spans = merge_spans(find_spans(text, view))
        text, view = overwrite(text, spans), overwrite(view, spans)
    return text


def overwrite(text: str, spans: Iterable[Span]) -> str:
    """Replace the given sorted, separate spans by line breaks; the length stays the same."""
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], "\n" * (end - start))
        done = end
    return "".join(pieces) + text[done:]


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and join those that overlap."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _find_memory_blocks(text: str, view: str) -> Iterator[Span]:
    return (found.span() for found in _MEMORY_CONTEXT.finditer(view))


def _find_delimited_blocks(text: str, view: str) -> Iterator[Span]:
    yield from _pair_fences(view)
    yield from _pair_comments(view)
    yield from _pair_tags(view)
    yield from (found.span() for found in _STRUCK_THROUGH.finditer(view))


def _pair_fences(view: str) -> Iterator[Span]:
    """Code fences; one that is never closed runs to the end."""
    opened: tuple[int, str] | None = None
    for found in _FENCE.finditer(view):
        kind = found.group()[0]
        if opened is None:
            opened = (found.start(), kind)
        elif opened[1] == kind:
            yield opened[0], found.end()
            opened = None
    if opened is not None:
        yield opened[0], len(view)


def _pair_comments(view: str) -> Iterator[Span]:
    opened: int | None = None
    for found in _HTML_COMMENT.finditer(view):
        if found.group() == "<!--":
            opened = found.start() if opened is None else opened
        elif opened is not None:
            yield opened, found.end()
            opened = None
    if opened is not None:
        yield opened, len(view)


def _pair_tags(view: str) -> Iterator[Span]:
    """`<memory>...</memory>` and every other element that carries data; plain formatting is no border."""
    opened: dict[str, int] = {}
    for found in _TAG.finditer(view):
        closing, name = found.groups()
        if name in _FORMATTING_TAGS:
            continue
        if not closing:
            opened.setdefault(name, found.start())
        elif name in opened:
            yield opened.pop(name), found.end()
    if "memory" in opened:  # never closed: the rest of the text is suspect
        yield opened["memory"], len(view)


def _find_lines(text: str, view: str) -> Iterator[Span]:
    for pattern in (_MAIL_QUOTE, _LOG_LINE, _CODE_COMMENT, _SPEAKER_LINE):
        yield from (found.span() for found in pattern.finditer(view))
    named = [found for found in _NAMED_LINE.finditer(text) if not _is_topic(found.group())]
    if len({found.group().partition(":")[0] for found in named}) > 1:  # a transcript has several speakers
        yield from (found.span() for found in named)
    forwarded = _FORWARDED.search(view)
    if forwarded:
        yield forwarded.start(), len(view)
    diff = _DIFF_HEAD.search(view)
    if diff:
        yield diff.start(), _find_paragraph_end(view, diff.start())


def _is_topic(line: str) -> bool:
    """ "Pros: ..." and "Food: ..." head a subject, not a speaker."""
    label = line.partition(":")[0].rstrip().lower()
    return label.endswith(("s", "ing")) or label in _TOPICS


def _find_material(text: str, view: str) -> Iterator[Span]:
    """The words after "Translate this:" up to the paragraph's end, after "Motto:" up to the line's end."""
    for pattern in (_TEXT_JOB, _TEXT_JOB_ABOVE):
        done = 0
        for found in pattern.finditer(view):
            if found.end() < done:
                continue
            start = found.end()
            while start < len(view) and view[start] in " \n":
                start += 1
            done = _find_paragraph_end(view, start)
            yield found.end(), done
    for found in _SAMPLE.finditer(view):
        if _TOPIC_OPENER.search(view, max(0, found.start() - 60), found.start()):
            continue
        end = view.find("\n", found.end())
        yield found.end(), len(view) if end < 0 else end


def _find_paragraph_end(view: str, start: int) -> int:
    blank = _BLANK_LINE.search(view, start)
    return blank.start() if blank else len(view)
