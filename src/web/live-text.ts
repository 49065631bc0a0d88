import { isAside } from "../domain/frame.ts";
import type { RunPart } from "../engine/stack/run-part.ts";
import type { OpenRequest } from "./chat-fold.ts";
import type { UiStep } from "./ui-steps.ts";

/** A piece of an answer that arrives. `from` is its place in the text of its output, so that lost and repeated pieces do no harm. */
export type LivePiece = OpenRequest & {
  readonly output: number;
  readonly kind: "text" | "reasoning";
  readonly from: number;
  readonly text: string;
};

/** The most UTF-16 units that are kept of an answer that arrives. A page gets the rest with the whole blocks. */
const maxLiveUnits = 1_000_000;
/** How many requests are kept: the log says which one a page shows, and a reader of it may be behind. */
const maxRequests = 3;

type Output = { readonly kind: LivePiece["kind"]; text: string };
type Arriving = { readonly request: OpenRequest; readonly outputs: Map<number, Output>; units: number };

/** What arrives of the newest requests of a conversation, before the log has it. It is a help, not a truth: whatever is missing comes with the log. */
export class LiveText {
  readonly #requests = new Map<string, Arriving>();
  #runId = "";
  readonly #attempts = new Map<string, number>();

  /** The piece that a part of a run brings; null for a part that brings none. */
  pieceOf(part: RunPart): LivePiece | null {
    if (part.type === "run-start" || part.type === "resumed") {
      this.#runId = part.runId;
      this.#attempts.clear();
    }
    if (part.type === "request-start") this.#attempts.set(part.frame, part.attempt);
    if (part.type !== "text-delta" && part.type !== "reasoning-delta") return null;
    const { frame, outputIndex: output, text } = part;
    const attempt = this.#attempts.get(frame);
    if (isAside(frame) || attempt === undefined) return null;
    const request = { runId: this.#runId, frame, attempt };
    const from = this.#requests.get(keyOf(request))?.outputs.get(output)?.text.length ?? 0;
    return { ...request, output, kind: part.type === "text-delta" ? "text" : "reasoning", from, text };
  }

  /** Adds what is new of a piece. A piece behind a gap is left out, as are all after it. */
  take({ runId, frame, attempt, output, kind, from, text }: LivePiece): void {
    const request = { runId, frame, attempt };
    const arriving = this.#arriving(request);
    const known: Output = arriving.outputs.get(output) ?? { kind, text: "" };
    const more = text.slice(known.text.length - from);
    if (from > known.text.length || known.text.length >= from + text.length) return;
    if (known.kind !== kind || arriving.units + more.length > maxLiveUnits) return;
    arriving.units += more.length;
    known.text += more;
    arriving.outputs.set(output, known);
  }

  /** All that is known, for a process that begins to listen. */
  pieces(): readonly LivePiece[] {
    return [...this.#requests.values()].flatMap(({ request, outputs }) =>
      [...outputs].map(([output, { kind, text }]) => ({ ...request, output, kind, from: 0, text })),
    );
  }

  /** What arrives of a request, as a step whose parts are open. */
  stepOf(request: OpenRequest): UiStep {
    const outputs = [...(this.#requests.get(keyOf(request))?.outputs ?? [])].toSorted(
      ([left], [right]) => left - right,
    );
    return outputs.map(([, { kind, text }]) => ({ kind, text, isOpen: true }));
  }

  #arriving(request: OpenRequest): Arriving {
    const key = keyOf(request);
    const known = this.#requests.get(key);
    if (known !== undefined) return known;
    const arriving: Arriving = { request, outputs: new Map(), units: 0 };
    this.#requests.set(key, arriving);
    for (const oldest of this.#requests.keys()) {
      if (this.#requests.size <= maxRequests) break;
      this.#requests.delete(oldest);
    }
    return arriving;
  }
}

const keyOf = ({ runId, frame, attempt }: OpenRequest): string => `${runId}/${frame}/${attempt}`;
