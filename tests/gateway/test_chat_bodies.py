"""Bodies of chat requests: what is no request is refused with the place of its fault."""

import json

import pytest

from tests.chat_messages import said
from tests.live_server import LiveServer
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("{}", "model"),
        ('{"model":"m"}', "messages"),
        ('{"model":"m","messages":[]}', "messages"),
        ('{"model":"m","messages":null}', "messages"),
        ('{"model":"m","messages":"hi"}', "messages"),
        ('{"model":"m","messages":[null]}', "messages.0"),
        ('{"model":"m","messages":[{}]}', "messages.0.role"),
        ('{"model":"m","messages":[[]]}', "messages.0"),
        ("[]", None),
        ("nope", None),
        ("", None),
    ],
)
def test_rw_021_a_request_without_messages_is_refused(
    live_server_process: LiveServer, upstream: UpstreamStub, body: str, param: str | None
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I prefer dark mode")
    response = server.client.post(CHAT, content=body, headers=key.headers)
    error = response.json()["error"]
    assert response.status_code == 400 and error["message"] and error["type"]
    assert error.get("param") == param
    assert not upstream.requests


def test_rw_021_the_content_type_does_not_matter(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    key = live_server_process.take_key()
    body = json.dumps({"model": "m", "messages": [said("user", "hi")]})
    headers = {**key.headers, "Content-Type": "text/plain"}
    assert live_server_process.client.post(CHAT, content=body, headers=headers).status_code == 200
    assert upstream.last.messages == [said("user", "hi")]
