"""A transport for the SDKs that use httpx2: `Anthropic(http_client=httpx2.Client(transport=EbbtideTransport(engine)))`.

It shows the model a summary and the newest messages; the messages of the caller stay as they are. The owner of a
conversation is the key of the provider that its requests carry.
"""

from __future__ import annotations

from ebbtide import Engine, transport
from ebbtide._checked import engine as checked
from ebbtide._extras import needs

with needs("httpx2", "httpx2"):
    import httpx2

__all__ = ["AsyncEbbtideTransport", "EbbtideTransport"]


class _Heard(transport.Heard, httpx2.SyncByteStream):
    pass


class _AsyncHeard(transport.AsyncHeard, httpx2.AsyncByteStream):
    pass


class EbbtideTransport(transport.Transport, httpx2.BaseTransport):
    """Sends requests with the engine's view, through another transport."""

    heard = _Heard

    def __init__(self, engine: Engine, behind: httpx2.BaseTransport | None = None) -> None:
        self.engine = checked(engine)
        self.transport = behind or httpx2.HTTPTransport()


class AsyncEbbtideTransport(transport.AsyncTransport, httpx2.AsyncBaseTransport):
    """Sends requests with the engine's view, through another transport."""

    heard = _AsyncHeard

    def __init__(self, engine: Engine, behind: httpx2.AsyncBaseTransport | None = None) -> None:
        self.engine = checked(engine)
        self.transport = behind or httpx2.AsyncHTTPTransport()
