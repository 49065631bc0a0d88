import { isAside } from "../../domain/frame.ts";
import type { RunPart } from "../../engine/options/run-part.ts";
import type { OpenRequest } from "./chat-fold.ts";
import type { UiStep } from "./ui-steps.ts";

/** A piece of an answer that arrives. `from` is its place in the text of its output, so that lost and repeated pieces do no harm. */
export type LivePiece = OpenRequest & {
  readonly output: number;
  readonly kind: "text" | "reasoning" | "call";
  /** Of a call: the tool. */
  readonly name?: string;
  readonly from: number;
  readonly text: string;
};

/** The most UTF-16 units that are kept of an answer that arrives. A page gets the rest with the whole blocks. */
const maxLiveUnits = 1_000_000;
/** How many requests are kept: the log says which one a page shows, and a reader of it may be behind. */
const maxRequests = 3;

type Output = Pick<LivePiece, "output" | "kind" | "name"> & { text: string };
type Arriving = { readonly request: OpenRequest; readonly outputs: Map<string, Output>; units: number };

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
    const kind = kindOfPart(part);
    if (kind === null || !("outputIndex" in part)) return null;
    const { frame, outputIndex: output } = part;
    const attempt = this.#attempts.get(frame);
    if (isAside(frame) || attempt === undefined) return null;
    const request = { runId: this.#runId, frame, attempt };
    const known = this.#requests.get(keyOf(request))?.outputs.get(`${output} ${kind}`);
    const from = known?.text.length ?? 0;
    if (part.type !== "item-start") return { ...request, output, kind, from, text: part.text };
    // A call is shown from its name on.
    return part.name === undefined ? null : { ...request, output, kind, name: part.name, from, text: "" };
  }

  /** Adds what is new of a piece. A piece behind a gap is left out, as are all after it. */
  take({ runId, frame, attempt, output, kind, name, from, text }: LivePiece): void {
    const arriving = this.#arriving({ runId, frame, attempt });
    const key = `${output} ${kind}`;
    const known = arriving.outputs.get(key) ?? { output, kind, ...(name === undefined ? {} : { name }), text: "" };
    if (known.kind === "call" && known.name === undefined) return;
    const more = text.slice(known.text.length - from);
    if (from > known.text.length || from + text.length < known.text.length) return;
    if (arriving.units + more.length > maxLiveUnits) return;
    arriving.units += more.length;
    known.text += more;
    arriving.outputs.set(key, known);
  }

  /** All that is known, for a process that begins to listen. */
  pieces(): readonly LivePiece[] {
    return [...this.#requests.values()].flatMap(({ request, outputs }) =>
      [...outputs.values()].map((output) => ({ ...request, ...output, from: 0 })),
    );
  }

  /** What arrives of a request, as a step whose parts are open. */
  stepOf(request: OpenRequest): UiStep {
    const outputs = [...(this.#requests.get(keyOf(request))?.outputs.values() ?? [])];
    // Some wires have reasoning and text in one item.
    const places = outputs.toSorted((left, right) => left.output - right.output || orderOf(left) - orderOf(right));
    return places.map(({ output, kind, name = "", text }) =>
      kind === "call"
        ? { kind: "tool", id: `${request.runId}/${request.frame}/${output}`, name, arriving: text, states: [] }
        : { kind, text, isOpen: true },
    );
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

const orderOf = ({ kind }: Pick<LivePiece, "kind">): number => ["reasoning", "text", "call"].indexOf(kind);

/** The kind of the output that a part brings a piece of; null for other parts. */
function kindOfPart(part: RunPart): LivePiece["kind"] | null {
  switch (part.type) {
    case "text-delta":
      return "text";
    case "reasoning-delta":
      return "reasoning";
    case "tool-call-delta":
      return "call";
    default:
      return part.type === "item-start" && part.kind === "tool-call" ? "call" : null;
  }
}
