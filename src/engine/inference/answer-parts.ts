import type { RunPart } from "../options/run-part.ts";
import type { RuleOfCall } from "../ports/deltas.ts";
import type { ItemKind, ItemStart, StreamDelta, TextDelta } from "../ports/provider.ts";
import { ShownText } from "./shown-text.ts";

type Watching = {
  readonly frame: string;
  readonly emit: (part: RunPart) => void;
  /** What the layers around the request change of its deltas, the outermost first. */
  readonly rules: readonly RuleOfCall[];
};

/** An item that has begun. */
type Begun = { readonly start: ItemStart; readonly shown: ShownText | null };

/**
 * The parts of one attempt at an answer, as its provider reports them and the layers show them; each item is announced before its first delta.
 * Nothing of an attempt that is discarded goes into the next one.
 */
export class AnswerParts {
  readonly #watching: Watching;
  /** The items that have begun and are not complete, by position and kind. */
  readonly #begun = new Map<string, Begun>();
  /** The item of the newest delta: most deltas continue it. */
  #newest: { readonly type: TextDelta["type"]; readonly outputIndex: number; readonly item: Begun } | null = null;

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  take(delta: StreamDelta): void {
    const { emit, frame } = this.#watching;
    switch (delta.type) {
      case "usage":
        emit({ type: delta.type, frame, usage: delta.usage });
        return;
      case "item-start":
        this.#begin(delta);
        return;
      case "item-done":
        for (const kind of kinds) this.#end(`${delta.outputIndex} ${kind}`);
        return;
      default:
        this.#takeText(delta);
    }
  }

  /** The answer is complete: shows what layers still hold back. */
  end(): void {
    for (const key of [...this.#begun.keys()]) this.#end(key);
  }

  #takeText(delta: TextDelta): void {
    const { type, outputIndex } = delta;
    if (this.#newest?.type !== type || this.#newest.outputIndex !== outputIndex) {
      const item = this.#begin({ type: "item-start", outputIndex, kind: kindOf[type] });
      this.#newest = { type, outputIndex, item };
    }
    const { shown } = this.#newest.item;
    const { emit, frame } = this.#watching;
    if (shown === null) emit({ ...delta, frame });
    else this.#show(delta, shown.take(delta.text));
  }

  #show({ type, outputIndex }: Pick<TextDelta, "type" | "outputIndex">, text: string): void {
    const { emit, frame } = this.#watching;
    if (text !== "") emit({ type, frame, outputIndex, text });
  }

  /** Announces an item once. Another call at the same position is another item. */
  #begin({ outputIndex, kind, callId, name }: ItemStart): Begun {
    const key = `${outputIndex} ${kind}`;
    const known = this.#begun.get(key);
    if (known !== undefined && (callId === undefined || callId === known.start.callId)) return known;
    if (known !== undefined) this.#end(key);
    const { emit, frame, rules } = this.#watching;
    const said = { ...(callId === undefined ? {} : { callId }), ...(name === undefined ? {} : { name }) };
    const begun = {
      start: { type: "item-start", outputIndex, kind, ...said } as const,
      shown: rules.length === 0 ? null : new ShownText({ kind, ...said }, rules),
    };
    this.#begun.set(key, begun);
    emit({ ...begun.start, frame });
    return begun;
  }

  #end(key: string): void {
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    this.#begun.delete(key);
    this.#newest = null;
    const { start, shown } = begun;
    if (shown !== null) this.#show({ type: deltaOf[start.kind], outputIndex: start.outputIndex }, shown.end());
  }
}

const kinds: readonly ItemKind[] = ["text", "reasoning", "tool-call"];

const kindOf = { "text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call" } as const;
const deltaOf = { text: "text-delta", reasoning: "reasoning-delta", "tool-call": "tool-call-delta" } as const;
