import { type JsonObject, objectOf, textOrNull } from "../../base/json.ts";
import type { ProviderError } from "../../engine/stack/provider.ts";

/** The frames that answer one request, in their order, until the connection ends. */
export class Reply {
  readonly #frames: JsonObject[] = [];
  #arrival: PromiseWithResolvers<void> = Promise.withResolvers();
  #failure: ProviderError | null = null;
  #bytes = 0;
  #responseId: string | null = null;
  #isCutShort = false;

  /** How much came, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The id of the response that it is, once an event has said so. */
  get responseId(): string | null {
    return this.#responseId;
  }

  /** Whether an error came after the answer had begun: more of that may follow, which is no part of the next. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  take(frame: JsonObject, bytes: number): void {
    // What was on its way when the connection broke still arrives.
    if (this.#failure !== null) return;
    this.#responseId ??= responseIdOf(frame);
    this.#isCutShort ||= frame["type"] === "error" && this.#responseId !== null;
    this.#frames.push(frame);
    this.#bytes += bytes;
    this.#arrival.resolve();
  }

  fail(error: ProviderError): void {
    this.#failure ??= error;
    this.#arrival.resolve();
  }

  /** @throws {ProviderError} when the connection has ended, once all that came before was read. */
  async next(): Promise<JsonObject> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#failure !== null) throw this.#failure;
      this.#arrival = Promise.withResolvers();
      await this.#arrival.promise;
    }
  }
}

/** Only the events that hold the response name it. */
export function responseIdOf({ response }: JsonObject): string | null {
  return textOrNull(objectOf(response)["id"]);
}
