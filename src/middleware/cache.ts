import { createHmac } from "node:crypto";
import { canonicalJson } from "../base/canonical-json.ts";
import { messageOf } from "../base/error-message.ts";
import { isJsonObject } from "../base/json.ts";
import { checkWhole, kindOf, optionsOf, required, textOf } from "../base/options.ts";
import type { Block } from "../domain/block.ts";
import { assistant } from "../domain/make-block.ts";
import type { Turn } from "../domain/turn.ts";
import { EffectFailedError } from "../engine/ports/effect-errors.ts";
import { broughtBy, defineMiddleware, type Layer, type LayerContext } from "../engine/ports/middleware.ts";

/** Where a cache keeps answers: a Keyv, or anything with these methods. Values are texts. */
export type CacheStore = {
  get(key: string): unknown;
  /** Keeps the value for so many milliseconds. */
  set(key: string, value: string, ttl: number): unknown;
  /** If the store emits errors, the layer listens, so that a lost connection does not end the process. */
  on?(event: "error", listener: (error: unknown) => void): unknown;
};

export type CacheOptions = {
  /** Distinguishes two such layers of one stack, also in the log. */
  readonly name?: string;
  readonly store: CacheStore;
  /** A secret: the store sees keyed digests, which do not confirm a guess of what was asked. Stacks with one key share answers. */
  readonly key: string;
  /** How long an answer is used, in milliseconds. */
  readonly ttl: number;
  /** How long to wait for the store. Default: 1,000 milliseconds. */
  readonly timeoutMs?: number;
};

const cacheOptions = optionsOf<CacheOptions>({
  name: textOf("the layer's name in the log"),
  store: required<CacheStore>((what, given) => {
    const { get, set } = isJsonObject(given) ? given : ({} as Partial<Record<string, unknown>>);
    // The signatures of methods cannot be checked before they are called.
    if (typeof get === "function" && typeof set === "function") return given as never;
    throw new TypeError(
      `${what} is ${kindOf(given)}: give a Keyv, or an object with get(key) and set(key, value, ttl)`,
    );
  }),
  key: required(textOf("a secret text")),
  ttl: required(checkWhole),
  timeoutMs: checkWhole,
});

/**
 * Answers from a store what was asked before with the same Turn and settings. It keeps whole answers in texts only: no calls, no answer that
 * broke off, was refused, or was changed by an inner layer. No server holds a cached answer, so the next request does not continue from it.
 *
 * A store that is down or hangs is a miss: the log has the failed effect, and the run goes on.
 *
 * @throws {TypeError | RangeError} if an option is unknown, missing or invalid.
 */
export function cache(options: CacheOptions): Layer {
  cacheOptions.check("cache", options);
  const { name = "cache", store, key, ttl, timeoutMs = 1_000 } = options;
  const stored = listenedTo(store);
  const settings = { idempotent: true, timeoutMs } as const;
  const keyCheck = createHmac("sha256", key).update("turnlog/cache/config").digest("hex");
  return defineMiddleware({ name, version: "1.0.0", config: { ttl, keyCheck } }, (next) => async (turn, ctx) => {
    if (ctx.summarising) return next(turn);
    const asked = keyOf(turn, ctx, key);
    const cached = await orNull(ctx, () =>
      ctx.effect("look up", async () => textsIn(await stored(() => store.get(asked))), settings),
    );
    if (cached !== null) return turn.append(...cached.map((text) => assistant(text)));
    const result = await next(turn);
    const texts = keptTexts(broughtBy(turn, result));
    if (texts === null) return result;
    const keep = async (): Promise<null> => {
      await stored(() => store.set(asked, JSON.stringify(texts), ttl));
      return null;
    };
    await orNull(ctx, () => ctx.effect("keep", keep, settings));
    return result;
  });
}

/** Runs operations of a store. A Keyv emits what went wrong, and answers as if it had nothing: that is an error here. */
function listenedTo(store: CacheStore) {
  const errors: { count: number; last: unknown } = { count: 0, last: null };
  store.on?.("error", (error) => {
    errors.count += 1;
    errors.last = error;
  });
  return async (work: () => unknown): Promise<unknown> => {
    const { count } = errors;
    const value = await work();
    if (errors.count > count && typeof value !== "string")
      throw new Error(`the store failed: ${messageOf(errors.last)}`);
    return value;
  };
}

/** The key of what is asked: its blocks by their contents, and all that the request says besides. */
function keyOf(turn: Turn, { settings }: LayerContext, key: string): string {
  const asked = canonicalJson([turn.blocks.map(({ digest }) => digest), settings]);
  return `turnlog:${createHmac("sha256", key).update(`turnlog/cache/v1\n${asked}`).digest("hex")}`;
}

/** Null if the store failed: the effect is recorded with its error. */
async function orNull<Value>({ signal }: LayerContext, effect: () => Promise<Value>): Promise<Value | null> {
  try {
    return await effect();
  } catch (error) {
    if (error instanceof EffectFailedError && !signal.aborted) return null;
    throw error;
  }
}

/** What the store has, if this layer wrote it. */
function textsIn(value: unknown): string[] | null {
  if (typeof value !== "string") return null;
  try {
    const texts: unknown = JSON.parse(value);
    return Array.isArray(texts) && texts.length > 0 && texts.every((text) => typeof text === "string" && text !== "")
      ? // Every item was found to be a text.
        (texts as string[])
      : null;
  } catch {
    return null;
  }
}

/** The texts of an answer, if it may be given again. */
function keptTexts(brought: readonly Block[]): string[] | null {
  const said = brought.filter(({ kind }) => kind !== "reasoning");
  return said.length > 0 && said.every(isWhole) ? said.map(({ text }) => text) : null;
}

/** A message of the model as it came, with nothing but text. A layer that changes a block takes its wire. */
const isWhole = ({ kind, wire, parts, text }: Block): boolean =>
  kind === "assistant" &&
  text !== "" &&
  parts.every(({ type }) => type === "text") &&
  wire !== null &&
  wire.partial !== true &&
  wire.incomplete !== true &&
  wire.paused !== true;
