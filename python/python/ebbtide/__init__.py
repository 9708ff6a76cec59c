"""Memory for long-running LLM agents.

`Engine` takes the body of a request and gives the body to send: the same bytes, until the model's window
fills up; then a summary in place of the older messages. `ebbtide.langgraph` puts it into LangChain's agents.
"""

from ebbtide._native import (
    Conversation,
    Digest,
    EbbtideError,
    Engine,
    Excerpt,
    Explanation,
    Held,
    Loss,
    Lost,
    Original,
    Pin,
    Purged,
    Shortened,
    Stats,
    Summary,
    View,
    Work,
    __version__,
)

__all__ = [
    "Conversation",
    "Digest",
    "EbbtideError",
    "Engine",
    "Excerpt",
    "Explanation",
    "Held",
    "Loss",
    "Lost",
    "Original",
    "Pin",
    "Purged",
    "Shortened",
    "Stats",
    "Summary",
    "View",
    "Work",
    "__version__",
]
