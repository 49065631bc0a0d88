import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type {
  InferenceFailedData,
  InferenceRequestedData,
  ResponseReceivedData,
  ResponseStartedData,
  RouterChoice,
} from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ApprovalDecidedData, ApprovalRequestedData, Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";

/** One attempt of a step, as recorded. */
export type PastInference = {
  readonly request: InferenceRequestedData;
  readonly revision: number;
  /** A response that is made in the background. */
  started: Pick<ResponseStartedData, "responseId" | "cursor"> | null;
  answer:
    | { readonly type: "response"; readonly data: ResponseReceivedData; readonly revision: number; readonly at: number }
    | { readonly type: "failure"; readonly data: InferenceFailedData; readonly at: number }
    | null;
};

/** A tool call or an effect of a layer, according to its newest event. */
export type PastEffect =
  | { readonly state: "none" }
  /** For an effect of a layer, its start records whether it is idempotent; for a call, its tool says so. */
  | { readonly state: "started"; readonly isIdempotent: boolean }
  | { readonly state: "parked" }
  | SettledEffect
  | { readonly state: "finished"; readonly at: number; readonly actor: Actor; readonly answer: EffectAnswer };

/** What a person was asked last about a call, and the decision; null while there is none. */
type PastApproval = {
  readonly asked: ApprovalRequestedData;
  readonly decision: { readonly data: ApprovalDecidedData; readonly actor: Actor } | null;
};

/** A tool call according to the log. */
export type PastCall = {
  readonly past: PastEffect;
  /** False for a call of an external tool, and for one that was denied. */
  readonly hasBegun: boolean;
  readonly approval: PastApproval | null;
};

/** Someone has settled it. */
export type SettledEffect = { readonly state: "settled"; readonly settlement: Settlement; readonly actor: Actor };

/** An effect that began, and whose outcome is unknown. */
export type UnfinishedEffect = {
  readonly id: BlockId;
  readonly name: string;
  readonly frame: string;
  /** Null for an effect of a layer. */
  readonly call: Block | null;
  readonly past: Extract<PastEffect, { readonly state: "started" | "parked" }>;
};

/** The result of a tool or an effect: the block that answers a call, or the answer of a layer's effect. */
type EffectAnswer =
  | { readonly type: "tool"; readonly finished: ConversationEventOf<"ToolFinished">["data"] }
  | { readonly type: "effect"; readonly answer: ConversationEventOf<"EffectFinished">["data"]["answer"] };

type KnownEffect = {
  readonly id: BlockId;
  readonly isCall: boolean;
  readonly name: string;
  readonly frame: string;
  readonly past: PastEffect;
  readonly hasBegun: boolean;
  readonly approval: PastApproval | null;
  readonly events: number;
  readonly revision: number;
};

type Edited = { readonly after: string; readonly revision: number };

/** The log of a run, read as answers by frame, attempt and block id. */
export class RunAnswers {
  /** By direction and frame, in the order of the log. */
  readonly edits = new Map<string, Edited[]>();
  /** By frame and attempt. */
  readonly inferences = new Map<string, PastInference>();
  /** The router's choices by frame, where no request has them. */
  readonly choices = new Map<string, { readonly choice: RouterChoice; readonly revision: number }>();
  /** By id. */
  readonly effects = new Map<string, KnownEffect>();
  /** How many events a re-execution has yet to meet. */
  remaining = 0;
  /** The revision of the newest event; null while there is none. */
  lastRevision: number | null = null;
  readonly #inferenceById = new Map<string, PastInference>();

