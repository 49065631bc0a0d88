import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockJson } from "../../domain/block-json.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type {
  InferenceFailedData,
  InferenceRequestedData,
  ResponseReceivedData,
} from "../../domain/events/inference-events.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";

/** One attempt of a step as the log has it. */
export type PastInference = {
  readonly request: InferenceRequestedData;
  readonly revision: number;
  /** The id of a response that is made in the background. */
  responseId: string | null;
  answer:
    | { readonly type: "response"; readonly data: ResponseReceivedData; readonly revision: number; readonly at: number }
    | { readonly type: "failure"; readonly data: InferenceFailedData; readonly at: number }
    | null;
};

/** A tool call or an effect of a layer, as its own newest event has it. */
export type PastEffect =
  | { readonly state: "none" }
  /** An effect of a layer was begun as idempotent or not; of a call its tool says it. */
  | { readonly state: "started"; readonly isIdempotent: boolean }
  | { readonly state: "parked" }
  | SettledEffect
  | { readonly state: "finished"; readonly at: number; readonly actor: Actor; readonly answer: EffectAnswer };

/** Somebody has said what becomes of it. */
export type SettledEffect = { readonly state: "settled"; readonly settlement: Settlement; readonly actor: Actor };

/** One that began, and may have happened: nobody knows. */
export type UnfinishedEffect = {
  readonly id: BlockId;
  readonly name: string;
  readonly frame: string;
  /** Null for an effect of a layer. */
  readonly call: Block | null;
  readonly past: Extract<PastEffect, { readonly state: "started" | "parked" }>;
};

/** What a tool or an effect gave: the block that answers a call, or the answer of a layer's effect. */
type EffectAnswer =
  | { readonly type: "tool"; readonly result: BlockJson }
  | { readonly type: "effect"; readonly answer: ConversationEventOf<"EffectFinished">["data"]["answer"] };
