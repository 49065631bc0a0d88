import type { JsonValue } from "../base/json.ts";
import { setMember } from "../base/json.ts";
import type { RequestParts } from "../engine/ports/provider.ts";

/** Makes the exact text of a request's body. Pure: the same parts give the same bytes, for ever. */
export type RequestEncoder = (parts: RequestParts) => string;

/**
 * Encoder version `openai-responses/1`: the caller's settings in the caller's key order, then `previous_response_id`
 * (absent when null), `input`, and `stream: true` only when streaming.
 *
 * Frozen: bodies of old requests are rebuilt with it. Another member or order is another version, beside this one.
 */
export const encodeRequest: RequestEncoder = ({ settings, input, previousResponseId, stream }) => {
  const body: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    if (value !== undefined) setMember(body, name, value);
  }
  if (previousResponseId !== null) body["previous_response_id"] = previousResponseId;
  body["input"] = input;
  if (stream) body["stream"] = true;
  return JSON.stringify(body);
};

/** The members of a body that are no setting. */
export const ownMembers: ReadonlySet<string> = new Set(["input", "previous_response_id", "stream"]);

/** Every released encoder by the name that recorded requests carry. */
export const encoders: ReadonlyMap<string, RequestEncoder> = new Map([["openai-responses/1", encodeRequest]]);
