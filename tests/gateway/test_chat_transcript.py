"""What is heard in an answer, whatever the network and the upstream have made of it."""

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import transcript
from gateway.transcript import StreamReader, join_surrogates, read_answer_text


def event(content: Any, index: Any = 0, line_end: bytes = b"\n") -> bytes:
    delta = {"choices": [{"index": index, "delta": {"content": content}}]}
    return b"data: " + json.dumps(delta, ensure_ascii=False).encode() + line_end * 2


def listen(*chunks: bytes, encoding: str = "") -> StreamReader:
    reader = StreamReader(encoding)
    for chunk in chunks:
        reader.feed(chunk)
    reader.close()
    return reader


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    chunks, start = [], 0
    for size in sizes:
        chunks.append(data[start : start + size])
        start += size
    return [*chunks, data[start:]]


SPOKEN = "I prefer 北京 🍵 naïve שלום."


@given(st.lists(st.integers(0, 9), max_size=80), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_cuts_anywhere_change_nothing(sizes: list[int], line_end: bytes) -> None:
    stream = (
        b": hello" + line_end * 2
        + event("I prefer 北", line_end=line_end) + event("京 🍵 naïve שלום.", line_end=line_end)
        + b"data:[DONE]" + line_end * 2
    )  # fmt: skip
    reader = listen(*cut(stream, sizes))
    assert (reader.text, reader.has_ended, reader.has_failed) == (SPOKEN, True, False)


def test_every_byte_may_come_alone() -> None:
    stream = event(SPOKEN) + b"data: [DONE]\n\n"
    assert listen(*(stream[at : at + 1] for at in range(len(stream)))).text == SPOKEN


def test_the_end_is_known_before_its_line_is_complete() -> None:
    reader = StreamReader("")
    reader.feed(event("tea") + b"data: [DON")
    assert not reader.has_ended
    reader.feed(b"E]")
    assert reader.has_ended and reader.text == "tea"


def test_halves_of_a_character_in_two_events_are_joined() -> None:
    first = b'data: {"choices":[{"index":0,"delta":{"content":"tea \\ud83c"}}]}\n\n'
    second = b'data: {"choices":[{"index":0,"delta":{"content":"\\udf75 \\ud83c"}}]}\n\n'
    assert listen(first, second).text == "tea 🍵 "


def test_an_event_without_closing_blank_line_still_counts_at_the_end() -> None:
    assert listen(event("tea").rstrip()).text == "tea"


@pytest.mark.parametrize(
    "noise",
    [
        b"data: {broken\n\n",
        b"data: [1]\n\n",
        b'data: {"choices":[]}\n\n',
        b'data: {"choices":null,"usage":{}}\n\n',
        b'data: {"choices":[{"index":0}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":null}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{}]}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n',
        event("other choice", index=1),
        b"event: ping\nid: 5\nretry: 10\n\n",
        b"data\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"\xff\xfe\x00\n",
    ],
)
def test_what_is_no_text_of_the_first_choice_is_passed_over(noise: bytes) -> None:
    assert listen(event("I prefer "), noise, event("tea")).text == "I prefer tea"


def test_data_of_several_lines_is_one_event() -> None:
    assert listen(b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"tea"}}]}\n\n').text == "tea"


def test_content_may_be_a_list_of_parts() -> None:
    assert listen(event([{"type": "text", "text": "te"}, {"type": "x"}]), event(["a"])).text == "tea"


def test_an_error_event_is_noticed() -> None:
    assert listen(event("tea"), b'data: {"error":{"message":"overloaded"}}\n\ndata: [DONE]\n\n').has_failed


def test_only_the_end_of_a_long_answer_is_kept() -> None:
    text = listen(*(event(f"{number:07}") for number in range(60_000))).text
    assert len(text) == transcript.MAX_TEXT_CHARS and text.endswith("00599980059999")


def test_a_line_without_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 100)
    assert listen(b"data: " + b"x" * 90, b"y" * 90, b"z" * 90 + b"\n\n", event("tea")[:20], event("tea")[20:]).text


# --- encodings ---
@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("identity", bytes),
    ],
)
def test_encoded_streams_are_read(encoding: str, encode: Any) -> None:
    data = encode(event("I prefer ") + event("tea"))
    assert listen(*cut(data, [1, 2, 3, 10]), encoding=encoding).text == "I prefer tea"


def test_a_gzip_member_for_each_event_is_read() -> None:
    members = [gzip.compress(event(word)) for word in ("I ", "prefer ", "tea")]
    assert listen(*members, encoding="gzip").text == "I prefer tea"
    assert listen(b"".join(members), encoding="gzip").text == "I prefer tea"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
def test_an_unknown_encoding_gives_no_text(encoding: str) -> None:
    assert listen(event("tea"), encoding=encoding).text == ""


def test_broken_compression_gives_no_text() -> None:
    assert listen(b"\x1f\x8b nonsense" * 50, encoding="gzip").text == ""


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_DECODED_BYTES", 1000)
    assert read_answer_text(gzip.compress(json.dumps(answer("a" * 2000)).encode()), "gzip") == ""


# --- whole answers ---
def answer(content: Any, **others: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}], **others}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (answer("I prefer tea"), "I prefer tea"),
        (answer([{"type": "text", "text": "a"}, {"type": "refusal"}, {"type": "text", "text": "b"}]), "a\nb"),
        (answer(None), ""),
        ({"choices": []}, ""),
        ({"choices": [None]}, ""),
        ({"choices": [{"message": None}]}, ""),
        ({"choices": [{"message": {"content": "first"}}, {"message": {"content": "second"}}]}, "first"),
        ({"choices": [{"index": 1, "message": {"content": "b"}}, {"index": 0, "message": {"content": "a"}}]}, "a"),
        ({}, ""),
        ([], ""),
        (answer("tea", error={"message": "x"}), ""),
        (answer("a\0b \ud83d c"), "ab  c"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "tool_use"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"output_text": "a"}, "a"),
        ({**answer("first"), "content": [{"type": "text", "text": "x"}], "output_text": "y"}, "first"),
        ({"content": "loose", "output_text": ["y"]}, ""),
    ],
)
def test_the_first_choice_of_an_answer_is_read(body: Any, text: str) -> None:
    assert read_answer_text(json.dumps(body).encode(), "") == text


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b'{"n":' + b"9" * 5000 + b"}"])
def test_a_body_that_is_no_answer_has_no_text(body: bytes) -> None:
    assert read_answer_text(body, "") == ""


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    cleaned = join_surrogates(text)
    assert "\0" not in cleaned and cleaned.encode().decode() == cleaned
