"""Clients that compact by themselves, in front of a provider that has never heard of compaction.

The gateway answers each dialect, over three compactions: the OpenAI Agents SDK's compaction session, the
OpenAI SDK's `responses.compact`, trigger and threshold, and both kinds of Anthropic's compaction.
"""

import asyncio
import json
import os
import subprocess

import anthropic
import openai
import pytest
from agents import (
    Agent,
    OpenAIResponsesCompactionSession,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
)

from conversation import KEY, PATIENCE

EBBTIDE = os.environ["CLIENTS_EBBTIDE"]
FACT = "The port of the ledger is 7341. Never write below /srv/ledger."
COMPACTIONS = 3


def start(folder, name: str, *arguments: str):
    """Starts a server of `ebbtide` on a free port."""
    command = [EBBTIDE, *arguments, "--listen", "127.0.0.1:0"]
    errors = open(folder / f"{name}.txt", "w")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder)
    line = process.stdout.readline()
    assert line.startswith("listening on "), (folder / f"{name}.txt").read_text()
    return process, line.removeprefix("listening on ").strip()


class House:
    """A gateway in front of a provider without compaction."""

    def __init__(self, folder):
        self.log = folder / "provider.jsonl"
        self.log.touch()
        sim = ["sim", "--no-compaction", "--log", str(self.log)]
        self.provider, provider = start(folder, "provider", *sim)
        urls = ["--anthropic-url", provider, "--openai-url", provider]
        self.gateway, self.url = start(folder, "gateway", "serve", "--store", "memory", *urls)

    def newest(self) -> str:
        """The newest request that the provider received."""
        return self.log.read_text().splitlines()[-1]

    def shows_summary(self) -> None:
        """Checks that the provider was shown a readable summary with the fact, and nothing sealed."""
        newest = self.newest()
        assert "7341" in newest and "[Summary of earlier conversation" in newest, newest
        assert '"compaction' not in newest, newest

    def close(self) -> None:
        for process in (self.gateway, self.provider):
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    yield house
    house.close()


def text(number: int) -> str:
    """The next message; the first one holds the fact."""
    line = " ".join(f"In part {number}.{at} the writer renames a segment." for at in range(40))
    return f"{FACT}\n{line}" if number == 0 else line


def test_agents_compaction_session(house):
    async def talk() -> int:
        client = openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=KEY, timeout=PATIENCE)
        session = OpenAIResponsesCompactionSession(
            "ledger",
            SQLiteSession("ledger"),
            client=client,
            model="gpt-5.5",
            should_trigger_compaction=lambda it: len(it["compaction_candidate_items"]) >= 3,
        )
        agent = Agent(
            name="keeper",
            instructions="You keep the storage engine in order.",
            model=OpenAIResponsesModel("gpt-5.5", client),
        )
        config = RunConfig(tracing_disabled=True)
        compactions = 0
        for number in range(12):
            before = json.dumps(await session.get_items())
            result = await Runner.run(agent, text(number), session=session, run_config=config)
            assert result.final_output.startswith("You said: ")
            if "ebb1." in before:
                house.shows_summary()
            items = await session.get_items()
            sealed = [item for item in items if item.get("type") == "compaction"]
            if sealed and sealed[0]["encrypted_content"] not in before:
                compactions += 1
                assert len(sealed) == 1
        await client.close()
        return compactions

    assert asyncio.run(asyncio.wait_for(talk(), PATIENCE)) >= COMPACTIONS


@pytest.mark.parametrize("way", ["path", "trigger", "threshold"])
def test_openai(house, way):
    compactions = 0
    with openai.OpenAI(base_url=f"{house.url}/v1", api_key=KEY, timeout=PATIENCE) as client:
        items, more = [], {}
        if way == "threshold":
            edit = {"type": "compaction", "compact_threshold": 2_000}
            more = {"context_management": [edit]}
        for number in range(16):
            items.append({"role": "user", "content": text(number)})
            with client.responses.stream(
                model="gpt-5.5", input=items, store=False, **more
            ) as stream:
                for _ in stream:
                    pass
                answer = stream.get_final_response()
            assert answer.output_text.startswith("You said: ")
            output = [item.to_dict() for item in answer.output]
            if any(item.get("type") == "compaction" for item in items):
                house.shows_summary()
            if output[0]["type"] == "compaction":
                # What stands before it may go.
                items, compactions = [], compactions + 1
            items += output
            if number % 3 == 2 and way == "path":
                compacted = client.responses.compact(model="gpt-5.5", input=items)
                assert compacted.object == "response.compaction"
                items = [item.to_dict() for item in compacted.output]
                assert [item["type"] for item in items[-1:]] == ["compaction"]
                compactions += 1
            if number % 3 == 2 and way == "trigger":
                asked = [*items, {"type": "compaction_trigger"}]
                answer = client.responses.create(model="gpt-5.5", input=asked, store=False)
                items = [item.to_dict() for item in answer.output]
                assert [item["type"] for item in items] == ["compaction"]
                compactions += 1
    assert compactions >= COMPACTIONS


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("kind", ["on demand", "threshold"])
def test_anthropic(house, kind, streams):
    compactions, messages, more = 0, [], {}
    with anthropic.Anthropic(base_url=house.url, api_key=KEY, timeout=PATIENCE) as client:

        def send(**fields):
            sent = {
                "model": "claude-opus-5-5",
                "max_tokens": 300,
                "messages": messages,
                "betas": ["compact-2026-09-04", "compact-2026-01-12"],
                **fields,
            }
            if not streams:
                return client.beta.messages.create(**sent)
            with client.beta.messages.stream(**sent) as stream:
                return stream.get_final_message()

        if kind == "threshold":
            trigger = {"type": "input_tokens", "value": 2_000}
            edit = {"type": "compact_20260112", "trigger": trigger}
            more = {"context_management": {"edits": [edit]}}
        for number in range(16):
            messages.append({"role": "user", "content": text(number)})
            answer = send(**more)
            assert answer.content[-1].text.startswith("You said: ")
            if compactions:
                house.shows_summary()
            if answer.content[0].type == "compaction":
                messages, compactions = [], compactions + 1
            messages.append({"role": "assistant", "content": answer.content})
            if number % 3 == 2 and kind == "on demand":
                compacted = send(compaction={"type": "summarize"})
                assert compacted.stop_reason == "compaction"
                [block] = compacted.content
                assert "7341" in block.content
                messages = [{"role": "assistant", "content": [block]}]
                compactions += 1
    assert compactions >= COMPACTIONS