  /** Takes the next event of the run. */
  note(recorded: RecordedEvent): void {
    this.lastRevision = recorded.revision;
    const { event, frame, revision, at, actor } = recorded;
    const time = Date.parse(at);
    switch (event.type) {
      case "TurnEdited":
        this.remaining += 1;
        push(this.edits, `${event.data.direction} ${frame ?? "0"}`, { after: event.data.after, revision });
        return;
      case "StepRouted":
        this.remaining += 1;
        this.choices.set(frame ?? "0", { choice: event.data, revision });
        return;
      case "InferenceRequested": {
        const past: PastInference = { request: event.data, revision, started: null, answer: null };
        this.remaining += 1;
        this.inferences.set(`${frame ?? "0"} ${event.data.attempt}`, past);
        this.#inferenceById.set(event.data.inferenceId, past);
        return;
      }
      case "ResponseStarted":
        this.#answer(event.data.inferenceId, (past) => {
          past.started = event.data;
        });
        return;
      case "ResponseReceived":
        this.#answer(event.data.inferenceId, (past) => {
          past.answer = { type: "response", data: event.data, revision, at: time };
        });
        return;
      case "InferenceFailed":
        this.#answer(event.data.inferenceId, (past) => {
          past.answer = { type: "failure", data: event.data, at: time };
        });
        return;
      case "ToolStarted":
        this.#begin({ id: event.data.blockId, isCall: true, isIdempotent: false }, recorded, event.data.name);
        return;
      case "EffectStarted": {
        const { effectId: id, name, idempotent: isIdempotent = false } = event.data;
        this.#begin({ id, isCall: false, isIdempotent }, recorded, name);
        return;
      }
      case "ToolParked":
        // One that has not begun is a call of an external tool.
        this.#note(event.data.blockId, recorded, { name: event.data.name, past: { state: "parked" } });
        return;
      case "ApprovalRequested": {
        const { blockId, name } = event.data;
        this.#note(blockId, recorded, { name, approval: { asked: event.data, decision: null } });
        return;
      }
      case "ApprovalDecided": {
        const asked = this.effects.get(event.data.blockId)?.approval?.asked;
        if (asked === undefined) return;
        const approval = { asked, decision: { data: event.data, actor } };
        this.#note(event.data.blockId, recorded, { name: asked.name, approval });
        return;
      }
      case "ToolSettled":
        this.#go(event.data.blockId, { state: "settled", settlement: event.data.settlement, actor });
        return;
      case "ToolFinished": {
        const { blockId, late } = event.data;
        // A result from recovery is not a tool's: the end of the run added it.
        if (late === true || actor.kind === "recovery") return;
        this.#go(blockId, { state: "finished", at: time, actor, answer: { type: "tool", finished: event.data } });
        return;
      }
      case "EffectFinished": {
        const { effectId, answer } = event.data;
        this.#go(effectId, { state: "finished", at: time, actor, answer: { type: "effect", answer } });
        return;
      }
      default:
    }
  }

  /** The providers that the run asked or was to ask, by the router's names; null is the engine's own provider. */
  get routes(): ReadonlySet<string | null> {
    const chosen = [...this.choices.values()].flatMap(({ choice }) => ("route" in choice ? [choice.route] : []));
    const asked = [...this.inferences.values()].flatMap(({ request: { route = null }, answer }) => {
      const next = answer?.type === "failure" ? answer.data.next : null;
      return next != null && "route" in next ? [route, next.route] : [route];
    });
    return new Set([...chosen, ...asked]);
  }

  /** Removes an attempt that was met again. */
  forget({ request: { attempt, inferenceId } }: PastInference, frame: string): void {
    this.inferences.delete(`${frame} ${attempt}`);
    this.#inferenceById.delete(inferenceId);
  }

  #answer(inferenceId: string, note: (past: PastInference) => void): void {
    const past = this.#inferenceById.get(inferenceId);
    if (past === undefined) return;
    this.remaining += 1;
    note(past);
  }

  #begin(
    { isIdempotent, ...effect }: Pick<KnownEffect, "id" | "isCall"> & { readonly isIdempotent: boolean },
    { frame, revision }: RecordedEvent,
    name: string,
  ): void {
    const { events = 0, approval = null } = this.effects.get(effect.id) ?? {};
    const past = { state: "started", isIdempotent } as const;
    this.remaining += 1;
    const known = { ...effect, name, frame: frame ?? "0", past, hasBegun: true, approval };
    this.effects.set(effect.id, { ...known, events: events + 1, revision });
  }

  /** An event of a call that may not have begun. */
  #note(
    id: BlockId,
    { frame, revision }: RecordedEvent,
    { name, ...news }: { readonly name: string } & Partial<Pick<KnownEffect, "past" | "approval">>,
  ): void {
    const fresh = { id, isCall: true, name, frame: frame ?? "0", past: { state: "none" }, hasBegun: false } as const;
    const known = this.effects.get(id) ?? { ...fresh, approval: null, events: 0, revision };
    this.remaining += 1;
    this.effects.set(id, { ...known, ...news, events: known.events + 1 });
  }

  /** Ignores an end whose start was never recorded. */
  #go(id: string, past: PastEffect): void {
    const known = this.effects.get(id);
    if (known === undefined) return;
    this.remaining += 1;
    this.effects.set(id, { ...known, past, events: known.events + 1 });
  }
}

function push<V>(map: Map<string, V[]>, key: string, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
