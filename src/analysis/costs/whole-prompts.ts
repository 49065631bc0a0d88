import { type JsonObject, objectOf, parseJson } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { Block } from "../../domain/block.ts";
import type { Codec, RequestParts, SentBlock } from "../../engine/ports/codec.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { itemTextOf } from "../../providers/codec/item-text.ts";
import type { CacheTrail } from "./cache-trail.ts";
import { type CacheUnit, listUnit, prefixesOf, unitsOf } from "./prompt-cache/cache-prompt.ts";
import { type CacheWire, cacheWire } from "./prompt-cache/cache-wire.ts";
import { detailsOfWhole } from "./prompt-cache/placed-details.ts";
import {
  erasedSince,
  inputBefore,
  type LengthOf,
  leastLength,
  type SentPrompt,
  sentInput,
  type WholeInput,
  wholeInput,
} from "./sent-prompt.ts";

/** A prompt as its server read it, in the units that a cache compares. */
export type WholePrompt = WholeInput & {
  /** The body that sends all of it, without the conversation. */
  readonly body: JsonObject;
  readonly units: readonly CacheUnit[];
  readonly prefixes: readonly string[];
  /** Its items; null if the body had to be encoded to know the units. */
  readonly items: readonly Item[] | null;
};

/** A block in a body: its unit, and how many bytes it is written in. */
type Item = { readonly unit: CacheUnit; readonly bytes: number };

type Kept = WholePrompt & {
  readonly codec: Codec;
  readonly bytes: number;
  /** The prompt that it continues from; null for none. */
  readonly before: string | null;
};

const nameOf = ({ request }: SentPrompt): string => request.inferenceId;

/** How many bytes of prompts are kept in units: enough for all that a verdict compares, which is half of it, and for the next request's. */
const maxKeptBytes = 32_000_000;

/**
 * The whole prompts that were looked at last. The requests of a conversation share most of their prompts, so each is made from the one
 * before it where they are the same. No text of a block is copied.
 */
export class WholePrompts {
  readonly lengths = new ErasedLengths();
  /** By inference: a fold that was made again has another object for the same prompt. */
  readonly #kept = new Map<string, Kept>();
  readonly #fullBytes = new Map<string, number | null>();
  #bytes = 0;
  #last: Kept | undefined;

  /** The size of a full request in the place of a chained one, which every revision that belongs to the request asks for. */
  fullBytesOf({ request: { inferenceId } }: SentPrompt, count: () => number | null): number | null {
    const known = this.#fullBytes.get(inferenceId);
    if (known !== undefined) return known;
    const bytes = count();
    this.#fullBytes.set(inferenceId, bytes);
    return bytes;
  }

  of(prompt: SentPrompt, codec: Codec): WholePrompt {
    const known = this.#kept.get(nameOf(prompt));
    if (known?.codec === codec) return this.#keep(prompt, known);
    const held = (at: SentPrompt): WholeInput | undefined => this.#inputOf(at, codec);
    const like = this.#last?.codec === codec ? this.#last : undefined;
    const made = wholePromptOf(prompt, codec, { settings: prompt.settings, lengthOf: this.lengths.of, held, like });
    const bytes = made.units.reduce((sum, unit) => sum + unit.bytes, 0);
    const before = prompt.before === null ? null : nameOf(prompt.before);
    return this.#keep(prompt, { ...made, codec, bytes, before });
  }

  /** The length in UTF-8 of a body that has most blocks of a prompt; null if it has to be encoded to know it. */
  bytesOf(prompt: SentPrompt, codec: Codec, parts: RequestParts): number | null {
    const textOf = itemTextOf(codec, parts.details);
    if (textOf === null) return null;
    const { input, items } = this.of(prompt, codec);
    const sizeOf = (sent: SentBlock, place: number): number =>
      (isSame(input[place], sent) ? items?.[place]?.bytes : undefined) ?? utf8Length(textOf(sent));
    const commas = Math.max(0, parts.input.length - 1);
    const rest = utf8Length(codec.encodeRequest({ ...parts, input: [] }));
    return parts.input.reduce((sum, sent, place) => sum + sizeOf(sent, place), rest + commas);
  }

  /** Also what a prompt that is kept continues from. */
  #inputOf(prompt: SentPrompt, codec: Codec): WholeInput | undefined {
    const kept = this.#kept.get(nameOf(prompt));
    if (kept?.codec === codec) return kept;
    for (const whole of this.#kept.values())
      if (whole.before === nameOf(prompt) && whole.codec === codec) return inputBefore(whole);
    return undefined;
  }

  /** The newest is the last one to go. */
  #keep(prompt: SentPrompt, kept: Kept): Kept {
    const name = nameOf(prompt);
    this.#bytes += kept.bytes - (this.#kept.get(name)?.bytes ?? 0);
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    this.#last = kept;
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= maxKeptBytes || oldest === name) break;
      this.#kept.delete(oldest);
      this.#bytes -= bytes;
    }
    return kept;
  }
}

const byOrigin = new WeakMap<object, WholePrompts>();

