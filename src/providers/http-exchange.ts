import { ProviderError } from "../engine/stack/provider.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import { type FailedAnswer, providerError } from "./classify-error.ts";
import { type Deadline, interruption } from "./deadline.ts";
import { refusalOf } from "./refusal.ts";

export type HttpRequest = {
  readonly method: "post" | "get" | "delete";
  readonly path: string;
  /** Sent byte for byte. */
  readonly bodyText?: string;
  readonly accept: string;
  readonly deadline: Deadline;
};

type Sending = {
  readonly fetch: typeof globalThis.fetch;
  readonly limits: AnswerLimits;
  /** What a refusal means in the words of its server. */
  readonly errorOf?: (answer: FailedAnswer) => ProviderError;
};

/** One request on its way through an official client: what may leave, and what came back. */
export class Exchange {
  readonly #request: HttpRequest;
  readonly #sending: Sending;
  #refusal: ProviderError | undefined;

  constructor(request: HttpRequest, sending: Sending) {
    this.#request = request;
    this.#sending = sending;
  }

  readonly fetch: typeof globalThis.fetch = async (address, init) => {
    if ((init?.body ?? undefined) !== this.#request.bodyText) {
      const text = "the client changed the body of a request: nothing was sent";
      this.#refusal = new ProviderError(text, { kind: "invalid-request", outcome: "rejected" });
      throw this.#refusal;
    }
    const signals = [this.#request.deadline.signal, ...(init?.signal ? [init.signal] : [])];
    const { fetch, limits, errorOf = providerError } = this.#sending;
    const answer = await fetch(address, { ...init, redirect: "manual", signal: AbortSignal.any(signals) });
    if (answer.ok) return answer;
    // The client keeps of an error body what it understands; the whole is kept here.
    this.#refusal = await refusalOf(answer, limits, errorOf);
    return new Response(null, { status: 400 });
  };

  failure(cause: unknown): ProviderError {
    return this.#refusal ?? interruption(this.#request.deadline) ?? providerError({ cause });
  }
}
