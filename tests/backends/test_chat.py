"""Chats of a whole server whose memories another backend keeps: they carry them, and never wait or fail for it."""

from collections.abc import Callable

from tests.backends import obsidian_vault
from tests.backends.obsidian_vault import ObsidianVault
from tests.live_server import (  # noqa: F401
    LiveServer,
    launch_server,
    preparation,
    session_upstream,
    upstream,
)
from tests.upstream_replies import chat_answer
from tests.upstream_stub import UpstreamStub


def test_a_chat_carries_what_the_vault_holds_and_goes_on_without_it_when_it_is_gone(
    launch_server: Callable[..., LiveServer],  # noqa: F811
    upstream: UpstreamStub,  # noqa: F811
    vault: ObsidianVault,
) -> None:
    server = launch_server(BACKEND_CHAT_TIMEOUT_SECONDS="0.5")
    key = server.take_key()
    config = {"baseUrl": vault.url, "apiKey": obsidian_vault.KEY}
    server.change_settings(enabled=True, primaryBackend="obsidian", backendConfigs={"obsidian": config})
    server.remember(key, "I prefer green tea")
    [path] = vault.files
    vault.edit(path, vault.files[path].text.replace("green", "jasmine"))
    assert server.chat(key, "which tea?").status_code == 200
    assert upstream.last.messages[0]["content"] == "Memory context: I prefer jasmine tea"
    vault.delay_seconds = 3
    for is_stream in (False, True):
        response = server.chat(key, "which tea?", stream=is_stream)
        assert (response.status_code, response.json()) == (200, chat_answer("Hello."))
        assert [message["role"] for message in upstream.last.messages] == ["user"]
    vault.forget()
    assert "memory.backends.search_failed" in server.log_text
    assert "jasmine" not in server.log_text
