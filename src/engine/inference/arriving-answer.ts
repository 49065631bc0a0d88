import { isJsonObject, jsonCopy } from "../../base/json.ts";
import { type ReportedUsage, usageSchema } from "../../domain/events/shared.ts";
import { recordedUsage } from "../planning/recorded-usage.ts";
import type { AnswerContext, Codec } from "../ports/codec.ts";
import type { StreamDelta } from "../ports/provider.ts";
import type { ProviderError } from "../ports/provider-error.ts";

/** What a provider has reported of one answer so far: how soon it began, and its usage, which a cut stream would otherwise lose. */
export class ArrivingAnswer {
  readonly #now: () => number;
  readonly #sentAt: number | null;
  #firstMs: number | null = null;
  #usage: Extract<StreamDelta, { readonly type: "usage" }> | null = null;

  /** @param isTimed - Whether the answer is streamed: an answer that comes whole has no first part. */
  constructor(now: () => number, { isTimed }: { readonly isTimed: boolean }) {
    this.#now = now;
    this.#sentAt = isTimed ? now() : null;
  }

  /** How long after the request the first part came, in milliseconds; null if that was not measured. */
  get firstMs(): number | null {
    return this.#firstMs;
  }

  take(delta: StreamDelta): void {
    if (delta.type === "usage") this.#usage = delta;
    else if (this.#firstMs === null && this.#sentAt !== null) this.#firstMs = Math.max(0, this.#now() - this.#sentAt);
  }

  /** The usage of an answer that failed: that of the failed response, or the newest one in the stream; null if there is neither. */
  usageOf(error: ProviderError, codec: Codec, asked: AnswerContext): ReportedUsage | null {
    const failed = usageOfFailed(error, codec, asked);
    if (failed !== null || this.#usage?.reported === undefined) return failed;
    const { usage, reported } = this.#usage;
    return soundUsage(() => recordedUsage({ ...usage, reported }, codec, {}));
  }
}

/** The usage of a failed response, which the error has as its body; null if the body is something else. */
export function usageOfFailed({ body }: ProviderError, codec: Codec, asked: AnswerContext): ReportedUsage | null {
  if (!isJsonObject(body)) return null;
  return soundUsage(() => {
    const { usage } = codec.readAnswer(body, asked);
    return usage === undefined ? null : recordedUsage(usage, codec, body);
  });
}

/**
 * What is read, if an event can hold it. Error bodies have any form, and the codec of another author may not expect one: the failure
 * itself has to be recorded all the same.
 */
function soundUsage(read: () => ReportedUsage | null): ReportedUsage | null {
  try {
    const parsed = usageSchema.safeParse(jsonCopy(read()));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
