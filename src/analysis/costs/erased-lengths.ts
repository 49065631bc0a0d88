import { utf8Length } from "../../base/utf8.ts";
import type { Block } from "../../domain/block.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import type { CacheTrail } from "./cache-trail.ts";
import { erasedSince, leastLength, type SentPrompt, sentInput } from "./sent-prompt.ts";

/**
 * The lengths in UTF-8 of contents that were erased: tokens are estimated by bytes. The recorded length of a request body says how much of it
 * is missing; several blocks of one request share that equally. A block keeps its length, since prompts are compared by their stand-ins.
 */
export class ErasedLengths {
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
