"""The hook for `create_supervisor` and `create_react_agent`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebbtide import Engine
from ebbtide.langgraph import settings, threads
from ebbtide.langgraph.messages import Encoder, body, shown


def pre_model_hook(
    engine: Engine, *, model: str = "", summarizer: Any = None, pins: Sequence[str] = ()
) -> Callable[[Any], dict[str, Any]]:
    """Returns a `pre_model_hook` that shows the model a summary and the newest messages.

    The channel `messages` is left alone. Only the agent that has the hook is concerned, so a supervisor's
    sub-agents stay as they are. `model` names the model whose window counts, unless the engine has one.
    `summarizer` is a chat model, the name of one, or a function of the system prompt and the source, which may be
    async; it takes an engine with `summaries="caller"`.
    """
    settings.asked(settings.engine(engine), summarizer)
    writer, texts = settings.summarizer(summarizer), settings.pins(pins)
    encoder, kitchen = Encoder(), threads.Kitchen()
    refused: set[str] = set()

    def hook(state: Any) -> dict[str, Any]:
        messages = list(state["messages"] if isinstance(state, dict) else state.messages)
        try:
            key = threads.thread()
            own = threads.engine_of(engine, *key)
            written = encoder.lines(messages, key[0])
            came = own.view(body(model, written))
            view = threads.let_go(own, came, lambda work: threads.make(own, work, writer))
            # The hook does not see the answer; it stands in the next state.
            work = own.observe(view)
            if work is not None:
                kitchen.start(own, work, writer)
            if view.conversation is not None:
                threads.pin(own, view.conversation, texts, refused)
            seen = shown(view.body, messages, written).messages if view.changed else messages
            return {"llm_input_messages": seen}
        except Exception as error:
            threads.log.warning("the messages go out unchanged: %s", error)
            return {"llm_input_messages": messages}

    return hook
