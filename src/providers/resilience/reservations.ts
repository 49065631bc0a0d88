import { setTimeout as sleep } from "node:timers/promises";
import { rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { isJsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { tell } from "./around.ts";

/** The part of a limiter that `rateLimit` uses, as rate-limiter-flexible has it. */
export type RateLimiter = {
  /** Takes points. Rejects with an object that has `msBeforeNext` if there are too few, and with an `Error` if the limiter failed. */
  consume(key: string, points: number): Promise<unknown>;
  /** Takes points, however few are left. */
  penalty?(key: string, points: number): Promise<unknown>;
  /** Gives points back. */
  reward?(key: string, points: number): Promise<unknown>;
  /** The points of one period: a request that needs more is never possible. */
  readonly points?: number;
  /** How long a key is blocked once it was refused: then refused points are not given back, which would end the block. */
  readonly blockDuration?: number;
};

/** @throws {TypeError} if it is not a limiter, or lacks what counting tokens needs. */
export function checkLimiter(what: string, limiter: unknown, asked: { readonly countsTokens: boolean }): void {
  if (typeof limiter !== "object" || limiter === null || typeof Reflect.get(limiter, "consume") !== "function")
    throw new TypeError(`${what} is ${kindOf(limiter)}: give new RateLimiterMemory({ points, duration })`);
  const lacking = ["penalty", "reward"].filter((name) => typeof Reflect.get(limiter, name) !== "function");
  if (asked.countsTokens && lacking.length > 0)
    throw new TypeError(`${what} has no ${lacking.join(" and no ")}, which counting tokens needs: leave tokens out`);
}

type Reserved =
  | { readonly how: "reserved" }
  | { readonly how: "refused"; readonly retryAfterMs: number | null; readonly isNever: boolean }
  /** The limiter failed, or did not answer in time. */
  | { readonly how: "down" };

type Reserving = {
  readonly key: string;
  readonly timeoutMs: number;
  readonly onDown: ((error: unknown) => void) | undefined;
};

/** Points that are reserved at a limiter, and corrected when the cost of a request is known. A limiter that fails never fails a request. */
export class Reservations {
  readonly #limiter: RateLimiter;
  readonly #reserving: Reserving;
  /** The failure was reported, and the limiter has not answered since. */
  #isDown = false;

  constructor(limiter: RateLimiter, reserving: Reserving) {
    this.#limiter = limiter;
    this.#reserving = reserving;
  }

  /** @throws the signal's reason if it aborts. */
  async reserve(points: number, signal: AbortSignal): Promise<Reserved> {
    const { key } = this.#reserving;
    try {
      await this.#answer(() => this.#limiter.consume(key, points), signal);
      this.#isDown = false;
      return { how: "reserved" };
    } catch (error) {
      signal.throwIfAborted();
      const refusal = refusalOf(error);
      if (refusal === null) {
        this.#noteDown(error);
        return { how: "down" };
      }
      this.#isDown = false;
      await this.#giveBack(points, refusal);
      const { msBeforeNext } = refusal;
      const isNever = this.#limiter.points !== undefined && points > this.#limiter.points;
      return { how: "refused", retryAfterMs: isNever || msBeforeNext < 0 ? null : Math.ceil(msBeforeNext), isNever };
    }
  }

  /** Tells the limiter how many of the reserved points were used. */
  async correct(reserved: number, used: number): Promise<void> {
    const { key } = this.#reserving;
    const more = used - reserved;
    if (more === 0) return;
    await this.#report(() => (more > 0 ? this.#limiter.penalty?.(key, more) : this.#limiter.reward?.(key, -more)));
  }

  /** A limiter counts refused points as well: a request that is too large would keep smaller ones out. */
  async #giveBack(points: number, refusal: Refusal): Promise<void> {
    const { blockDuration = 0 } = this.#limiter;
    const hasCounted = refusal.consumedPoints === undefined || refusal.consumedPoints > 0;
    if (blockDuration > 0 || !hasCounted) return;
    await this.#report(() => this.#limiter.reward?.(this.#reserving.key, points));
  }

  async #report(work: () => Promise<unknown> | undefined): Promise<void> {
    try {
      await this.#answer(async () => work());
    } catch (error) {
      this.#noteDown(error);
    }
  }

  async #answer(work: () => Promise<unknown>, signal?: AbortSignal): Promise<unknown> {
    const { timeoutMs } = this.#reserving;
    const timer = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`the limiter did not answer within ${timeoutMs} ms`);
    });
    late.catch(() => undefined);
    try {
      // A limiter of the caller's may throw before it returns a promise.
      const working = (async () => work())();
      return await Promise.race([working, late, ...(signal === undefined ? [] : [rejectionOf(signal)])]);
    } finally {
      timer.abort();
    }
  }

  #noteDown(error: unknown): void {
    if (this.#isDown) return;
    this.#isDown = true;
    const { onDown = warn } = this.#reserving;
    tell("rateLimit: onDown", onDown, error);
  }
}

const warn = (error: unknown): void => {
  process.emitWarning(`a rate limiter does not answer: ${messageOf(error)}`, "TurnlogWarning");
};

type Refusal = { readonly msBeforeNext: number; readonly consumedPoints?: number };

/** Too few points are left; null for what a limiter throws when it fails. A union of limiters has a refusal of each, by their names. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Error || !isJsonObject(error)) return null;
  if (isRefusal(error)) return error;
  const refusals = Object.values(error).filter(isRefusal);
  return refusals.length === 0 ? null : { msBeforeNext: Math.max(...refusals.map((each) => each.msBeforeNext)) };
}

const isRefusal = (given: unknown): given is Refusal =>
  isJsonObject(given) && typeof given["msBeforeNext"] === "number";
