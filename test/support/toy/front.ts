import { hash } from "node:crypto";
import { createServer } from "node:http";
import * as z from "zod";
import {
  type Expected,
  expectedReading,
  type Fault,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../../src/base/json.ts";

/** One request as it came, and what became of it. */
type Received = {
  readonly method: "POST";
  readonly path: string;
  readonly bodyText: string;
  readonly body: JsonValue;
  readonly status: number;
  readonly hasFaultFired: boolean;
};

type Outgoing = { readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> };

/** What a model of the toy knows when it answers: the lines that it reads, and how many of them are results. */
export type ToyQuestion = { readonly lines: readonly string[]; readonly results: number; readonly bodyText: string };

/** What an answer throws to have the request refused. */
export class ToyRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The server of the toy's wire, and its judge: it refuses what such a server refuses, and says what the model reads. */
export class ToyFront {
  readonly requests: Received[] = [];
  readonly faults: (Fault | undefined)[] = [];
  readonly #readings: (readonly string[] | undefined)[] = [];
  readonly #answer: (question: ToyQuestion) => ScriptedAnswer;

  constructor(answer: (question: ToyQuestion) => ScriptedAnswer) {
    this.#answer = answer;
  }

  /** In lines, as the reference server's `readItems` gives them; undefined where nothing was inferred. */
  reading(index: number): readonly string[] | undefined {
    return this.#readings[index];
  }

  clear(): void {
    for (const list of [this.requests, this.faults, this.#readings]) list.length = 0;
  }

  /** The answer to a request; what a fault then makes of it is the connection's. */
  respond(bodyText: string): { readonly outgoing: Outgoing; readonly fault: Fault | undefined } {
    const body: unknown = JSON.parse(bodyText);
    if (!isJsonObject(body)) throw new Error("the toy was sent no object");
    const fault = this.faults.shift();
    const outgoing = fault?.kind === "answer" ? asJson(fault) : this.#infer(body, bodyText, this.requests.length);
    const isCut = fault?.kind === "cut" && fault.afterBytes < Buffer.byteLength(outgoing.text);
    const hasFaultFired = fault?.kind === "answer" || fault?.kind === "lost-acknowledgement" || isCut;
    this.requests.push({ method: "POST", path: "/", bodyText, body, status: outgoing.status, hasFaultFired });
    return { outgoing, fault };
  }

  #infer(body: JsonObject, bodyText: string, index: number): Outgoing {
    const messages = listOf(body["talk"]);
    const refusal = refusalOf(messages);
    if (refusal !== null) return asJson({ status: 400, body: { error: { message: refusal } } });
    const expected = [...settingsRead(body), ...messages.flatMap(partsRead(messages))];
    const lines = expectedReading(expected);
    this.#readings[index] = lines;
    const results = expected.filter(({ kind }) => kind === "result").length;
    try {
      return asJson({ status: 200, body: answered(this.#answer({ lines, results, bodyText }), bodyText.length) });
    } catch (error) {
      if (!(error instanceof ToyRefusal)) throw error;
      return asJson({ status: error.status, body: { error: { message: error.message } } });
    }
  }
}

/** Serves it over HTTP on the loopback interface. */
export async function serveToy(front: ToyFront): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { outgoing, fault } = front.respond(Buffer.concat(chunks).toString());
      if (fault?.kind === "lost-acknowledgement") {
        response.destroy();
        return;
      }
      const bytes = Buffer.from(outgoing.text);
      response.writeHead(outgoing.status, { ...outgoing.headers, "content-length": bytes.length });
      if (fault?.kind === "cut") response.write(bytes.subarray(0, fault.afterBytes), () => response.destroy());
      else response.end(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The same without a socket, for runs in one process. */
export const fetchFrom =
  (front: ToyFront): typeof globalThis.fetch =>
  (_, init) => {
    if (init?.signal?.aborted === true) return Promise.reject(new DOMException("aborted", "AbortError"));
    const { outgoing } = front.respond(typeof init?.body === "string" ? init.body : "");
    const { status, text, headers = {} } = outgoing;
    return Promise.resolve(new Response(text, { status, headers }));
  };

const asJson = ({ status, body, headers }: { status: number; body: JsonValue; headers?: Record<string, string> }) => ({
  ...{ status, text: JSON.stringify(body) },
  ...(headers === undefined ? {} : { headers }),
});

const listOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonList(value) ? value.filter(isJsonObject) : [];

const partsOf = (message: JsonObject | undefined): readonly JsonObject[] => listOf(message?.["parts"]);
const callsIn = (message: JsonObject | undefined) => partsOf(message).filter((part) => "call" in part);

/** Speakers take turns, and the results of a message's calls stand in the next one: all of them, once, before anything else. */
function refusalOf(messages: readonly JsonObject[]): string | null {
  if (messages.length === 0) return "there is nothing to answer";
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    if (before?.["who"] === message["who"]) return `message ${index} has the speaker of the one before`;
    if (message["who"] !== "model" && callsIn(message).length > 0)
      return `message ${index} calls, and is not the model's`;
    const parts = partsOf(message);
    const results = parts.filter((part) => "result" in part);
    const answered = results.map((part) => Number(part["of"])).toSorted((a, b) => a - b);
    const called = [...callsIn(before).keys()];
    if (JSON.stringify(answered) !== JSON.stringify(called))
      return `message ${index} answers the calls ${JSON.stringify(answered)}, not ${JSON.stringify(called)}`;
    if (parts.slice(0, results.length).some((part) => !("result" in part)))
      return `message ${index} says something before its results`;
  }
  return callsIn(messages.at(-1)).length === 0 ? null : "the last message's calls have no results";
}

function settingsRead({ instructions, tools }: JsonObject): readonly Expected[] {
  const said: Expected[] = typeof instructions === "string" ? [{ kind: "instructions", text: instructions }] : [];
  return [...said, ...listOf(tools).map(toolRead)];
}

/** A tool as the model reads it. */
export const toolRead = (tool: unknown): Expected => ({ kind: "tool", definition: jsonObject.parse(tool) });

const jsonObject = z.record(z.string(), z.json());

/** What the model reads of a message; calls are numbered over the whole talk. */
const partsRead =
  (messages: readonly JsonObject[]) =>
  (message: JsonObject, index: number): readonly Expected[] => {
    const callsBefore = messages.slice(0, index - 1).flatMap(callsIn).length;
    return partsOf(message).map((part) => partRead(part, textOf(message["who"]), callsBefore));
  };

function partRead(part: JsonObject, who: string, callsBefore: number): Expected {
  const text = (name: string): string => textOf(part[name]);
  if ("call" in part) return { kind: "call", name: text("call"), arguments: text("with") };
  if ("result" in part) return { kind: "result", call: callsBefore + Number(part["of"]), text: text("result") };
  if ("think" in part) {
    if (part["seal"] !== sealOf(text("think"))) throw new Error("a thought came back with another seal");
    return { kind: "reasoning", text: text("think") };
  }
  const role = roles.find((each) => each === who) ?? "assistant";
  if ("look" in part) return { kind: "image", role, source: text("look") };
  if (isJsonObject(part["seen"]))
    return { kind: "hosted", type: textOf(part["seen"]["type"]), id: textOf(part["seen"]["id"]) };
  return { kind: "text", role, text: text("say") };
}

const roles = ["user", "system", "developer"] as const;
const sealOf = (thought: string): string => `seal ${hash("sha256", thought).slice(0, 8)}`;

/** What a model that speaks the Responses API would say, on this wire. */
function answered({ output, status = "completed", error }: ScriptedAnswer, read: number): JsonObject {
  const parts = output.map(({ item }) => partOf(item));
  const trouble = status === "failed" ? { trouble: error?.message ?? "no answer" } : {};
  const stop = status === "completed" ? "done" : "cut off";
  return { made: "by a toy", parts, stop, counts: { read, said: parts.length, spared: 0 }, ...trouble };
}

function partOf(item: JsonObject): JsonObject {
  switch (item["type"]) {
    case "message":
      return { say: textIn(item["content"]), mood: "calm" };
    case "reasoning":
      return { think: textIn(item["summary"]), seal: sealOf(textIn(item["summary"])) };
    case "function_call":
      return { call: item["name"] ?? "", with: item["arguments"] ?? "" };
    default:
      return { seen: item };
  }
}

const textOf = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

const textIn = (parts: JsonValue | undefined): string =>
  listOf(parts)
    .map(({ text }) => textOf(text))
    .join("");
