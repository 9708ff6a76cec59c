/**
 * A conversation that is longer than the model's window, as a client has it: the counterpart of
 * `python/conversation.py`, where the tags and the files are explained.
 */

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

export const GATEWAY = process.env.CLIENTS_GATEWAY;
export const PROVIDER = process.env.CLIENTS_PROVIDER;
export const WINDOW = Number(process.env.CLIENTS_WINDOW);
export const KEY = "sk-of-the-clients";
/** Milliseconds after which a client gives up, so that a test that hangs fails. */
export const PATIENCE = 60_000;
export const TURNS = 56;
const LENGTH = 2_800;

const SUBJECTS = ["the parser", "the scheduler", "the writer", "a worker", "the index", "our cache"];
const VERBS = ["reads", "drops", "renames", "rebuilds", "holds", "flushes"];
const OBJECTS = ["the journal", "a lease", "two segments", "the manifest", "an old lock", "its queue"];

export class Conversation {
  constructor(client, dialect, swaps = 2) {
    this.client = client;
    this.dialect = dialect;
    this.swaps = swaps;
    this.session = randomUUID().slice(0, 8);
    this.pin = `Never write below /srv/ledger-${this.session}; ask Ines first.`;
    this.said = [];
    this.compacted = [];
    this.did = [];
    this.seed = parseInt(this.session, 16) || 1;
  }

  get headers() {
    return { "x-client-session": this.session };
  }

  get system() {
    return `You keep the storage engine of session ${this.session} in order.`;
  }

  /** The next text of the user; the first one holds the pin. `directive` says what is answered. */
  says(directive = "") {
    const lines = directive ? [directive] : [];
    if (this.said.length === 0) lines.push(`#pin ${this.pin}`);
    return this.#say("Look at this.", lines);
  }

  /** The next result of a tool. */
  result() {
    return this.#say("Contents:", []);
  }

  #say(opening, lines) {
    const number = this.said.length + 1;
    let text = [`[${this.session} ${number}] ${opening}`, ...lines, ""].join("\n");
    while (text.length < LENGTH) {
      const path = `src/part_${this.#random(90)}/file_${this.#random(900)}.rs`;
      const words = [SUBJECTS, VERBS, OBJECTS].map((list) => list[this.#random(list.length)]);
      text += `In ${path} ${words.join(" ")} ${this.#random(1_000)} times. `;
    }
    text = text.trim();
    this.said.push(text);
    return text;
  }

  /** A number below `end`: xorshift. */
  #random(end) {
    this.seed ^= this.seed << 13;
    this.seed ^= this.seed >>> 17;
    this.seed ^= this.seed << 5;
    return (this.seed >>> 0) % end;
  }

  /** Checks that the answer is about what was said last. */
  hears(answer) {
    const start = this.said.at(-1).slice(0, 80);
    const heard = [`You said: ${start}`, `I read the result: ${start}`];
    assert.ok(heard.includes(answer), answer);
  }

  /** Checks and keeps what the gateway says of itself in the headers of an answer. */
  wasTold(headers) {
    const did = headers.get("x-ebbtide-did");
    assert.ok(did, "no x-ebbtide-did");
    this.did.push(did.split(",").map((word) => word.trim()));
  }

  /** Checks what was seen from the outside, and writes the conversation down. */
  ended() {
    if (this.did.length > 0) {
      const swapped = this.did.filter((did) => did.includes("swapped")).length;
      assert.ok(swapped >= this.swaps, `${swapped} swaps: ${this.did.join(" ")}`);
    }
    const { client, dialect, swaps, session, pin, said, compacted } = this;
    const line = JSON.stringify({ client, dialect, swaps, session, pin, said, compacted });
    appendFileSync(process.env.CLIENTS_CONVERSATIONS, `${line}\n`);
  }
}

/** Notes that the provider is about to refuse a request of a test, once. */
export function refusalExpected() {
  appendFileSync(process.env.CLIENTS_REFUSALS, "1\n");
}

/** A `fetch` that asks the provider to fail the first attempt of a request. */
export function failingOnce(fault) {
  return (url, init) => {
    const headers = new Headers(init.headers);
    if (headers.get("x-stainless-retry-count") === "0") headers.set("x-sim-fault", fault);
    return fetch(url, { ...init, headers });
  };
}
