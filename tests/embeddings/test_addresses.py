"""The custom endpoint behind the outbound policy: what is refused, and that a refusal tells nothing."""

import socket
from typing import Any

import pytest

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.base import EmbeddingError
from embeddings.resolver import embed_documents, embed_query, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.stub_api import Reply, StubApi

REFUSAL = "Custom embedding endpoint is invalid or blocked"

LOOPBACK_SPELLINGS = [
    "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://017700000001/",
    "http://①②⑦.0.0.1/", "http://127。0。0。1/", "http://localhost./", "http://LOCALHOST/", "http://[::1]/",
    "http://[::ffff:127.0.0.1]/", "http://127.0.0.1.nip.io/",
]  # fmt: skip
BROKEN = [
    "http://example.com@127.0.0.1/", "http://127.0.0.1#@example.com/", "http:\\\\127.0.0.1\\", "//127.0.0.1", "ftp://x",
    "file:///etc/passwd", "gopher://127.0.0.1:6379/_", "http://127.0.0.1:99999/", " http://127.0.0.1",
    "http://127.0.0.1/?key=1", "http://user:pass@example.com/", "http://", "example.com",
]  # fmt: skip
METADATA = [
    "http://169.254.169.254/", "http://metadata.google.internal/", "http://[::ffff:169.254.169.254]/",
    "http://2852039166/", "http://0xa9fea9fe/", "http://[fd00:ec2::254]/", "http://169.254.169.254./",
]  # fmt: skip


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every attempt to dial, none of which is let through; `127.0.0.1.nip.io` resolves as it does in the world."""
    dialled: list[Any] = []

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    def dial(address: Any, *_: Any, **__: Any) -> None:
        dialled.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", dial)
    return dialled


def refuse(url: str) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embed_query(build_config(custom=url, custom_model="m"), "one", timeout_seconds=2.0)
    return caught.value


@pytest.mark.parametrize("url", LOOPBACK_SPELLINGS + BROKEN + METADATA)
def test_rw_071_no_spelling_of_an_address_passes_where_private_ones_are_refused(
    settings: Any, no_sockets: list[Any], url: str
) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    error = refuse(url)
    assert error.message == REFUSAL
    assert no_sockets == []


@pytest.mark.parametrize("url", BROKEN)
def test_rw_071_only_plain_http_urls_pass_where_private_ones_are_allowed(no_sockets: list[Any], url: str) -> None:
    assert refuse(url).message == REFUSAL
    assert no_sockets == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_rw_072_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(
    api: StubApi, db: None, pauses: list[float], status: int
) -> None:

    with StubApi() as trap:
        save_provider("home", ProviderChanges(base_url=api.url, api_key="emb-KEY-1234567890"))
        for target in (f"{trap.url}/embeddings", "http://169.254.169.254/latest/", "/embeddings", "//x"):
            api.answer = lambda asked, target=target: Reply(  # type: ignore[misc]
                status=status, headers={"location": target, "refresh": f"0; url={target}"}
            )
            results = (
                lambda: embed_query(build_config(provider_model="home/m"), "one"),
                lambda: embed_documents(build_config(provider_model="home/m"), ["one"]),
            )
            for ask in results:
                with pytest.raises(EmbeddingError) as caught:
                    ask()
                assert caught.value.reason == "request_failed"
        assert trap.asked == []
    assert len(api.asked) == 8


@pytest.mark.parametrize("rebound", ["127.0.0.1", "169.254.169.254"])
@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:{port}"])
def test_rw_073_a_name_that_resolves_otherwise_the_next_time_gains_nothing(
    settings: Any, monkeypatch: pytest.MonkeyPatch, api: StubApi, rebound: str, proxy: str
) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    if proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.format(port=api.port))
    answers = {"rebind.test": ["93.184.216.34"], "multi.test": ["93.184.216.34", "127.0.0.1"]}
    dialled: list[str] = []

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        addresses, answers["rebind.test"] = answers[host], [rebound]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    real_dial = socket.create_connection

    def dial(address: Any, *arguments: Any, **options: Any) -> Any:
        dialled.append(address[0])
        if address[0] == "93.184.216.34":
            raise ConnectionRefusedError
        return real_dial(address, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", dial)
    assert resolve(build_config(custom=f"http://rebind.test:{api.port}", custom_model="m")).is_available
    for _ in range(3):
        refuse(f"http://rebind.test:{api.port}")
        refuse(f"http://multi.test:{api.port}")
    assert set(dialled) == {"93.184.216.34"}
    assert api.asked == []


def test_rw_074_loopback_works_by_default_and_is_refused_when_switched_off(settings: Any, api: StubApi) -> None:
    config = build_config(custom=api.url, custom_model="m")
    assert embed_query(config, "one").dimensions
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    assert refuse(api.url).message == REFUSAL
    assert resolve(config).reason == REFUSAL
    for url in ("http://10.0.0.5:8080", "http://[fd00::1]/"):
        assert refuse(url).message == REFUSAL
    assert len(api.asked) == 1


@pytest.mark.parametrize("url", METADATA)
def test_rw_074_metadata_is_refused_whatever_the_switch_says(no_sockets: list[Any], url: str) -> None:
    assert refuse(url).message == REFUSAL
    assert no_sockets == []


def test_the_address_of_a_provider_row_is_judged_as_well(settings: Any, api: StubApi, db: None) -> None:

    save_provider("home", ProviderChanges(base_url=api.url))
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    with pytest.raises(EmbeddingError) as caught:
        embed_query(build_config(provider_model="home/m"), "one")
    assert caught.value.reason == "request_failed"
    assert "127.0.0.1" not in caught.value.message
    assert api.asked == []
