"""A transport for the SDKs that use httpx: `Anthropic(http_client=httpx.Client(transport=EbbtideTransport(engine)))`.

Requests for the next message of a conversation are sent with the engine's view, and their answers are observed,
streams included. Everything else passes. Where the engine fails, a request goes out as it came.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from ebbtide import Engine, Held, View

__all__ = ["AsyncEbbtideTransport", "EbbtideTransport"]

log = logging.getLogger("ebbtide")

_PATHS = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
_DROPPED = {"content-length", "accept-encoding", "transfer-encoding"}


@dataclass
class _Exchange:
    """A request with its view."""

    engine: Engine
    view: View
    request: httpx.Request


def _begin(engine: Engine, request: httpx.Request, body: bytes) -> _Exchange | None:
    dialect = next((it for path, it in _PATHS.items() if request.url.path.endswith(path)), None)
    if dialect is None or request.method != "POST":
        return None
    try:
        key = request.headers.get("x-api-key") or request.headers.get("authorization") or ""
        # The key of the provider owns the conversation.
        own = engine.with_client(tenant=f"{engine.tenant}\x1f{key}", dialect=dialect)  # type: ignore[arg-type]
        came: View | Held = own.view(body)
        while isinstance(came, Held):
            if came.work is None:
                return None
            own.extract(came.work)
            came = own.resume(came)
        return _Exchange(own, came, _with_body(request, came.body, came.betas))
    except Exception as error:
        log.warning("the request goes out unchanged: %s", error)
        return None


def _with_body(request: httpx.Request, body: bytes, betas: list[str]) -> httpx.Request:
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in _DROPPED]
    # The engine reads the answer as it comes.
    headers.append(("accept-encoding", "identity"))
    if betas:
        named = [value for name, value in headers if name.lower() == "anthropic-beta"]
        headers = [(name, value) for name, value in headers if name.lower() != "anthropic-beta"]
        headers.append(("anthropic-beta", ",".join([*named, *betas])))
    return httpx.Request(
        request.method, request.url, headers=headers, content=body, extensions=request.extensions
    )


def _again(exchange: _Exchange, status: int, answer: bytes) -> httpx.Request | None:
    """The request to send once more, where this one was refused as too long."""
    body = exchange.engine.refused(exchange.view, status, answer)
    return None if body is None else _with_body(exchange.request, body, [])


def _end(exchange: _Exchange) -> None:
    try:
        work = exchange.engine.observe(exchange.view)
        if work is not None:
            exchange.engine.extract(work)
    except Exception as error:
        log.warning("the answer was not observed: %s", error)


class _Heard(httpx.SyncByteStream):
    """A stream of bytes that the engine hears."""

    def __init__(self, stream: Any, exchange: _Exchange) -> None:
        self._stream, self._exchange, self._whole = stream, exchange, False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._exchange.view.hear(piece)
            yield piece
        self._whole = True

    def close(self) -> None:
        self._stream.close()
        if self._whole:
            self._whole = False
            _end(self._exchange)


class _AsyncHeard(httpx.AsyncByteStream):
    """A stream of bytes that the engine hears."""

    def __init__(self, stream: Any, exchange: _Exchange) -> None:
        self._stream, self._exchange, self._whole = stream, exchange, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._exchange.view.hear(piece)
            yield piece
        self._whole = True

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self._whole:
            self._whole = False
            _end(self._exchange)


class EbbtideTransport(httpx.BaseTransport):
    """Sends requests with the engine's view."""

    def __init__(self, engine: Engine, transport: httpx.BaseTransport | None = None) -> None:
        self.engine = engine
        self.transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        exchange = _begin(self.engine, request, request.read())
        if exchange is None:
            return self.transport.handle_request(request)
        response = self.transport.handle_request(exchange.request)
        if response.status_code in (400, 413):
            answer = response.read()
            again = _again(exchange, response.status_code, answer)
            if again is None:
                return httpx.Response(response.status_code, headers=response.headers, content=answer)
            response = self.transport.handle_request(again)
        if response.status_code == 200:
            response.stream = _Heard(response.stream, exchange)
        return response

    def close(self) -> None:
        """Closes the transport behind."""
        self.transport.close()


class AsyncEbbtideTransport(httpx.AsyncBaseTransport):
    """Sends requests with the engine's view."""

    def __init__(self, engine: Engine, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.engine = engine
        self.transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        exchange = _begin(self.engine, request, await request.aread())
        if exchange is None:
            return await self.transport.handle_async_request(request)
        response = await self.transport.handle_async_request(exchange.request)
        if response.status_code in (400, 413):
            answer = await response.aread()
            again = _again(exchange, response.status_code, answer)
            if again is None:
                return httpx.Response(response.status_code, headers=response.headers, content=answer)
            response = await self.transport.handle_async_request(again)
        if response.status_code == 200:
            response.stream = _AsyncHeard(response.stream, exchange)
        return response

    async def aclose(self) -> None:
        """Closes the transport behind."""
        await self.transport.aclose()
