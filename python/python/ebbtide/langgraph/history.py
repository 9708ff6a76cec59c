"""The history of a thread: summaries of its older messages, and checkpoints with fewer messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.base.id import uuid6

from ebbtide import Digest, EbbtideError, Engine
from ebbtide.langgraph import settings, threads
from ebbtide.langgraph.messages import body, digest, encode

MARKER = "[COMPACTED SUMMARY OF EARLIER CONVERSATION]"


@dataclass(frozen=True)
class Compaction:
    """The result of a compaction. `summary` is None where the messages stay as they are, for the `reason`."""

    messages: list[AnyMessage]
    summary: HumanMessage | None = None
    replaced: int = 0
    before: int = 0
    after: int = 0
    reason: str | None = None


@dataclass
class HistoryManager:
    """Summarizes messages, and writes checkpoints.

    `summarizer` is a chat model, the name of one, or a function of the system prompt and the source. Without one, a
    summary is made from the messages alone.
    """

    memory_saver: BaseCheckpointSaver[Any] | None = None
    engine: Engine = field(default_factory=lambda: Engine(notes=False, shrink=None))
    summarizer: Any = None
    model: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.memory_saver, (BaseCheckpointSaver, type(None))):
            given = type(self.memory_saver).__name__
            raise TypeError(f"memory_saver is of type {given}; pass the agent's checkpointer, or none")
        self.summarizer = settings.summarizer(self.summarizer)
        self._chat = settings.engine(self.engine).with_client(dialect="chat")

    def count(self, messages: Sequence[BaseMessage]) -> int:
        """Counts the tokens of messages, tool calls and results included."""
        return self._chat.count(self._body(messages))

    def _body(self, messages: Sequence[BaseMessage]) -> bytes:
        return body(self.model, [encode(message) for message in messages])

    def compact_messages(
        self, messages: Sequence[BaseMessage], compaction_ratio: float = 0.5
    ) -> list[AnyMessage]:
        """Replaces the oldest messages, this share of them, with a summary.

        System messages stay and are not counted. A tool call stays with its results. Of ten messages, the ratio
        0.5 keeps the messages 6 to 10, 0.8 keeps 9 and 10, and 0.2 keeps 3 to 10. With fewer than two messages,
        or where no cut is possible, all messages are returned as they are.
        """
        return self.compaction(messages, ratio=compaction_ratio).messages

    def compaction(
        self,
        messages: Sequence[BaseMessage],
        *,
        ratio: float | None = None,
        keep: int | None = None,
        originals: Sequence[BaseMessage] = (),
        room: int | None = None,
        must_gain: bool = False,
    ) -> Compaction:
        """Works like `compact_messages`, and says what it did.

        `keep` keeps the newest messages of so many tokens instead. `originals` are the messages behind an
        earlier summary, which the new one is made from. The summary has about `room` tokens at most. With
        `must_gain`, smaller summaries are tried where one would not make the messages smaller, and where none
        would, the messages stay as they are.
        """
        everything: list[Any] = list(messages)
        said = [message for message in everything if not isinstance(message, SystemMessage)]
        before = self.count(everything)
        if len(said) < 2:
            return Compaction(everything, before=before, after=before, reason="fewer than two messages")
        cut = self._chat.digest(self._body(said), ratio=ratio if keep is None else None, keep=keep)
        if cut is None:
            return Compaction(everything, before=before, after=before, reason="no cut leaves both parts whole")
        kept = said[cut.kept_from :]
        places = [i for i, message in enumerate(everything) if not isinstance(message, SystemMessage)]
        place = places[cut.kept_from]
        operators = [message for message in everything[:place] if isinstance(message, SystemMessage)]
        old = [message for message in said[: cut.kept_from] if not _is_summary(message)]
        source = [*originals, *old] if originals else said[: cut.kept_from]
        edition = _edition(said[: cut.kept_from]) + 1
        reason = ""
        for text in self._texts(source, kept, room, must_gain):
            summary = _summary(text, source, edition)
            shorter = [*operators, summary, *everything[place:]]
            after = self.count(shorter)
            if after < before or not must_gain:
                return Compaction(shorter, summary, cut.kept_from, before, after)
            reason = f"a summary would not make the messages smaller ({before} to {after} tokens)"
        return Compaction(everything, before=before, after=before, reason=reason)

    def _texts(
        self, source: Sequence[BaseMessage], kept: Sequence[BaseMessage], room: int | None, again: bool
    ) -> Iterator[str]:
        """The text of a summary; then shorter ones, without a model."""
        whole = self._body([*source, *kept])
        first = self._chat.digest(whole, at=len(source), room=room)
        if first is None:
            return
        yield self._text(first)
        size = min(room or first.tokens, first.tokens)
        for part in (2, 4, 8) if again else ():
            smaller = self._chat.digest(whole, at=len(source), room=size // part)
            if smaller is not None:
                yield smaller.extract()

    def _text(self, cut: Digest) -> str:
        if self.summarizer is None:
            return cut.extract()
        try:
            return cut.written(threads.ask(self.summarizer, cut.prompt(threads.ROOM)))
        except EbbtideError as error:
            threads.log.warning("%s (%s); the summary is made without a model", error, error.code)
            return cut.extract()

    def replace_thread_history(
        self, thread_id: str, new_messages: Sequence[BaseMessage], *, expect: str | None = None
    ) -> bool:
        """Writes a checkpoint with these messages behind the newest one, which stays.

        Returns False where the thread has no checkpoint, or its newest one is not `expect`. Other channels are
        kept. A thread that is interrupted, or in the middle of a run, is left alone. `CompactingSupervisor` writes
        through the graph instead, and its `undo` takes this back too, where a summary is among the messages.
        """
        saver, config = self._saver(), _newest(thread_id)
        found = saver.get_tuple(config)
        if found is None or not _may_be_replaced(found, expect):
            return False
        saver.put(found.config, *_replaced(saver, found, new_messages))
        return True

    async def areplace_thread_history(
        self, thread_id: str, new_messages: Sequence[BaseMessage], *, expect: str | None = None
    ) -> bool:
        """Writes a checkpoint with these messages, like `replace_thread_history`."""
        saver, config = self._saver(), _newest(thread_id)
        found = await saver.aget_tuple(config)
        if found is None or not _may_be_replaced(found, expect):
            return False
        await saver.aput(found.config, *_replaced(saver, found, new_messages))
        return True

    def _saver(self) -> BaseCheckpointSaver[Any]:
        if self.memory_saver is None:
            raise ValueError("the manager has no checkpointer")
        return self.memory_saver


def _newest(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _may_be_replaced(found: CheckpointTuple, expect: str | None) -> bool:
    old = found.checkpoint
    if expect is not None and old["id"] != expect:
        return False
    return "messages" in old["channel_values"] and not found.pending_writes and not _goes_on(old)


def _goes_on(checkpoint: Checkpoint) -> bool:
    """True if a checkpoint names nodes that are still to run: it is one of a run, or of an interrupted one."""
    for channel, value in checkpoint["channel_values"].items():
        kind, _, name = channel.partition(":")
        if channel == "__start__" or (kind == "branch" and name.startswith("to:")):
            return True
        if channel == "__pregel_tasks" and value:
            return True
        # A join waits for the nodes that its name lists.
        if kind == "join" and set(name.partition(":")[0].split("+")) == set(value or ()):
            return True
    return False


def _replaced(
    saver: BaseCheckpointSaver[Any], found: CheckpointTuple, messages: Sequence[BaseMessage]
) -> tuple[Checkpoint, CheckpointMetadata, ChannelVersions]:
    """A checkpoint behind `found`, with other messages."""
    old = found.checkpoint
    version = saver.get_next_version(old["channel_versions"].get("messages"), None)
    whole = [_placed(message, old["id"]) for message in messages]
    checkpoint: Checkpoint = {
        **old,
        # Savers take the largest ID as the newest, and these grow with time.
        "id": str(uuid6(clock_seq=-2)),
        "ts": datetime.now(timezone.utc).isoformat(),
        "channel_values": {**old["channel_values"], "messages": whole},
        "channel_versions": {**old["channel_versions"], "messages": version},
    }
    if "updated_channels" in old:
        checkpoint["updated_channels"] = ["messages"]
    metadata: Any = {**found.metadata, "source": "update", "step": found.metadata.get("step", 0) + 1}
    return checkpoint, metadata, {"messages": version}


def _placed(message: BaseMessage, before: str) -> BaseMessage:
    """A message as the graph would write it: with an ID, and a summary with the checkpoint that it was made from."""
    if message.id is None:
        message = message.model_copy(update={"id": str(uuid4())})
    told = message.additional_kwargs.get("ebbtide")
    if told is None or told.get("before"):
        return message
    return message.model_copy(
        update={"additional_kwargs": {**message.additional_kwargs, "ebbtide": {**told, "before": before}}}
    )


def _summary(text: str, source: Sequence[BaseMessage], edition: int) -> HumanMessage:
    identities = [str(message.id or "") for message in source]
    covered = digest([identity.encode() for identity in identities] + [text.encode()])
    told = {"hash": covered, "edition": edition, "messages": len(source)}
    return HumanMessage(
        f"{MARKER}\n\n{text}",
        id=f"ebbtide-{covered[:16]}",
        additional_kwargs={"lc_source": "ebbtide", "ebbtide": told},
    )


def _is_summary(message: BaseMessage) -> bool:
    return "ebbtide" in message.additional_kwargs


def _edition(messages: Sequence[BaseMessage]) -> int:
    told = (message.additional_kwargs.get("ebbtide") for message in messages)
    return max((one["edition"] for one in told if one), default=0)
