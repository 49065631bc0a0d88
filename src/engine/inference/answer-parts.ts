import type { ItemKind, ItemStart, StreamDelta, TextDelta } from "../stack/provider.ts";
import type { RunPart } from "../stack/run-part.ts";

/** The parts of one attempt at an answer, as its provider reports them; each item is announced before its first delta. */
export class AnswerParts {
  readonly #frame: string;
  readonly #emit: (part: RunPart) => void;
  /** The items that have begun and are not complete, by position and kind. */
  readonly #begun = new Map<string, ItemStart>();
  /** The item of the newest delta: most deltas continue it. */
  #newest: TextDelta | null = null;

  constructor(frame: string, emit: (part: RunPart) => void) {
    this.#frame = frame;
    this.#emit = emit;
  }

  take(delta: StreamDelta): void {
    const frame = this.#frame;
    switch (delta.type) {
      case "usage":
        this.#emit({ type: delta.type, frame, usage: delta.usage });
        return;
      case "item-start":
        this.#begin(delta);
        return;
      case "item-done":
        for (const kind of kinds) this.#begun.delete(`${delta.outputIndex} ${kind}`);
        this.#newest = null;
        return;
      default:
        if (!this.#continues(delta)) this.#begin({ ...delta, type: "item-start", kind: kindOf[delta.type] });
        this.#newest = delta;
        this.#emit({ ...delta, frame });
    }
  }

  #continues({ type, outputIndex }: TextDelta): boolean {
    return this.#newest?.type === type && this.#newest.outputIndex === outputIndex;
  }

  /** Announces an item once. Another call at the same position is another item. */
  #begin({ outputIndex, kind, callId, name }: ItemStart): void {
    const key = `${outputIndex} ${kind}`;
    const known = this.#begun.get(key);
    if (known !== undefined && (callId === undefined || callId === known.callId)) return;
    const start: ItemStart = {
      ...{ type: "item-start", outputIndex, kind },
      ...(callId === undefined ? {} : { callId }),
      ...(name === undefined ? {} : { name }),
    };
    this.#begun.set(key, start);
    this.#emit({ ...start, frame: this.#frame });
  }
}

const kinds: readonly ItemKind[] = ["text", "reasoning", "tool-call"];

const kindOf = { "text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call" } as const;
