"""What the transports of `ebbtide.httpx` and `ebbtide.httpx2` share.

Requests for the next message of a conversation are sent with the engine's view, and their answers are observed,
streams included. Everything else passes. Where the engine fails, a request goes out as it came.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from ebbtide import Engine, Held, View

__all__ = ["AsyncHeard", "AsyncTransport", "Heard", "Transport"]

log = logging.getLogger("ebbtide")

_PATHS = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
_DROPPED = {"content-length", "accept-encoding", "transfer-encoding"}


@dataclass
class _Exchange:
    """A request with its view."""

    engine: Engine
    view: View
    request: Any


def _begin(engine: Engine, request: Any, body: bytes) -> _Exchange | None:
    dialect = next((it for path, it in _PATHS.items() if request.url.path.endswith(path)), None)
    if dialect is None or request.method != "POST":
        return None
    try:
        key = request.headers.get("x-api-key") or request.headers.get("authorization") or ""
        key = key.removeprefix("Bearer ")
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


def _with_body(request: Any, body: bytes, betas: list[str]) -> Any:
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in _DROPPED]
    # The engine reads the answer as it comes.
    headers.append(("accept-encoding", "identity"))
    if betas:
        named = [value for name, value in headers if name.lower() == "anthropic-beta"]
        headers = [(name, value) for name, value in headers if name.lower() != "anthropic-beta"]
        headers.append(("anthropic-beta", ",".join([*named, *betas])))
    # The same class of request: httpx and httpx2 have one each.
    made: Any = type(request)
    return made(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


def _again(exchange: _Exchange, status: int, answer: bytes) -> Any | None:
    """The request to send once more, where this one was refused as too long."""
    body = exchange.engine.refused(exchange.view, status, answer)
    if body is None:
        return None
    # The first request named the others already.
    sent = exchange.request.headers.get("anthropic-beta") or ""
    known = [name.strip() for name in sent.split(",")]
    return _with_body(exchange.request, body, [name for name in exchange.view.betas if name not in known])


def _end(exchange: _Exchange) -> None:
    try:
        work = exchange.engine.observe(exchange.view)
        if work is not None:
            exchange.engine.extract(work)
    except Exception as error:
        log.warning("the answer was not observed: %s", error)


def _heard(response: Any, exchange: _Exchange, stream: Any) -> Any:
    """The response, which the engine hears as it is read."""
    if response.status_code != 200:
        return response
    try:
        whole = response.content
    except RuntimeError:  # Not read yet, as usual.
        response.stream = stream(response.stream, exchange)
        return response
    exchange.view.hear(whole)
    _end(exchange)
    return response


class Heard:
    """A stream of bytes that the engine hears."""

    def __init__(self, stream: Any, exchange: _Exchange) -> None:
        self._stream, self._exchange, self._whole = stream, exchange, False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            # Some SDKs close a stream at its last event, and do not read on to its end.
            self._whole |= self._exchange.view.hear(piece)
            yield piece
        self._whole = True

    def close(self) -> None:
        self._stream.close()
        if self._whole:
            self._whole = False
            _end(self._exchange)


class AsyncHeard:
    """A stream of bytes that the engine hears."""

    def __init__(self, stream: Any, exchange: _Exchange) -> None:
        self._stream, self._exchange, self._whole = stream, exchange, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            # Some SDKs close a stream at its last event, and do not read on to its end.
            self._whole |= self._exchange.view.hear(piece)
            yield piece
        self._whole = True

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self._whole:
            self._whole = False
            _end(self._exchange)


class Transport:
    """Sends requests with the engine's view."""

    engine: Engine
    transport: Any
    heard: type[Heard]

    def handle_request(self, request: Any) -> Any:
        """Sends a request."""
        exchange = _begin(self.engine, request, request.read())
        if exchange is None:
            return self.transport.handle_request(request)
        response = self.transport.handle_request(exchange.request)
        if response.status_code in (400, 413):
            answer = response.read()
            again = _again(exchange, response.status_code, answer)
            if again is None:
                return response
            response = self.transport.handle_request(again)
        return _heard(response, exchange, self.heard)

    def close(self) -> None:
        """Closes the transport behind."""
        self.transport.close()


class AsyncTransport:
    """Sends requests with the engine's view."""

    engine: Engine
    transport: Any
    heard: type[AsyncHeard]

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request."""
        exchange = _begin(self.engine, request, await request.aread())
        if exchange is None:
            return await self.transport.handle_async_request(request)
        response = await self.transport.handle_async_request(exchange.request)
        if response.status_code in (400, 413):
            answer = await response.aread()
            again = _again(exchange, response.status_code, answer)
            if again is None:
                return response
            response = await self.transport.handle_async_request(again)
        return _heard(response, exchange, self.heard)

    async def aclose(self) -> None:
        """Closes the transport behind."""
        await self.transport.aclose()
