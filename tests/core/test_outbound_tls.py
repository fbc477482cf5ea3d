"""TLS through the one door: the name is verified, although an address is dialled."""

import datetime
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from stub_upstream import StubUpstream, run_upstream

from core.errors import UpstreamError
from core.outbound import clients, telling_upstream_errors

Ask = Callable[..., httpx.Response]


@pytest.fixture
def tls_upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[StubUpstream, list[str]]]:
    """A TLS server called models.test whose authority the clients trust, and the names it was asked for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "models.test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("models.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "models.pem"
    pem.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    names: list[str] = []
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(pem)
    server_side.sni_callback = lambda connection, asked, context: names.append(asked or "")
    trusting = ssl.create_default_context(cafile=str(pem))
    monkeypatch.setattr(clients, "build_tls_context", lambda: trusting)
    with run_upstream(tls=server_side) as stub:
        yield stub, names


def test_tls_is_verified_for_the_name_and_not_for_the_address(
    ask: Ask, tls_upstream: tuple[StubUpstream, list[str]], resolve: Callable[..., None]
) -> None:
    stub, names = tls_upstream
    resolve("models.test", ["127.0.0.1"])
    resolve("other.test", ["127.0.0.1"])
    assert ask(f"https://models.test:{stub.port}/").status_code == 200
    assert names == ["models.test"]
    with pytest.raises(UpstreamError, match="trusted TLS"), telling_upstream_errors("The provider x"):
        ask(f"https://other.test:{stub.port}/")
    assert len(stub.requests) == 1


def test_an_unknown_authority_is_not_trusted(
    ask: Ask, tls_upstream: tuple[StubUpstream, list[str]], resolve: Any
) -> None:
    resolve("models.test", ["127.0.0.1"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "build_tls_context", ssl.create_default_context)
        with pytest.raises(httpx.ConnectError):
            ask(f"https://models.test:{tls_upstream[0].port}/")
    assert tls_upstream[0].requests == []
