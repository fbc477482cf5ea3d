"""The door for chat clients: `/v1/chat/completions` and `/v1/models`."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from core.error_handler import error_response, refuse_method, translate_error
from core.errors import AppError, UpstreamError
from core.middleware import read_request_id
from core.providers.client import UpstreamReply, list_models, open_chat
from gateway.calls import OpenCall
from gateway.chat import Exchange, PreparedChat, authenticate, prepare_chat, queue_extraction
from gateway.streaming import RelayedStream, StreamedAnswer, read_answer
from gateway.threads import READING, WRITING
from gateway.transcript import read_answer_text

STREAM_TYPE: Final = "text/event-stream"
# Proxies in front of us must neither keep a stream nor wait until it is complete.
STREAM_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@csrf_exempt
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    if request.method != "POST":
        return refuse_method("POST")
    try:
        with OpenCall(read_request_id(request)) as call:
            prepared = await READING.run(_prepare, request, call)
            reply = await open_chat(prepared.route, prepared.body, request.headers)
            return await _answer(reply, prepared, call)
    except (AppError, OperationalError) as error:
        return _tell_error(error)


@csrf_exempt
async def models(request: HttpRequest) -> HttpResponseBase:
    if request.method != "GET":
        return refuse_method("GET")
    try:
        await READING.run(authenticate, request.headers)
        return JsonResponse({"object": "list", "data": await list_models()})
    except (AppError, OperationalError) as error:
        return _tell_error(error)


def _prepare(request: HttpRequest, call: OpenCall) -> PreparedChat:
    """In a thread: everything that reads the body or the database."""
    caller = authenticate(request.headers)
    call.name_caller(caller)
    return prepare_chat(caller, request.body, request.headers, call)


async def _answer(reply: UpstreamReply, prepared: PreparedChat, call: OpenCall) -> HttpResponseBase:
    # A refusal says nothing that anybody meant.
    exchange = prepared.exchange if reply.status == 200 else None
    headers = {**reply.headers, **_build_report(prepared)}
    content_type = headers.get("content-type", "")
    if content_type.strip().lower().startswith(STREAM_TYPE):
        stream = RelayedStream(reply, partial(queue_extraction, exchange) if exchange else None, call)
        call.hand_on()
        return _set_headers(StreamedAnswer(stream, reply.status), {**headers, **STREAM_HEADERS})
    call.mark_first_byte()
    body = await _read_and_learn(reply, exchange, call)
    call.answer(reply.status, headers.get("retry-after", ""))
    return _set_headers(HttpResponse(body, status=reply.status), {**headers, "Content-Length": str(len(body))})


async def _read_and_learn(reply: UpstreamReply, exchange: Exchange | None, call: OpenCall) -> bytes:
    """Read a whole answer; the job that learns from it is written before the client gets it."""
    if exchange is None and not call.keeps_text:
        return await read_answer(reply)
    try:
        body = await read_answer(reply)
    except (UpstreamError, asyncio.CancelledError):
        if exchange is not None:
            await WRITING.run_surely(queue_extraction, exchange, "")
        raise
    await WRITING.run_surely(_learn_from_answer, exchange, body, reply.content_encoding, call)
    return body


def _learn_from_answer(exchange: Exchange | None, body: bytes, content_encoding: str, call: OpenCall) -> None:
    text = read_answer_text(body, content_encoding)
    call.keep_answer_text(text)
    if exchange is not None:
        queue_extraction(exchange, text)


def _build_report(prepared: PreparedChat) -> dict[str, str]:
    return {
        "x-omniroute-memories-injected": str(prepared.memories_injected),
        "x-omniroute-memory-tokens": str(prepared.memory_tokens),
        "x-omniroute-session-id": prepared.session_id,
    }


def _set_headers(response: HttpResponseBase, headers: Mapping[str, str]) -> HttpResponseBase:
    del response.headers["Content-Type"]  # Django's guess; an answer without one keeps none
    for name, value in headers.items():
        response.headers[name] = value
    return response


def _tell_error(error: Any) -> HttpResponseBase:
    told = translate_error(error)
    if not isinstance(error, AppError) and told.status == 500:
        raise error
    return error_response(told)
