import { type JsonObject, type JsonValue, setMember } from "../../base/json.ts";

/**
 * The exact text of a WebSocket frame that requests a response, in the same encoder version: its type, its lane if it has one, and the body
 * as above. It has no `stream` member, because frames always stream.
 */
export const encodeFrame = (lane: JsonObject, body: Omit<BodyParts, "stream">): string =>
  encodeBody({ ...body, settings: { type: "response.create", ...lane, ...body.settings }, stream: false });

/** The parts of a request body. */
type BodyParts = {
  readonly settings: JsonObject;
  readonly input: readonly JsonObject[];
  readonly previousResponseId: string | null;
  readonly conversation?: string | null;
  readonly stream: boolean;
};

/**
 * The exact text of a request body, in encoder version `openai-responses/1`: the caller's settings in the caller's key order, then
 * `previous_response_id` or `conversation` (absent when null), `input`, and `stream: true` only when streaming.
 *
 * Frozen, because old request bodies are rebuilt with it. For another member or order, add another version beside this one.
 */
export function encodeBody({ settings, input, previousResponseId, conversation = null, stream }: BodyParts): string {
  const body: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    if (value !== undefined) setMember(body, name, value);
  }
  if (previousResponseId !== null) body["previous_response_id"] = previousResponseId;
  if (conversation !== null) body["conversation"] = conversation;
  body["input"] = input;
  if (stream) body["stream"] = true;
  return JSON.stringify(body);
}

/** The members of a body that are not settings. */
export const ownMembers: ReadonlySet<string> = new Set(["input", "previous_response_id", "stream"]);
