import type { ProviderError } from "../../engine/ports/provider-error.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";

/** The body of an answer; it checks the limits while it is read. */
export class MeteredBody {
  readonly limits: AnswerLimits;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  #bytes = 0;
  #eventBytes = 0;
  #isStream = false;
  #failure: ProviderError | null = null;

  constructor(body: ReadableStream<Uint8Array> | null, limits: AnswerLimits) {
    this.#reader = body === null ? null : body.getReader();
    this.limits = limits;
  }

  /** The limit that the answer exceeded; null while it is within its limits. */
  get failure(): ProviderError | null {
    return this.#failure;
  }

  /** The number of bytes read. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts the body as an event stream, including the part that was already read.
   *
   * @throws {ProviderError} if that part exceeds the limit of a stream.
   */
  asStream(): void {
    this.#isStream = true;
    this.#check();
  }

  /** Starts the count of the next event. */
  endEvent(): void {
    this.#eventBytes = 0;
  }

  /**
   * The next bytes; null at the end.
   *
   * @throws {ProviderError} if the answer exceeds a limit; the rest is not read.
   */
  async read(): Promise<Uint8Array | null> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#reader === null) return null;
    const { done, value } = await this.#timed(this.#reader);
    // After the idle timer cancels the reader, `read` reports the end of the body.
    const { failure } = this;
    if (failure !== null) throw failure;
    if (done) return null;
    this.#bytes += value.byteLength;
    this.#eventBytes += value.byteLength;
    this.#check();
    return value;
  }

  /** The body as text, cut off at the limit of a refusal. */
  async errorText(): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    while (this.#bytes < this.limits.errorBytes) {
      const chunk = await this.read().catch(() => null);
      if (chunk === null) return text + decoder.decode();
      text += decoder.decode(chunk, { stream: true });
    }
    await this.cancel();
    return text;
  }

  async cancel(reason?: unknown): Promise<void> {
    await this.#reader?.cancel(reason).catch(() => undefined);
  }

  #check(): void {
    if (this.#eventBytes > this.limits.bodyBytes) throw this.#fail("bodyBytes");
    if (this.#isStream && this.#bytes > this.limits.streamBytes) throw this.#fail("streamBytes");
  }

  async #timed(reader: ReadableStreamDefaultReader<Uint8Array>) {
    let timer: NodeJS.Timeout | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(this.#fail("idleMs"));
      }, this.limits.idleMs);
    });
    try {
      return await Promise.race([reader.read(), stalled]);
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(limit: Parameters<typeof limitError>[0]): ProviderError {
    this.#failure = limitError(limit, this.limits);
    void this.cancel(this.#failure);
    return this.#failure;
  }
}
