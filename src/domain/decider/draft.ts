import type { JsonValue } from "../../base/json.ts";
import { type AnchorId, anchorName } from "../anchor.ts";
import type { ConversationOrigin } from "../events/conversation-events.ts";
import type { ConversationEvent } from "../events/event.ts";
import { learnedName } from "../events/server-events.ts";
import { isEndedBySkip } from "./ended-by-skip.ts";
import {
  type ApprovalFacts,
  approvalIn,
  type ConversationFacts,
  type EffectState,
  effectIn,
  type LearnedPlace,
  type RunFacts,
} from "./facts.ts";
import { type Labels, relabel } from "./labels.ts";
import { type EventNameKind, namesIn } from "./names.ts";

/**
 * The facts of a conversation after the events decided so far, before they are appended. The events of one append are decided one by
 * one, and a later one may depend on an earlier one. A draft serves one append and does not change the underlying facts.
 */
export class AppendDraft implements ConversationFacts {
  readonly #below: ConversationFacts;
  origin: ConversationOrigin | null;
  title: string | null;
  labels: Labels;
  #run: DraftRun | null;
  readonly #names = new Set<string>();
  readonly #declared = new Set<string>();
  readonly #lost = new Map<string, boolean>();
  readonly #learned = new Map<string, JsonValue>();
  readonly #quarantined = new Set<string>();

  constructor(below: ConversationFacts) {
    this.#below = below;
    this.origin = below.origin;
    this.title = below.title;
    this.labels = below.labels;
    this.#run = below.run === null ? null : new DraftRun(below.run);
  }

  get run(): RunFacts | null {
    return this.#run;
  }

  hasName(kind: EventNameKind, name: string): boolean {
    return this.#names.has(`${kind} ${name}`) || this.#below.hasName(kind, name);
  }

  isDeclared(digest: string): boolean {
    return this.#declared.has(digest) || this.#below.isDeclared(digest);
  }

  isLost(what: { readonly scope: string; readonly anchor: AnchorId | null }): boolean {
    return this.#lost.get(anchorName(what)) ?? this.#below.isLost(what);
  }

  learned(what: LearnedPlace): JsonValue | undefined {
    const name = placeName(what);
    return this.#learned.has(name) ? this.#learned.get(name) : this.#below.learned(what);
  }

  isQuarantined(blockId: string): boolean {
    return this.#quarantined.has(blockId) || this.#below.isQuarantined(blockId);
  }

  /** Applies an event that was decided. */
  take(event: ConversationEvent, runId: string | null): void {
    for (const [kind, name] of namesIn(event, runId)) this.#names.add(`${kind} ${name}`);
    switch (event.type) {
      case "ConversationStarted":
        this.origin = event.data.origin;
        // A fork continues its parent's conversation, but not the parent's open run.
        this.#run = null;
        relabel(this, event);
        return;
      case "ConversationRelabelled":
        relabel(this, event);
        return;
      case "SettingsDeclared":
        // If the base was skipped, this declaration is unusable, so these settings are declared again.
        if (event.data.base === undefined || this.isDeclared(event.data.base)) this.#declared.add(event.data.digest);
        return;
      case "RunStarted":
        this.#run = new DraftRun({ ...noRun, id: runId ?? "", epoch: event.data.epoch });
        return;
      case "InferenceRequested":
      case "WarmUpRequested":
        // From now on the endpoint may lose this answer, and such a loss is new.
        this.#lost.set(anchorName({ scope: event.data.scope, anchor: null }), false);
        this.#run?.take(event);
        return;
      case "AnchorInvalidated":
        this.#lost.set(anchorName(event.data), true);
        return;
      case "CapabilityLearned":
        this.#learned.set(placeName(event.data), event.data.value);
        return;
      case "ReasoningQuarantined":
        for (const id of event.data.blockIds) this.#quarantined.add(id);
        return;
      case "EventSkipped":
        // The run that the event belongs to is over.
        if (isEndedBySkip(runId, this.#run?.id ?? null)) this.#run = null;
        return;
      case "RunCompleted":
      case "RunFailed":
      case "RunCancelled":
        this.#run = null;
        return;
      default:
        this.#run?.take(event);
    }
  }
}

class DraftRun implements RunFacts {
  readonly id: string;
  epoch: number;
  isCancelRequested: boolean;
  readonly #below: RunFacts;
  readonly #inferences = new Map<string, "open" | "closed">();
  readonly #effects = new Map<string, EffectState>();
  readonly #approvals = new Map<string, ApprovalFacts>();

  constructor(below: RunFacts) {
    this.#below = below;
    this.id = below.id;
    this.epoch = below.epoch;
    this.isCancelRequested = below.isCancelRequested;
  }

  inference(inferenceId: string): "open" | "closed" | undefined {
    return this.#inferences.get(inferenceId) ?? this.#below.inference(inferenceId);
  }

  effect(id: string): EffectState | undefined {
    return this.#effects.get(id) ?? this.#below.effect(id);
  }

  approval(id: string): ApprovalFacts | undefined {
    return this.#approvals.get(id) ?? this.#below.approval(id);
  }

  take(event: ConversationEvent): void {
    const effect = effectIn(event);
    if (effect !== null) this.#effects.set(effect.id, effect.state);
    const approval = approvalIn(event);
    if (approval !== null) this.#approvals.set(approval.id, approval);
    switch (event.type) {
      case "InferenceRequested":
        this.#inferences.set(event.data.inferenceId, "open");
        return;
      case "ResponseReceived":
      case "InferenceFailed":
        this.#inferences.set(event.data.inferenceId, "closed");
        return;
      case "RunResumed":
        this.epoch = event.data.epoch;
        return;
      case "RunCancelRequested":
        this.isCancelRequested = true;
        return;
      default:
    }
  }
}

const noRun: Omit<RunFacts, "id" | "epoch"> = {
  isCancelRequested: false,
  inference: () => undefined,
  effect: () => undefined,
  approval: () => undefined,
};

const placeName = ({ scope, ...learned }: LearnedPlace): string => JSON.stringify([scope, learnedName(learned)]);

/** The facts of a conversation without events. */
export const noConversationFacts: ConversationFacts = {
  origin: null,
  title: null,
  labels: {},
  run: null,
  hasName: () => false,
  isDeclared: () => false,
  isLost: () => false,
  learned: () => undefined,
  isQuarantined: () => false,
};
