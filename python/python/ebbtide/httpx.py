"""A transport for the SDKs that use httpx: `Anthropic(http_client=httpx.Client(transport=EbbtideTransport(engine)))`.

It shows the model a summary and the newest messages; the messages of the caller stay as they are. The owner of a
conversation is the key of the provider that its requests carry.
"""

from __future__ import annotations

from ebbtide import Engine, transport
from ebbtide._checked import engine as checked
from ebbtide._extras import needs

with needs("httpx", "httpx"):
    import httpx

__all__ = ["AsyncEbbtideTransport", "EbbtideTransport"]


class _Heard(transport.Heard, httpx.SyncByteStream):
    pass


class _AsyncHeard(transport.AsyncHeard, httpx.AsyncByteStream):
    pass


class EbbtideTransport(transport.Transport, httpx.BaseTransport):
    """Sends requests with the engine's view, through another transport."""

    heard = _Heard

    def __init__(self, engine: Engine, behind: httpx.BaseTransport | None = None) -> None:
        self.engine = checked(engine)
        self.transport = behind or httpx.HTTPTransport()


class AsyncEbbtideTransport(transport.AsyncTransport, httpx.AsyncBaseTransport):
    """Sends requests with the engine's view, through another transport."""

    heard = _AsyncHeard

    def __init__(self, engine: Engine, behind: httpx.AsyncBaseTransport | None = None) -> None:
        self.engine = checked(engine)
        self.transport = behind or httpx.AsyncHTTPTransport()
