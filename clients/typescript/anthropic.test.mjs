/** The official Anthropic SDK: plain, streaming, tools, the tool runner, errors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

import {
  Conversation,
  GATEWAY,
  KEY,
  PATIENCE,
  PROVIDER,
  TURNS,
  WINDOW,
  failingOnce,
  refusalExpected,
} from "./conversation.mjs";

const SCHEMA = { type: "object", properties: { path: { type: "string" } } };
const TOOL = { name: "read_file", description: "Reads a file.", input_schema: SCHEMA };
const HELLO = [{ role: "user", content: "hello" }];
// Both ways to compact: the provider's own block, and a summary that can be read.
const MODELS = ["claude-opus-5-5", "claude-opus-4-5"];

function clientOf(conversation) {
  const defaultHeaders = conversation.headers;
  return new Anthropic({ baseURL: GATEWAY, apiKey: KEY, timeout: PATIENCE, defaultHeaders });
}

function request(conversation, model, messages) {
  return { model, max_tokens: 300, system: conversation.system, messages };
}

const call = (turn) => `@sim call read_file {"path": "src/file_${turn}.rs"}`;

for (const model of MODELS) {
  test(`plain, ${model}`, async () => {
    const conversation = new Conversation("anthropic typescript, plain", "anthropic");
    const client = clientOf(conversation);
    const messages = [];
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: "user", content: conversation.says() });
      const { data, response } = await client.messages
        .create(request(conversation, model, messages))
        .withResponse();
      conversation.wasTold(response.headers);
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = data.usage;
      assert.ok(input_tokens + cache_read_input_tokens + cache_creation_input_tokens < WINDOW);
      conversation.hears(data.content[0].text);
      messages.push({ role: "assistant", content: data.content });
    }
    conversation.ended();
  });

  test(`streaming, ${model}`, async () => {
    const conversation = new Conversation("anthropic typescript, streaming", "anthropic");
    const client = clientOf(conversation);
    const messages = [];
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: "user", content: conversation.says() });
      const stream = client.messages.stream(request(conversation, model, messages));
      const { response } = await stream.withResponse();
      conversation.wasTold(response.headers);
      let heard = "";
      stream.on("text", (text) => (heard += text));
      const answer = await stream.finalMessage();
      conversation.hears(heard);
      messages.push({ role: "assistant", content: answer.content });
    }
    conversation.ended();
  });
}

test("tools", async () => {
  const conversation = new Conversation("anthropic typescript, tools", "anthropic");
  const client = clientOf(conversation);
  const messages = [];
  for (let turn = 0; turn < TURNS / 2; turn++) {
    messages.push({ role: "user", content: conversation.says(call(turn)) });
    for (;;) {
      const sent = { ...request(conversation, MODELS[0], messages), tools: [TOOL] };
      const answer = await client.messages.create(sent);
      messages.push({ role: "assistant", content: answer.content });
      if (answer.stop_reason !== "tool_use") break;
      const { id, input } = answer.content.at(-1);
      assert.deepEqual(input, { path: `src/file_${turn}.rs` });
      const content = conversation.result();
      messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] });
    }
  }
  assert.equal(conversation.said.length, TURNS);
  conversation.ended();
});

function reader(conversation) {
  // The runner asks again for a result that the application has taken.
  const read = new Map();
  return betaTool({
    name: "read_file",
    description: "Reads a file.",
    inputSchema: SCHEMA,
    run: ({ path }) => {
      if (!read.has(path)) read.set(path, conversation.result());
      return read.get(path);
    },
  });
}

function runnerOf(client, conversation, messages, more) {
  const tools = [reader(conversation)];
  const sent = request(conversation, MODELS[0], messages);
  return client.beta.messages.toolRunner({ ...sent, tools, ...more });
}

/** Lets the next answer be a call as well, by a text behind the tool's result. */
async function callAgain(runner, answer, turn) {
  const results = await runner.generateToolResponse();
  const remark = { type: "text", text: call(turn) };
  runner.pushMessages(
    { role: "assistant", content: answer.content },
    { role: "user", content: [...results.content, remark] },
  );
}

/** The runner asks for a thread, is refused, and sends the whole history from then on. */
for (const stream of [false, true]) {
  test(`tool runner, ${stream ? "streaming" : "plain"}`, async () => {
    const conversation = new Conversation("anthropic typescript, tool runner", "anthropic");
    const first = { role: "user", content: conversation.says(call(0)) };
    const runner = runnerOf(clientOf(conversation), conversation, [first], { stream });
    let turn = 0;
    let answer;
    for await (const reply of runner) {
      answer = stream ? await reply.finalMessage() : reply;
      turn += 1;
      if (turn >= TURNS - 1) continue;
      assert.equal(answer.stop_reason, "tool_use");
      await callAgain(runner, answer, turn);
    }
    assert.equal(conversation.said.length, TURNS);
    conversation.hears(answer.content[0].text);
    conversation.ended();
  });
}

test("tool runner, compacts by itself", async () => {
  const name = "anthropic typescript, compacts by itself";
  const conversation = new Conversation(name, "anthropic");
  const client = clientOf(conversation);
  const more = { betas: ["compact-2026-09-04"] };
  const first = { role: "user", content: conversation.says(call(0)) };
  let runner = runnerOf(client, conversation, [first], more);
  const answers = [];
  for await (const answer of runner) {
    answers.push(answer);
    if (answer.stop_reason === "compaction") {
      conversation.compacted.push(conversation.said.length - 1);
    }
    if (answers.length < 3) await callAgain(runner, answer, answers.length);
    if (answers.length === 3) runner.compactBeforeNextTurn();
  }
  const stops = answers.map((answer) => answer.stop_reason);
  assert.deepEqual(stops, ["tool_use", "tool_use", "tool_use", "compaction", "end_turn"]);
  const [compacted, last] = answers.slice(3);
  assert.equal(compacted.content[0].type, "compaction");

  runner = runnerOf(
    client,
    conversation,
    [
      { role: "assistant", content: compacted.content },
      { role: "assistant", content: last.content },
      // The message with the pin is gone; the pin stays all the same.
      { role: "user", content: conversation.says(call(TURNS)) },
    ],
    more,
  );
  let answer;
  for await (answer of runner) {
    if (conversation.said.length >= TURNS - 1) continue;
    assert.equal(answer.stop_reason, "tool_use");
    await callAgain(runner, answer, conversation.said.length);
  }
  conversation.hears(answer.content[0].text);
  conversation.ended();
});

for (const [name, baseURL] of Object.entries({ direct: PROVIDER, gateway: GATEWAY })) {
  test(`a refusal is tried again, ${name}`, async () => {
    refusalExpected();
    const fetch = failingOnce("429:1");
    const client = new Anthropic({ baseURL, apiKey: KEY, timeout: PATIENCE, fetch });
    const sent = { model: MODELS[0], max_tokens: 100, messages: HELLO };
    const answer = await client.messages.create(sent);
    assert.equal(answer.content[0].text, "You said: hello");
  });

  test(`a refusal comes in the provider's words, ${name}`, async () => {
    refusalExpected();
    const client = new Anthropic({ baseURL, apiKey: KEY, timeout: PATIENCE });
    const sent = { model: MODELS[0], max_tokens: 100, messages: HELLO, nonsense: true };
    await assert.rejects(client.messages.create(sent), (error) => {
      assert.ok(error instanceof Anthropic.BadRequestError);
      assert.equal(error.error.error.message, "nonsense: Extra inputs are not permitted");
      return true;
    });
  });
}
