"""REST doors of moving in and out, and of erasing."""

import io
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import RawPostDataException, UnreadablePostError
from django.utils import timezone
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import FieldError, InvalidFieldsError, InvalidRequestError
from core.fields import validate_body, validate_query
from core.json_body import read_json_object
from core.rest_view import RestView
from core.words import gettext as _
from memory.background import Work
from memory.erasing import plan_erase, start_erase
from memory.records import EraseScope
from memory.serializers import make_filter
from memory.transfer import (
    ImportTicket,
    drop_upload,
    export_array,
    export_jsonl,
    plan_import,
    run_import,
    stage_upload,
)
from memory.transfer_serializers import (
    EraseBody,
    ExportQuery,
    ImportQuery,
    make_options,
    render_erase_plan,
    render_plan,
    render_report,
)
from memory.work_serializers import answer_work, render_receipt

WRITERS: Final = {
    "jsonl": (export_jsonl, "application/x-ndjson"),
    "json": (export_array, "application/json"),
}


class ExportView(RestView):
    """/api/memory/export: a file that comes as it is read, however many memories there are."""

    def get(self, request: Request) -> StreamingHttpResponse:
        values = validate_query(ExportQuery, request.query_params)
        write, content_type = WRITERS[values["format"]]
        name = f"memory-export-{timezone.now():%Y-%m-%dT%H-%M-%SZ}.{values['format']}"
        return StreamingHttpResponse(
            _stream(request, write(make_filter(values))),
            content_type=content_type,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


class FormParser(BaseParser):
    """What DRF asks for when it looks for the form token of a session: the form, where there is one."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> "DataAndFiles[Any, Any]":
        request: HttpRequest = (parser_context or {})["request"]._request
        return DataAndFiles(request.POST, request.FILES)


class ImportView(RestView):
    """/api/memory/import: the file is the body, or the field `file` of a form."""

    parser_classes = [FormParser]

    def post(self, request: Request) -> Response:
        values = validate_query(ImportQuery, request.query_params)
        options = make_options(values, request.query_params)
        with _hold_upload(request) as ticket:
            if values["dryRun"]:
                return Response(render_plan(plan_import(ticket, options)))
            return Response(render_report(run_import(ticket, options, is_strict=values["strict"])))


class EraseView(RestView):
    """/api/memory/erase"""

    def post(self, request: Request) -> Response:
        values = validate_body(EraseBody, read_json_object(request))
        scope = EraseScope(values["apiKeyId"], values.get("sessionId"))
        if values["dryRun"]:
            return Response(render_erase_plan(plan_erase(scope)))
        if "confirm" not in values:
            told = _("Is required: the number of memories that a dry run tells")
            raise InvalidFieldsError([FieldError("confirm", told)])
        erased = start_erase(scope, confirmed=values["confirm"], erased_by=_name_caller(request))
        return answer_work(erased) if isinstance(erased, Work) else Response(render_receipt(erased))


def _stream(request: Request, pieces: Iterator[bytes]) -> Iterator[bytes] | AsyncIterator[bytes]:
    """The first piece is read at once, so that what is wrong is told with a status. Under ASGI the others are read one
    by one, too: a plain iterator would be read to its end before the first byte leaves."""
    pieces = chain([next(pieces)], pieces)
    return _read_in_thread(pieces) if isinstance(request._request, ASGIRequest) else pieces


async def _read_in_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    read_next = sync_to_async(_read_next, thread_sensitive=True)
    while piece := await read_next(pieces):
        yield piece


def _read_next(pieces: Iterator[bytes]) -> bytes:
    return next(pieces, b"")


@contextmanager
def _hold_upload(request: Request) -> Iterator[ImportTicket]:
    ticket = stage_upload(*_read_upload(request))
    try:
        yield ticket
    finally:
        drop_upload(ticket)


def _read_upload(request: Request) -> tuple[Any, str]:
    """The file and its name, from a form or the bare body."""
    try:
        if not (request.content_type or "").startswith("multipart/form-data"):
            return io.BytesIO(request.body), "upload"
        file = request._request.FILES.get("file")
    except (MultiPartParserError, RawPostDataException, UnreadablePostError):
        raise InvalidRequestError(_("The body could not be read")) from None
    if file is None:
        raise InvalidFieldsError([FieldError("file", _("Is required: the file to import"))])
    return file, file.name or "upload"


def _name_caller(request: Request) -> str:
    user: Any = request.user
    return str(getattr(user, "name", "") or user.get_username())
