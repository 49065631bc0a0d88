import { isJsonList, isJsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { blobReferenceTo } from "../codec/references.ts";

/**
 * An event's data without what was said: every text becomes `{"$redacted": {sha256, bytes}}`, but for ids, digests and
 * kinds. What is not known to be one of these is a text. Numbers, truth values and the names of members stay.
 */
export function redactData(data: string): string {
  return JSON.stringify(redact(parse(data), null));
}

/** What is no JSON is one text. */
function parse(data: string): JsonValue {
  try {
    const parsed: unknown = JSON.parse(data);
    return isJsonObject(parsed) ? parsed : data;
  } catch {
    return data;
  }
}

function redact(value: JsonValue, member: string | null): JsonValue {
  if (typeof value === "string")
    return isFact(value, member) ? value : { $redacted: { ...blobReferenceTo(value).$blob } };
  if (isJsonList(value)) return value.map((item) => redact(item, member));
  if (!isJsonObject(value)) return value;
  const redacted: Record<string, JsonValue> = {};
  for (const [name, item] of Object.entries(value)) {
    if (item !== undefined) setMember(redacted, name, facts.has(name) ? item : redact(item, name));
  }
  return redacted;
}

/** A single word, as ids and kinds are, under a name that stands for one. */
const isFact = (text: string, member: string | null): boolean =>
  member !== null && words.has(member) && /^[\w.:/@+-]{1,256}$/.test(text);

/** Members that hold nothing that was said, however deep. */
const facts = new Set(["$blob", "$secret", "decision", "owner", "passes", "stack"]);

const words = new Set([
  ...["after", "base", "digest", "from", "held", "requestDigest", "settingsDigest", "sha256", "turn"],
  ...[
    "blockId",
    "blockIds",
    "call_id",
    "callId",
    "conversationId",
    "discardedTools",
    "effectId",
    "id",
    "idempotencyKey",
  ],
  ...["inferenceId", "item_id", "itemId", "responseId", "runId"],
  ...[
    "capability",
    "codec",
    "direction",
    "echoed",
    "encoder",
    "how",
    "kind",
    "model",
    "name",
    "object",
    "op",
    "outcome",
  ],
  ...["phase", "role", "scope", "status", "transport", "type"],
]);
