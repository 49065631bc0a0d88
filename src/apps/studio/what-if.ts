import { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { Engine } from "../../engine/options/engine.ts";
import { type Codecs, sentRequest } from "../../engine/recorded/recorded-request.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { type Counterfactual, whatIf } from "../../replay/counterfactual.ts";
import { counterfactualDocumentOf } from "../documents/counterfactual-document.ts";
import { bodyRows } from "./body-rows.ts";
import { breathing } from "./breathing.ts";
import { RefusedError } from "./failures.ts";
import type { HeldConversation } from "./held-conversations.ts";
import type { WhatIfChoices, WhatIfDocument, WhatIfStepDocument } from "./what-if-documents.ts";

/** A stack that a module exports, and the codecs that read recorded answers. */
export type NamedStack = { readonly file: string; readonly engine: Engine; readonly codecs: Codecs };

export type WhatIfStacks = { readonly stack: NamedStack | null; readonly other: NamedStack | null };

/** What a page asks for: the stack without a layer, or the other stack. */
type Asked = { readonly without: string | null };

type Made = {
  readonly digest: string;
  events: number;
  readonly total: number;
  answer: Counterfactual | null;
  error: Error | null;
};

/** How many results stay in memory. */
const mostKept = 12;

/** What would have been with other stacks than the recorded one. No provider is asked, and no tool runs. */
export class WhatIf {
  readonly #store: TurnlogStore;
  readonly #stacks: WhatIfStacks;
  readonly #made = new Map<string, Made>();

  constructor(events: EventStore, stacks: WhatIfStacks) {
    this.#store = new TurnlogStore(breathing(events));
    this.#stacks = stacks;
  }

  get choices(): WhatIfChoices {
    const { stack, other } = this.#stacks;
    // Without the engine's own loop, no tool would have run.
    const layers = stack?.engine.options.layers.map(({ name }) => name).filter((name) => name !== "tool-loop") ?? [];
    return { stack: stack === null ? null : { file: stack.file, layers }, other: other?.file ?? null };
  }

  /** The result, or how far it is. */
  document(held: HeldConversation, asked: Asked): WhatIfDocument {
    const { events, total, answer, error } = this.#of(held, asked);
    if (error !== null) throw error;
    if (answer === null) return { running: { events, total }, result: null };
    const about = { conversation: held.id, to: total - 1, savedAs: null };
    return { running: null, result: counterfactualDocumentOf(answer, about) };
  }

  /** The bodies of a step beside each other; null while the result is being made. */
  async step(held: HeldConversation, asked: Asked, place: number): Promise<WhatIfStepDocument | null> {
    const { answer, error } = this.#of(held, asked);
    if (error !== null) throw error;
    if (answer === null) return null;
    const step = answer.steps[place];
    if (step === undefined)
      throw new RefusedError(404, "request-not-found", { message: `there is no step ${place + 1}` });
    const { recorded, otherwise } = step;
    const revision = recorded?.revision ?? null;
    const sent = revision === null ? { body: null, problem: null } : await this.#sent(held, revision, asked);
    return {
      step: place,
      recorded: recorded === null ? null : { revision, bytes: recorded.bytes },
      otherwise: otherwise === null ? null : { bytes: otherwise.bytes },
      problem: sent.problem,
      ...bodyRows(sent.body, otherwise?.bodyText ?? null),
    };
  }

  /** The body that was sent; content that was erased since leaves none. */
  async #sent({ fold }: HeldConversation, revision: number, asked: Asked) {
    const { codecs } = this.#stackOf(asked);
    try {
      const { bodyText } = await fold.request(revision, codecs, ({ view, recorded }) =>
        sentRequest(view, recorded, codecs),
      );
      return { body: bodyText, problem: null };
    } catch (error) {
      return { body: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  #of({ id, reel }: HeldConversation, asked: Asked): Made {
    const { engine, codecs } = this.#stackOf(asked);
    const key = JSON.stringify([id, asked.without]);
    const digest = reel.head?.digest ?? "";
    const known = this.#made.get(key);
    if (known?.digest === digest) return known;
    const made: Made = { digest, events: 0, total: reel.rows.length, answer: null, error: null };
    this.#made.delete(key);
    this.#made.set(key, made);
    for (const oldest of this.#made.keys()) {
      if (this.#made.size <= mostKept) break;
      this.#made.delete(oldest);
    }
    const onProgress = (events: number): void => {
      made.events = events;
    };
    const { without } = asked;
    whatIf(this.#store.conversation(id), engine, {
      codecs,
      without,
      to: made.total - 1,
      bodies: true,
      onProgress,
    }).then(
      (answer) => {
        made.answer = answer;
      },
      (error: unknown) => {
        made.error = error instanceof Error ? error : new Error(String(error));
      },
    );
    return made;
  }

  #stackOf({ without }: Asked): NamedStack {
    const { stack, other } = this.#stacks;
    const found = without === null ? other : stack;
    if (found !== null) return found;
    const hint = without === null ? "--with FILE" : "--stack FILE";
    throw new RefusedError(422, "no-stack", {
      message: `this studio has no ${without === null ? "other stack" : "stack that a layer could be left out of"}`,
      hint: `Start it with turnlog studio ${hint}.`,
    });
  }
}
