import type { ReferenceServer } from "../../../packages/reference-server/src/server.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  objectsOf,
  parseJson,
  stringOf,
} from "../../../packages/reference-server/src/wire.ts";

/** An HTTP answer, parsed. */
export interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

/** The answer to any request; of a stream, the response in its last frame. */
export async function send(server: ReferenceServer, path: string, init: RequestInit = {}): Promise<Answered> {
  const response = await fetch(server.baseUrl + path, init);
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const body = isStream ? (framesIn(text).at(-1)?.["response"] ?? {}) : parseJson(text);
  return { status: response.status, body: isObject(body) ? body : {} };
}

/** POST /responses, with a model where none is given. */
export function create(server: ReferenceServer, body: JsonObject): Promise<Answered> {
  return send(server, "/responses", { method: "POST", body: JSON.stringify({ model: "m", ...body }) });
}

/** The same, but a refusal is a failure of the test. */
export async function accepted(server: ReferenceServer, body: JsonObject): Promise<JsonObject> {
  const answered = await create(server, body);
  if (answered.status !== 200) throw new Error(`refused: ${JSON.stringify(answered.body)}`);
  return answered.body;
}

/** The message of a refusal; an accepted request has none. */
export async function refusedWith(server: ReferenceServer, body: JsonObject): Promise<string> {
  const { body: answer } = await create(server, body);
  const error = answer["error"];
  return isObject(error) ? (stringOf(error["message"]) ?? "") : "accepted";
}

/** The frames of a streamed request, as far as they came, and whether the stream broke off. */
export async function stream(server: ReferenceServer, body: JsonObject) {
  const text = JSON.stringify({ model: "m", stream: true, ...body });
  const response = await fetch(`${server.baseUrl}/responses`, { method: "POST", body: text });
  let received = "";
  let isBroken = false;
  try {
    for await (const chunk of response.body ?? []) received += Buffer.from(chunk).toString("latin1");
  } catch {
    isBroken = true;
  }
  const whole = Buffer.from(received, "latin1").toString("utf8");
  return { frames: framesIn(whole), isBroken, bytes: received.length };
}

/** The data of an event stream's whole frames. */
export function framesIn(text: string): readonly JsonObject[] {
  const blocks = text.split("\n\n").slice(0, -1);
  const parsed = blocks.map((block): Json => parseJson(block.slice(block.indexOf("data: ") + 6)));
  return parsed.filter(isObject);
}

export function idOf(value: JsonObject | undefined): string {
  return stringOf(value?.["id"]) ?? "";
}

export function outputOf(response: JsonObject): readonly JsonObject[] {
  return objectsOf(response["output"]);
}

export const user = (text: string): JsonObject => ({ role: "user", content: text });

export const toolOutput = (callId: string, output: string): JsonObject => ({
  type: "function_call_output",
  call_id: callId,
  output,
});

export const toolCall = (callId: string, name = "f"): JsonObject => ({
  type: "function_call",
  call_id: callId,
  name,
  arguments: "{}",
});

/** The object without those members. */
export function omit(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** A member as text: "" where it is none. */
export function textOf(value: Json | undefined): string {
  return stringOf(value) ?? "";
}
