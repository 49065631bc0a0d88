import { type JsonObject, objectOf, textOrNull } from "../../base/json.ts";
import type { ProviderError } from "../../engine/ports/provider-error.ts";

/** The frames that answer one request, in order, until the connection ends. */
export class Reply {
  readonly #frames: JsonObject[] = [];
  #arrival: PromiseWithResolvers<void> = Promise.withResolvers();
  #failure: ProviderError | null = null;
  #bytes = 0;
  #responseId: string | null = null;
  #isCutShort = false;

  /** The number of bytes received. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The id of the response, once an event has named it. */
  get responseId(): string | null {
    return this.#responseId;
  }

  /** Whether an error came after the answer had begun: more of the answer may follow, and must not count as the next one. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  take(frame: JsonObject, bytes: number): void {
    // Frames in transit still arrive after the connection broke.
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

  /** @throws {ProviderError} if the connection has ended, after all earlier frames were read. */
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

/** Only events that hold the response name it. */
export function responseIdOf({ response }: JsonObject): string | null {
  return textOrNull(objectOf(response)["id"]);
}
