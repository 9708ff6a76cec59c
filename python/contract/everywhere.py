"""A plugin of pytest: every agent that `create_agent` builds has `EbbtideMiddleware`, at the place in `EBBTIDE_AT`."""

from __future__ import annotations

import functools
import os
from typing import Any

import langchain.agents
from langchain.agents import factory

from ebbtide.langgraph import EbbtideMiddleware

plain = factory.create_agent


@functools.wraps(plain)
def create_agent(*args: Any, middleware: Any = (), **options: Any) -> Any:
    # A tool of ours would be one more than the tests count.
    ours = EbbtideMiddleware(max_tool_result=None)
    is_first = os.environ["EBBTIDE_AT"] == "first"
    return plain(*args, middleware=[ours, *middleware] if is_first else [*middleware, ours], **options)


if "EBBTIDE_AT" in os.environ:
    factory.create_agent = langchain.agents.create_agent = create_agent
