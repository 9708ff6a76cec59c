"""Ebbtide for LangChain and LangGraph.

| you have | use |
|---|---|
| `create_agent` | `EbbtideMiddleware` |
| `create_supervisor`, `create_react_agent` | `pre_model_hook` |
| an agent that is compiled already | `CompactingSupervisor` with a `HistoryManager` |
| a checkpointer | `EbbtideSaver` in front of it, so that a deleted thread leaves nothing behind |
"""

from typing import TYPE_CHECKING, Any

from ebbtide._extras import needs

_PACKAGES = ("langchain", "langchain_core", "langgraph")

with needs("langgraph", *_PACKAGES):
    from ebbtide.langgraph.history import Compaction, HistoryManager
    from ebbtide.langgraph.hook import pre_model_hook
    from ebbtide.langgraph.saver import EbbtideSaver
    from ebbtide.langgraph.streaming import Compacted, Done, Failed, Interrupted, Token, ToolCall, ToolResult
    from ebbtide.langgraph.supervisor import CompactingSupervisor, ThreadView

if TYPE_CHECKING:
    from ebbtide.langgraph.middleware import EbbtideMiddleware

__all__ = [
    "Compacted",
    "CompactingSupervisor",
    "Compaction",
    "Done",
    "EbbtideMiddleware",
    "EbbtideSaver",
    "Failed",
    "HistoryManager",
    "Interrupted",
    "ThreadView",
    "Token",
    "ToolCall",
    "ToolResult",
    "pre_model_hook",
]


def __getattr__(name: str) -> Any:
    # LangChain is optional: the hook and the wrapper need LangGraph only.
    if name == "EbbtideMiddleware":
        with needs("langgraph", *_PACKAGES):
            from ebbtide.langgraph.middleware import EbbtideMiddleware

        return EbbtideMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
