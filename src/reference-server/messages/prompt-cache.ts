import { createHash } from "node:crypto";
import { tokensIn } from "../prefix-cache.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** The tokens that an answer reports: how much of a prompt was read from the cache, and how much was written to it. */
export interface CacheUse {
  readonly read: number;
  readonly written: number;
}

/** A content block of a prompt, in reading order, and its cache breakpoint. */
export interface PromptUnit {
  readonly block: JsonObject;
  /** Its path: `messages.0.content.1`, `system.0`, `tools.0`. */
  readonly path: string;
  /** Its text as read, and its role. */
  readonly text: string;
  readonly mark: JsonObject | undefined;
}

/**
 * The prompt cache (Anthropic's guide to prompt caching). Everything up to a breakpoint is stored for five minutes or an hour. From each
 * breakpoint the server looks back over a limited number of blocks for a prefix that it has.
 */
export class PromptCache {
  readonly #endsAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  clear(): void {
    this.#endsAt.clear();
  }

  /** @param model - A model reads only its own cache entries. */
  use(units: readonly PromptUnit[], model: Json): CacheUse {
    const now = this.#now();
    const texts = units.map(({ text }) => text);
    const beginnings = beginningsOf(texts, JSON.stringify(model));
    const marks = units.flatMap(({ mark }, at) => (mark === undefined ? [] : [{ at, keptMs: keptMs(mark) }]));
    const found = marks.map(({ at }) =>
      beginnings.findLastIndex((each, place) => {
        const isNear = place <= at && place > at - lookback;
        return isNear && (this.#endsAt.get(each) ?? Number.NEGATIVE_INFINITY) >= now;
      }),
    );
    const read = Math.max(-1, ...found);
    const kept = [...marks, ...marks.slice(0, 1).map(({ keptMs: ms }) => ({ at: read, keptMs: ms }))];
    for (const { at, keptMs: ms } of kept) {
      const beginning = beginnings[at];
      if (beginning !== undefined) this.#endsAt.set(beginning, Math.max(now + ms, this.#endsAt.get(beginning) ?? 0));
    }
    for (const oldest of this.#endsAt.keys()) {
      if (this.#endsAt.size <= maxKept) break;
      this.#endsAt.delete(oldest);
    }
    const inCache = tokensIn(texts.slice(0, read + 1));
    return { read: inCache, written: tokensIn(texts.slice(0, (marks.at(-1)?.at ?? -1) + 1)) - inCache };
  }
}

/** The number of positions that are checked from a breakpoint back, including its own. */
const lookback = 20;
const maxKept = 100_000;
const minutes = 60_000;

const keptMs = ({ ttl }: JsonObject): number => (ttl === "1h" ? 60 * minutes : 5 * minutes);

/** The units of a prompt. A string is one text block; breakpoints are not part of the text. */
export function unitsOf(body: JsonObject): readonly PromptUnit[] {
  const listed = (content: Json | undefined): readonly JsonObject[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
  const blocks = [
    ...objectsOf(body["tools"]).map((block, n) => ({ block, path: `tools.${n}`, role: null })),
    ...listed(body["system"]).map((block, n) => ({ block, path: `system.${n}`, role: null })),
    ...objectsOf(body["messages"]).flatMap(({ role = null, content }, at) =>
      listed(content).map((block, n) => ({ block, path: `messages.${at}.content.${n}`, role })),
    ),
  ];
  const automatic = isObject(body["cache_control"]) ? body["cache_control"] : undefined;
  return blocks.map(({ block, path, role }, place) => {
    const { cache_control: own, ...read } = block;
    const mark = isObject(own) ? own : place === blocks.length - 1 ? automatic : undefined;
    return { block, path, text: JSON.stringify([role, read]), mark };
  });
}

function beginningsOf(units: readonly string[], model: string): readonly string[] {
  let before = model;
  return units.map((unit) => {
    before = createHash("sha256").update(before).update("\0").update(unit).digest("base64");
    return before;
  });
}
