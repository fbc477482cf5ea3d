"""The whole way, as users go it: the official client, a really running server, a kill in between."""

from collections.abc import Callable
from typing import Any

import pytest
from openai import APIError, OpenAI

from tests.live_server import Key, LiveServer
from tests.upstream_replies import Reset, chat_answer, delta_event, json_reply, sse_reply, stream_reply
from tests.upstream_stub import UpstreamStub


def connect(server: LiveServer, key: Key) -> OpenAI:
    return OpenAI(base_url=f"{server.base_url}/v1", api_key=key.bare, max_retries=0, timeout=20)


def say(client: OpenAI, text: str, *, stream: bool, **options: Any) -> str:
    messages: Any = [{"role": "user", "content": text}]
    if not stream:
        answer = client.chat.completions.create(model="m", messages=messages, **options)
        return answer.choices[0].message.content or ""
    events = client.chat.completions.create(model="m", messages=messages, stream=True, **options)
    return "".join(event.choices[0].delta.content or "" for event in events if event.choices)


def sent_text(upstream: UpstreamStub) -> str:
    return "\n".join(message["content"] for message in upstream.last.messages)


@pytest.mark.parametrize("stream", [True, False])
def test_what_was_said_in_one_chat_is_known_in_the_next(
    live_server_process: LiveServer, upstream: UpstreamStub, stream: bool
) -> None:
    server, key, stranger = live_server_process, live_server_process.take_key(), live_server_process.take_key()
    upstream.reply_with(sse_reply(["Noted", "."]) if stream else json_reply(chat_answer("Noted.")))
    client = connect(server, key)

    statement = "I prefer TypeScript, and I decided to use Postgres for this project."
    assert say(client, statement, stream=stream) == "Noted."
    server.wait_for_jobs()
    question = "Which language and which database do I use for this project?"
    say(client, question, stream=stream)
    block = upstream.last.messages[0]["content"]
    assert block.startswith("Memory context: ") and "TypeScript" in block and "Postgres" in block

    say(connect(server, stranger), question, stream=stream)
    assert upstream.last.messages == [{"role": "user", "content": question}]

    quiet = {"extra_headers": {"x-omniroute-no-memory": "true"}}
    say(client, "I prefer Rust over everything.", stream=stream, **quiet)
    assert upstream.last.messages == [{"role": "user", "content": "I prefer Rust over everything."}]
    assert not [content for content in server.list_contents(key) if "Rust" in content]


def test_a_dislike_is_told_as_a_dislike(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    client = connect(server, key)
    say(client, "I don't like Python.", stream=False)
    server.wait_for_jobs()
    say(client, "Shall we use Python?", stream=False)
    (line,) = upstream.last.messages[0]["content"].removeprefix("Memory context: ").split("\n")
    assert "Python" in line and "not like" in line


def test_a_kill_between_answer_and_extraction_loses_nothing(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub
) -> None:
    server = launch_server(EMBEDDED_WORKER="false")  # so that the kill surely comes before the extraction
    server.change_settings(enabled=True)
    key = server.take_key()
    say(connect(server, key), "I decided to use Postgres for this project.", stream=False)
    upstream.reply_with(sse_reply(["Noted."]))
    say(connect(server, key), "I prefer TypeScript.", stream=True)
    server.kill()

    server.environment["EMBEDDED_WORKER"] = "true"
    server.start()
    contents = " ".join(server.list_contents(key))
    assert "TypeScript" in contents and "Postgres" in contents


def test_a_broken_stream_is_an_error_to_the_client(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    upstream.queue(stream_reply([delta_event("half an"), Reset()], ends=False))
    with pytest.raises(APIError):
        say(connect(live_server_process, live_server_process.take_key()), "hi", stream=True)
