import type { StreamDelta, TextDelta } from "../../engine/ports/provider.ts";
import type { Mask } from "./mask.ts";

/** Passes on the parts of an answer; holds back an end that may be the beginning of a secret. */
export class HeldParts {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #mask: Mask;
  /** The held end of each text, by item and kind of text. */
  readonly #held = new Map<string, TextDelta>();

  constructor(onDelta: (delta: StreamDelta) => void, mask: Mask) {
    this.#onDelta = onDelta;
    this.#mask = mask;
  }

  take(delta: StreamDelta): void {
    if (delta.type === "usage") {
      const { reported } = delta;
      this.#onDelta(reported === undefined ? delta : { ...delta, reported: this.#mask.json(reported) });
      return;
    }
    if (delta.type === "item-start") {
      const { callId, name } = delta;
      this.#onDelta({
        ...delta,
        ...(callId === undefined ? {} : { callId: this.#mask.text(callId) }),
        ...(name === undefined ? {} : { name: this.#mask.text(name) }),
      });
      return;
    }
    if (delta.type === "item-done") {
      this.#tellHeld(delta.outputIndex);
      this.#onDelta({ ...delta, item: this.#mask.json(delta.item) });
      return;
    }
    const key = `${delta.outputIndex} ${delta.type}`;
    const text = (this.#held.get(key)?.text ?? "") + delta.text;
    const length = text.length - this.#mask.heldBack(text);
    this.#held.set(key, { ...delta, text: text.slice(length) });
    this.#tell({ ...delta, text: text.slice(0, length) });
  }

  /** Passes on the rest of a complete answer: the held ends began no secret. */
  tellRest(): void {
    this.#tellHeld(null);
  }

  #tellHeld(outputIndex: number | null): void {
    for (const [key, delta] of this.#held) {
      if (outputIndex !== null && delta.outputIndex !== outputIndex) continue;
      this.#held.delete(key);
      this.#tell(delta);
    }
  }

  #tell(delta: TextDelta): void {
    if (delta.text !== "") this.#onDelta({ ...delta, text: this.#mask.text(delta.text) });
  }
}
