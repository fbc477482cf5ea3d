"""Requests made up from the schema, sent to a running server: no failure of the server, every answer as declared."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from omniroute.openapi.document import build_document
from tests.live_server import LiveServer, preparation, session_server, session_upstream  # noqa: F401

pytestmark = pytest.mark.slow
load_all_checks()
# What can be asked of any request, well made or not.
ASKED = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
        "unsupported_method",
    ]
)
EXAMPLES = 8


@pytest.fixture(autouse=True)
def plain_settings(session_server: LiveServer) -> Iterator[None]:  # noqa: F811
    """Made-up settings must not decide how the next operation answers."""
    yield
    session_server.change_settings(
        primaryBackend="sqlite", fallbackBackends=[], vectorStore="auto", embeddingSource="auto", customBaseUrl=None
    )


schema = schemathesis.openapi.from_dict(build_document())


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_schema_says(case: Any, session_server: LiveServer) -> None:  # noqa: F811
    key = f"Bearer {session_server.management_key}"
    case.call_and_validate(session_server.base_url, headers={"Authorization": key}, checks=ASKED, timeout=30)
