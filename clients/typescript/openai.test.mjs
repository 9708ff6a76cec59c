/** The official OpenAI SDK: Chat Completions and Responses, plain, streaming, tools, errors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

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

const CHAT = "gpt-4.1";
const RESPONSES = "gpt-5.5";
const HELLO = [{ role: "user", content: "hello" }];
const FUNCTION = {
  name: "read_file",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } } },
};

function clientOf(conversation) {
  const defaultHeaders = conversation.headers;
  return new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: KEY, timeout: PATIENCE, defaultHeaders });
}

const call = (turn) => `@sim call read_file {"path": "src/file_${turn}.rs"}`;

test("chat, plain and streaming in turns", async () => {
  const conversation = new Conversation("openai typescript, chat", "chat");
  const client = clientOf(conversation);
  const messages = [{ role: "system", content: conversation.system }];
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: "user", content: conversation.says() });
    if (turn % 2 === 0) {
      const { data, response } = await client.chat.completions
        .create({ model: CHAT, messages })
        .withResponse();
      conversation.wasTold(response.headers);
      assert.ok(data.usage.prompt_tokens < WINDOW);
      messages.push(data.choices[0].message);
    } else {
      const stream = await client.chat.completions
        .create({ model: CHAT, messages, stream: true })
        .withResponse();
      conversation.wasTold(stream.response.headers);
      let content = "";
      for await (const chunk of stream.data) content += chunk.choices[0]?.delta?.content ?? "";
      messages.push({ role: "assistant", content });
    }
    conversation.hears(messages.at(-1).content);
  }
  conversation.ended();
});

test("chat, tools", async () => {
  const conversation = new Conversation("openai typescript, chat, tools", "chat");
  const client = clientOf(conversation);
  const messages = [{ role: "system", content: conversation.system }];
  const tools = [{ type: "function", function: FUNCTION }];
  for (let turn = 0; turn < TURNS / 2; turn++) {
    messages.push({ role: "user", content: conversation.says(call(turn)) });
    for (;;) {
      const answer = await client.chat.completions.create({ model: CHAT, messages, tools });
      const { message } = answer.choices[0];
      messages.push(message);
      if (!message.tool_calls?.length) break;
      const { id } = message.tool_calls[0];
      messages.push({ role: "tool", tool_call_id: id, content: conversation.result() });
    }
    conversation.hears(messages.at(-1).content);
  }
  assert.equal(conversation.said.length, TURNS);
  conversation.ended();
});

test("responses, plain and streaming in turns", async () => {
  const conversation = new Conversation("openai typescript, responses", "responses");
  const client = clientOf(conversation);
  const input = [];
  for (let turn = 0; turn < TURNS; turn++) {
    input.push({ role: "user", content: conversation.says() });
    const sent = { model: RESPONSES, instructions: conversation.system, input, store: false };
    let answer;
    if (turn % 2 === 0) {
      const { data, response } = await client.responses.create(sent).withResponse();
      conversation.wasTold(response.headers);
      answer = data;
    } else {
      const stream = client.responses.stream(sent);
      answer = await stream.finalResponse();
    }
    assert.ok(answer.usage.input_tokens < WINDOW);
    conversation.hears(answer.output_text);
    input.push(...answer.output);
  }
  // Every second answer said so in its headers; a swap may have come with one of the others.
  conversation.did.length = 0;
  conversation.ended();
});

test("responses, tools", async () => {
  const conversation = new Conversation("openai typescript, responses, tools", "responses");
  const client = clientOf(conversation);
  const input = [];
  const tools = [{ type: "function", strict: false, ...FUNCTION }];
  for (let turn = 0; turn < TURNS / 2; turn++) {
    input.push({ role: "user", content: conversation.says(call(turn)) });
    for (;;) {
      const instructions = conversation.system;
      const sent = { model: RESPONSES, instructions, input, tools, store: false };
      const { data, response } = await client.responses.create(sent).withResponse();
      conversation.wasTold(response.headers);
      input.push(...data.output);
      const made = data.output.find((item) => item.type === "function_call");
      if (!made) {
        conversation.hears(data.output_text);
        break;
      }
      const output = conversation.result();
      input.push({ type: "function_call_output", call_id: made.call_id, output });
    }
  }
  assert.equal(conversation.said.length, TURNS);
  conversation.ended();
});

for (const [name, url] of Object.entries({ direct: PROVIDER, gateway: GATEWAY })) {
  const baseURL = `${url}/v1`;

  test(`a refusal is tried again, ${name}`, async () => {
    refusalExpected();
    const fetch = failingOnce("429:1");
    const client = new OpenAI({ baseURL, apiKey: KEY, timeout: PATIENCE, fetch });
    const answer = await client.chat.completions.create({ model: CHAT, messages: HELLO });
    assert.equal(answer.choices[0].message.content, "You said: hello");
  });

  test(`a refusal comes in the provider's words, ${name}`, async () => {
    refusalExpected();
    const client = new OpenAI({ baseURL, apiKey: KEY, timeout: PATIENCE });
    const lost = { role: "tool", tool_call_id: "call_none", content: "x" };
    const sent = { model: CHAT, messages: [...HELLO, lost] };
    await assert.rejects(client.chat.completions.create(sent), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.match(error.message, /must be a response to a preceeding message with 'tool_calls'/);
      return true;
    });
  });
}
