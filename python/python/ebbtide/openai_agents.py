"""Ebbtide for the OpenAI Agents SDK: a filter of the model's input, and a session that keeps everything.

```python
engine = Engine(notes=False)
session = EbbtideSession(SQLiteSession("first"), engine)
config = RunConfig(call_model_input_filter=model_input_filter(engine, session="first"))
result = await Runner.run(Agent(name="assistant"), "Hello", session=session, run_config=config)
```

The filter and the session have the same name, or `run_compaction` does not find the conversation of the filter.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from ebbtide import Engine, Held, View
from ebbtide._checked import engine as checked
from ebbtide._checked import shown
from ebbtide._extras import needs

with needs("openai-agents", "agents"):
    from agents.run import CallModelData, ModelInputData

__all__ = ["EbbtideSession", "model_input_filter"]

log = logging.getLogger("ebbtide")


def model_input_filter(
    engine: Engine, *, session: str | None = None
) -> Callable[[CallModelData[Any]], ModelInputData]:
    """Returns a `call_model_input_filter` that shows the model a summary and the newest items.

    It acts before each call of the model, within a run as well. `session` keeps conversations of different
    users apart: give each its own filter.
    """
    own = checked(engine).with_client(tenant=f"{engine.tenant}\x1f{session or ''}", dialect="responses", session=session)

    def filtered(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        try:
            items = list(given.input)
            body = {"model": _model(data.agent), "instructions": given.instructions or "", "input": items}
            came: View | Held = own.view(json.dumps(body, ensure_ascii=False, default=str).encode())
            while isinstance(came, Held):
                if came.work is None:
                    return given
                own.extract(came.work)
                came = own.resume(came)
            # The filter does not see the answer; it stands in the next input.
            work = own.observe(came)
            if work is not None:
                own.extract(work)
            if not came.changed:
                return given
            return ModelInputData(input=json.loads(came.body)["input"], instructions=given.instructions)
        except Exception as error:
            log.warning("the input goes out unchanged: %s", error)
            return given

    return filtered


def _model(agent: Any) -> str:
    model = getattr(agent, "model", None)
    return model if isinstance(model, str) else str(getattr(model, "model", "") or "")


class EbbtideSession:
    """A session of the SDK in front of another: it keeps every item, and compacts nothing in it.

    `run_compaction` orders a summary, which the filter of the same engine then shows.
    """

    def __init__(self, session: Any, engine: Engine) -> None:
        if not hasattr(session, "session_id"):
            raise TypeError(f"session is {shown(session)}; pass a session of the SDK, such as SQLiteSession('me')")
        self.session = session
        self.engine = checked(engine).with_client(
            tenant=f"{engine.tenant}\x1f{session.session_id}", dialect="responses", session=session.session_id
        )

    @property
    def session_id(self) -> str:
        """The ID of the session behind."""
        return str(self.session.session_id)

    @property
    def session_settings(self) -> Any:
        """The settings of the session behind."""
        return getattr(self.session, "session_settings", None)

    @session_settings.setter
    def session_settings(self, value: Any) -> None:
        self.session.session_settings = value

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items: all, or the newest."""
        items: list[Any] = await self.session.get_items(limit)
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Adds items."""
        await self.session.add_items(items)

    async def pop_item(self) -> Any:
        """Removes the newest item, and returns it."""
        return await self.session.pop_item()

    async def clear_session(self) -> None:
        """Removes all items, and what the engine holds of them."""
        await self.session.clear_session()
        self.engine.purge()

    async def run_compaction(self, args: Any = None) -> None:
        """Orders a summary with `force`; the SDK calls it after each turn, and the engine decides by itself."""
        if args and args.get("force"):
            for conversation in self.engine.conversations()[:1]:
                self.engine.compact(conversation.id)
