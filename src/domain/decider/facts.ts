import type { JsonValue } from "../../base/json.ts";
import type { AnchorId } from "../anchor.ts";
import type { ConversationOrigin } from "../events/conversation-events.ts";
import type { ConversationEvent } from "../events/event.ts";
import type { learnedName } from "../events/server-events.ts";
import type { ApprovalDecidedData } from "../events/tool-events.ts";
import type { Labels } from "./labels.ts";
import type { EventNameKind } from "./names.ts";

/** What `decide` asks about a conversation. The fold answers it; `Draft` answers it for events not yet appended. */
export type ConversationFacts = {
  /** Null before the first event. */
  readonly origin: ConversationOrigin | null;
  readonly title: string | null;
  readonly labels: Labels;
  /** The open run; null if there is none. */
  readonly run: RunFacts | null;
  /** Whether an event gave this name. */
  hasName(kind: EventNameKind, name: string): boolean;
  isDeclared(settingsDigest: string): boolean;
  /** Whether this response (or, with the anchor null, all that the endpoint held) is known to be lost, and nothing was requested there since. */
  isLost(what: { readonly scope: string; readonly anchor: AnchorId | null }): boolean;
  /** The last observed value of a capability. */
  learned(what: LearnedPlace): JsonValue | undefined;
  isQuarantined(blockId: string): boolean;
};

/** A capability of an endpoint, or of one of its models. */
export type LearnedPlace = { readonly scope: string } & Parameters<typeof learnedName>[0];

export type RunFacts = {
  readonly id: string;
  /** How often it changed owners: the last process to resume it owns it. */
  readonly epoch: number;
  readonly isCancelRequested: boolean;
  inference(inferenceId: string): "open" | "closed" | undefined;
  /** The state of a tool call (by block id) or of a layer's effect (by id), after its newest event. */
  effect(id: string): EffectState | undefined;
  /** What a person was asked last about a tool call, and what was decided. */
  approval(id: string): ApprovalFacts | undefined;
};

/** The arguments that a person was asked about, by the call's name with them, and the decision; null while there is none. */
export type ApprovalFacts = { readonly inputDigest: string; readonly decision: ApprovalDecidedData | null };

export type EffectState = "asked" | "approved" | "denied" | "started" | "parked" | "may-rerun" | "settled" | "finished";

/** The tool call or effect that an event is about, and its new state; null if there is none. A late result does not change its call. */
export function effectIn(event: ConversationEvent): { readonly id: string; readonly state: EffectState } | null {
  switch (event.type) {
    case "ToolStarted":
      return { id: event.data.blockId, state: "started" };
    case "EffectStarted":
      return { id: event.data.effectId, state: "started" };
    case "EffectFinished":
      return { id: event.data.effectId, state: "finished" };
    case "ToolParked":
      return { id: event.data.blockId, state: "parked" };
    case "ApprovalRequested":
      return { id: event.data.blockId, state: "asked" };
    case "ApprovalDecided":
      return { id: event.data.blockId, state: isApproval(event.data) ? "approved" : "denied" };
    case "ToolSettled":
      return { id: event.data.blockId, state: event.data.settlement.how === "rerun" ? "may-rerun" : "settled" };
    case "ToolFinished":
      return event.data.late === true ? null : { id: event.data.blockId, state: "finished" };
    default:
      return null;
  }
}

/** Whether a decision lets the call begin. */
export const isApproval = ({ how }: Pick<ApprovalDecidedData, "how">): boolean => how === "approve" || how === "edit";

/** What an event says of an approval; null if it says nothing. */
export function approvalIn(event: ConversationEvent): ({ readonly id: string } & ApprovalFacts) | null {
  switch (event.type) {
    case "ApprovalRequested":
      return { id: event.data.blockId, inputDigest: event.data.inputDigest, decision: null };
    case "ApprovalDecided":
      return { id: event.data.blockId, inputDigest: event.data.inputDigest, decision: event.data };
    default:
      return null;
  }
}
