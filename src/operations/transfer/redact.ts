import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  parseJson,
  setMember,
} from "../../base/json.ts";
import { type EventPlace, placesOf, placeTree } from "../../domain/events/places.ts";
import { nameGiven } from "../../log/codec/actor-line.ts";
import { erasedLine } from "../../log/codec/lines.ts";
import { blobReferenceTo } from "../../log/codec/references.ts";
import type { Envelope } from "../../log/ports/event-store.ts";

/**
 * An event without its content. Of an event in lines it keeps the facts, and the commitments of the other lines. Of a `json` event, its data keeps what `eventPaths` lists, and the actor its kind and the names of layers, tools
 * and providers. Everything else becomes `{"$redacted": {sha256, bytes}}` of the text, or of the JSON text with `json: true`;
 * members with unlisted names become one such value together. Kept values are numbers, booleans or single words.
 */
export function redactEvent(envelope: Envelope): Omit<Envelope, "actor"> & { readonly actor: JsonObject } {
  const { type, version, data, actor, encoding } = envelope;
  const place = placesOf(type, version) ?? undefined;
  const names = ["middleware", "provider", "tool"].includes(actor.kind) ? actorsOfCode : actorsOfPeople;
  // An actor is an object of texts, and so is its redacted form.
  const redacted = {
    ...envelope,
    data: encoding === "lines" ? onlyFacts(data) : JSON.stringify(redact(parse(data), place)),
    // In lines an actor has no name of a person, and the digest covers the actor as it is.
    actor: encoding === "lines" && nameGiven(actor) === null ? { ...actor } : redact({ ...actor }, names),
  };
  return { ...redacted, actor: objectOf(redacted.actor) };
}

/** The facts, and of the other lines what an erasure would leave: the event can still be checked against its digest. */
function onlyFacts(data: string): string {
  const [facts = "", ...others] = data.split("\n");
  return [facts, ...others.map(erasedLine)].join("\n");
}

/** Anything that is not JSON counts as one text. */
function parse(data: string): JsonValue {
  try {
    return parseJson(data);
  } catch {
    return data;
  }
}

function redact(value: JsonValue, place: EventPlace | undefined): JsonValue {
  if (isBlob(value)) return value;
  if (isJsonList(value)) {
    const items = place?.items ?? null;
    return items === null ? hidden(value) : value.map((item) => redact(item, items));
  }
  if (isJsonObject(value))
    return place === undefined || place.members.size === 0 ? hidden(value) : members(value, place);
  const isShown = place?.isKept === true && (typeof value !== "string" || isWord(value));
  return isShown ? value : hidden(value);
}

function members(object: JsonObject, place: EventPlace): JsonObject {
  const shown: Record<string, JsonValue> = {};
  const rest: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(object)) {
    const known = place.members.get(name);
    if (member === undefined) continue;
    if (known?.isNamed !== true) setMember(rest, name, member);
    else setMember(shown, name, redact(member, known));
  }
  return Object.keys(rest).length === 0 ? shown : { ...shown, ...hidden(rest) };
}

function hidden(value: JsonValue): JsonObject {
  const isText = typeof value === "string";
  const { sha256, bytes } = blobReferenceTo(isText ? value : JSON.stringify(value)).$blob;
  return { $redacted: isText ? { sha256, bytes } : { sha256, bytes, json: true } };
}

/** True for ids, digests and kinds: text for people contains blanks. */
const isWord = (text: string): boolean => /^[\w.:/@+-]{1,256}$/.test(text);

/** A blob reference also holds only hash and length. In this text, a caller's own `$blob` has one more `$`. */
function isBlob(value: JsonValue): boolean {
  if (!isJsonObject(value) || Object.keys(value).length !== 1 || !isJsonObject(value["$blob"])) return false;
  const { sha256, bytes, ...rest } = value["$blob"];
  const isHash = typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
  return (
    isHash &&
    Number.isSafeInteger(bytes) &&
    Object.entries(rest).every(([name, flag]) => name === "json" && flag === true)
  );
}

const actorsOfCode = placeTree({ kept: ["kind", "name", "version", "frame", "direction", "inferenceId"], named: [] });
/** The alias is all that the envelope of an event in lines has of a name. */
const actorsOfPeople = placeTree({ kept: ["kind", "alias"], named: ["name"] });