/** Those of a trail and its copies. A page that explains no request loads none of this. */
export function wholePromptsOf(trail: CacheTrail, codecs: Codecs): WholePrompts {
  const known = byOrigin.get(trail.origin) ?? new WholePrompts();
  byOrigin.set(trail.origin, known);
  known.lengths.measure(trail, codecs);
  return known;
}

type Making = {
  readonly settings: JsonObject;
  /** Only the settings, with nothing of the conversation. */
  readonly isBare?: boolean;
  readonly lengthOf: LengthOf;
  readonly held?: (at: SentPrompt) => WholeInput | undefined;
  /** Another prompt of the same codec, which may have the same beginning. */
  readonly like?: WholePrompt | undefined;
};

/** A prompt as its server read it, or its settings alone. */
export function wholePromptOf(
  prompt: SentPrompt,
  codec: Codec,
  { settings, isBare = false, lengthOf, held = () => undefined, like }: Making,
): WholePrompt {
  const { decision } = prompt.request;
  const whole = isBare ? { input: [], placed: [], starts: [] } : wholeInput(prompt, codec, { held, lengthOf });
  const { input, placed } = whole;
  const details = isBare ? decision.details : detailsOfWhole(placed);
  const wire = cacheWire(codec.family);
  const asked = { settings, anchor: null, transport: decision.transport, details };
  const items = wire === undefined ? null : itemsOf(wire, { codec, input, details, like });
  const body = objectOf(parseJson(codec.encodeRequest({ ...asked, input: items === null ? input : [] })));
  const listed = items === null ? {} : { listed: items.map(({ unit }) => unit) };
  const made = wire === undefined ? [] : unitsOf(wire, { settings, body, ...listed });
  const units = items === null ? made.map((unit, place) => sharedUnit(unit, like?.units[place])) : made;
  const rest = wire === undefined ? body : { ...body, [wire.list]: [] };
  return { ...whole, body: rest, units, prefixes: prefixesOf(units, like), items };
}

type Listing = Pick<WholePrompt, "input"> &
  Pick<Making, "like"> & { readonly codec: Codec; readonly details: JsonObject | undefined };

/** The items of a codec that writes each block as one: then nothing else of the body has to be known. */
function itemsOf(wire: CacheWire, { codec, input, details, like }: Listing): readonly Item[] | null {
  const textOf = itemTextOf(codec, details);
  if (textOf === null) return null;
  return input.map((sent, place) => {
    const known = isSame(like?.input[place], sent) ? like?.items?.[place] : undefined;
    if (known !== undefined) return known;
    const text = textOf(sent);
    return { unit: listUnit(wire, parseJson(text), place), bytes: utf8Length(text) };
  });
}

const isSame = (one: SentBlock | undefined, other: SentBlock): boolean =>
  one?.block === other.block &&
  one.withId === other.withId &&
  one.standIn === other.standIn &&
  one.called === other.called;

/** The unit of the other prompt, if both are equal, so that prompts with the same beginning keep it once. */
const sharedUnit = (unit: CacheUnit, other: CacheUnit | undefined): CacheUnit =>
  other?.digest === unit.digest &&
  other.path === unit.path &&
  other.breakpoint === unit.breakpoint &&
  other.by === unit.by
    ? other
    : unit;

/**
 * The lengths in UTF-8 of contents that were erased: tokens are estimated by bytes. The recorded length of a request body says how much of it
 * is missing; several blocks of one request share that equally. A block keeps its length, since prompts are compared by their stand-ins.
 */
class ErasedLengths {
  readonly #byName = new Map<string, number>();
  #measured = 0;

  /** The length of the stand-in for a block; the shortest if no request tells. */
  readonly of = ({ recordedAs }: Block): number => {
    const known = this.#byName.get(recordedAs) ?? leastLength;
    this.#byName.set(recordedAs, known);
    return known;
  };

  /** Measures the requests of a trail that were not there before, oldest first. */
  measure({ prompts, erasedSettings }: Pick<CacheTrail, "prompts" | "erasedSettings">, codecs: Codecs): void {
    const added: SentPrompt[] = [];
    for (const prompt of prompts.newestFirst()) {
      if (this.#measured + added.length >= prompts.size) break;
      added.push(prompt);
    }
    for (const prompt of added.reverse())
      if (prompt.hasErasedBody && !erasedSettings.has(prompt.request.settingsDigest)) this.#measureOne(prompt, codecs);
    this.#measured += added.length;
  }

  #measureOne(prompt: SentPrompt, codecs: Codecs): void {
    const { request, settings } = prompt;
    const { encoder, decision, requestBytes } = request;
    const codec = codecs.get(encoder);
    const unknown = erasedSince(prompt).filter(({ recordedAs }) => !this.#byName.has(recordedAs));
    if (codec === undefined || unknown.length === 0) return;
    const { anchor, transport, details } = decision;
    const lengthOf = ({ recordedAs }: Block): number => this.#byName.get(recordedAs) ?? leastLength;
    const input = sentInput(prompt, codec, lengthOf);
    const missing = requestBytes - utf8Length(codec.encodeRequest({ settings, input, anchor, transport, details }));
    const each = leastLength + Math.max(0, Math.round(missing / unknown.length));
    for (const { recordedAs } of unknown) this.#byName.set(recordedAs, each);
  }
}
