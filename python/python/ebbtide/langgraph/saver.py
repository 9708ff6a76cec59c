"""A checkpointer in front of another: what is deleted there leaves the engine too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from ebbtide import Engine
from ebbtide.langgraph import forgetting, settings, threads


class EbbtideSaver(BaseCheckpointSaver[Any]):
    """Passes everything to `saver`. A thread that is deleted leaves the archive of `engine` as well."""

    def __new__(cls, saver: BaseCheckpointSaver[Any], engine: Engine) -> EbbtideSaver:
        """Makes a saver that can do what `saver` can beyond the base class, and no more."""
        can = {name: _passed(name) for name in _EXTENDED if _overrides(saver, name)}
        return super().__new__(type(cls.__name__, (cls,), can) if can else cls)

    def __init__(self, saver: BaseCheckpointSaver[Any], engine: Engine) -> None:
        if not isinstance(saver, BaseCheckpointSaver):
            raise TypeError(f"saver is {saver!r}; pass a checkpointer, such as InMemorySaver()")
        super().__init__(serde=saver.serde)
        self.saver = saver
        self.engine = settings.engine(engine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["saver"], name)

    def with_allowlist(self, *types: Any, **options: Any) -> Any:
        """Returns a saver in front of the saver's own."""
        return EbbtideSaver(self.saver.with_allowlist(*types, **options), self.engine)

    @property
    def config_specs(self) -> list[Any]:
        """The saver's own."""
        return self.saver.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The saver's own."""
        return self.saver.get_next_version(current, channel)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The saver's own."""
        return self.saver.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The saver's own."""
        return self.saver.list(config, filter=filter, before=before, limit=limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """The saver's own."""
        return self.saver.put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The saver's own."""
        self.saver.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes a thread here and in the engine."""
        self.saver.delete_thread(thread_id)
        self.forget(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The saver's own."""
        return await self.saver.aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The saver's own."""
        async for one in self.saver.alist(config, filter=filter, before=before, limit=limit):
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """The saver's own."""
        return await self.saver.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The saver's own."""
        await self.saver.aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread here and in the engine."""
        await self.saver.adelete_thread(thread_id)
        self.forget(thread_id)

    def forget(self, thread_id: str) -> None:
        """Removes all that the engine and this process hold of a thread."""
        own = threads.engine_of(self.engine, str(thread_id))
        own.purge()
        own.forget_results()
        forgetting.forget(str(thread_id))


_EXTENDED = tuple(
    prefix + name
    for prefix in ("", "a")
    for name in ("delete_for_runs", "copy_thread", "prune", "get_delta_channel_history")
)


def _overrides(saver: BaseCheckpointSaver[Any], name: str) -> bool:
    own = getattr(type(saver), name, None)
    return own is not None and own is not getattr(BaseCheckpointSaver, name, None)


def _passed(name: str) -> Callable[..., Any]:
    """A method that the saver behind carries out."""

    def method(self: EbbtideSaver, *given: Any, **options: Any) -> Any:
        return getattr(self.saver, name)(*given, **options)

    method.__name__ = name
    return method
