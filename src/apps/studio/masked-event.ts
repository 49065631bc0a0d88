import { isJsonList, isJsonObject, type JsonValue, objectOf, parseJson, textOrEmpty } from "../../base/json.ts";
import { ErasedValue, erasedMembers } from "../../domain/events/erased-content.ts";
import { joinAround, linesAround } from "../../log/codec/line-places.ts";
import { hasErasedLine } from "../../log/codec/lines.ts";
import type { Envelope } from "../../log/ports/event-store.ts";
import { redactEvent } from "../../operations/transfer/redact.ts";

/**
 * An event whose texts are masked, so that folds still apply it and a page can show what happened. What stays is what a redacted bundle keeps. Its
 * digests stay those of the event, and no longer follow from it; they are salted, so no text can be guessed from them.
 */
export function maskedEvent(envelope: Envelope): Envelope {
  const isInLines = envelope.encoding === "lines";
  const data = isInLines ? joinAround(envelope.data) : parseJson(envelope.data);
  const plain: Envelope = { ...envelope, encoding: "json", data: JSON.stringify(data) };
  const { data: redacted, actor } = redactEvent(plain);
  // The mask of an actor is an actor: what is hidden of it is a text.
  const named = masked({ ...envelope.actor }, actor) as Envelope["actor"];
  const shown = masked(data, parseJson(redacted));
  // What was erased stays erased, so that a page says so.
  const hasErased = isInLines && hasErasedLine(envelope.data);
  return hasErased
    ? { ...envelope, actor: named, data: linesAround(shown) }
    : { ...plain, actor: named, data: JSON.stringify(shown) };
}

/** The same value with a mask in the place of what its redacted form hides. */
function masked(value: JsonValue, redacted: JsonValue): JsonValue {
  if (value instanceof ErasedValue) return value;
  if (isHidden(redacted)) return mask(value);
  if (isJsonList(redacted))
    return redacted.map((item, index) => masked(isJsonList(value) ? (value[index] ?? null) : null, item));
  if (!isJsonObject(redacted)) return redacted;
  const given = objectOf(value);
  const members = Object.entries(redacted).filter(([name]) => name !== "$redacted");
  const shown = members.map(([name, member]) => [name, named(name, given[name] ?? null, member ?? null)] as const);
  const lacking = needed.filter((name) => given[name] !== undefined && redacted[name] === undefined);
  const erased = given[erasedMembers];
  return Object.fromEntries([
    ...shown,
    ...lacking.map((name) => [name, null] as const),
    ...(erased === undefined ? [] : [[erasedMembers, erased] as const]),
  ]);
}

/** The names of layers, providers and tools are those of code, wherever an event says who did something. */
function named(name: string, value: JsonValue, redacted: JsonValue): JsonValue {
  const isOfCode =
    name === "actor" && ["middleware", "provider", "tool"].includes(textOrEmpty(objectOf(value)["kind"]));
  return isOfCode ? value : masked(value, redacted);
}

/** Members that hold what others said, which redaction leaves out, and events need: what a provider reported of its usage. */
const needed = ["reported"] as const;

/** A text of another length is stored elsewhere, under its hash. */
const isHidden = (value: JsonValue): boolean =>
  isJsonObject(value) && Object.keys(value).length === 1 && ("$redacted" in value || "$blob" in value);

/** How long a mask is at most: the length of a long text is of no use to a reader. */
const mostCharacters = 60;

function mask(value: JsonValue): JsonValue {
  if (typeof value === "string") return "▒".repeat(Math.min(mostCharacters, value.length));
  if (typeof value === "number") return 0;
  if (isJsonList(value)) return value.map(mask);
  if (!isJsonObject(value)) return value;
  return "$blob" in value ? "▒".repeat(mostCharacters) : {};
}
