import type { JsonObject } from "../base/json.ts";
import type { ConversationEvent, ConversationEventOf } from "./events/event.ts";

type DataOf<T extends ConversationEvent["type"]> = ConversationEventOf<T>["data"];
type EndOfRun = ConversationEventOf<"RunCompleted" | "RunFailed" | "RunCancelled">;

/** What someone wants to happen in a conversation; `decide` says what does. */
export type Command =
  | { readonly type: "StartConversation"; readonly data: DataOf<"ConversationStarted"> }
  | { readonly type: "Relabel"; readonly data: DataOf<"ConversationRelabelled"> }
  | { readonly type: "AppendBlock"; readonly data: DataOf<"BlockAppended"> }
  | { readonly type: "DeclareSettings"; readonly data: { readonly digest: string; readonly settings: JsonObject } }
  | { readonly type: "RevertTurn"; readonly data: DataOf<"TurnReverted"> }
  | { readonly type: "StartRun"; readonly runId: string; readonly data: DataOf<"RunStarted"> }
  | { readonly type: "ResumeRun"; readonly runId: string; readonly data: DataOf<"RunResumed"> }
  | { readonly type: "EditTurn"; readonly runId: string; readonly data: DataOf<"TurnEdited"> }
  | { readonly type: "RequestInference"; readonly runId: string; readonly data: DataOf<"InferenceRequested"> }
  | { readonly type: "StartResponse"; readonly runId: string; readonly data: DataOf<"ResponseStarted"> }
  | { readonly type: "ReceiveResponse"; readonly runId: string; readonly data: DataOf<"ResponseReceived"> }
  | { readonly type: "FailInference"; readonly runId: string; readonly data: DataOf<"InferenceFailed"> }
  | { readonly type: "InvalidateAnchor"; readonly data: DataOf<"AnchorInvalidated"> }
  | { readonly type: "LearnCapability"; readonly data: DataOf<"CapabilityLearned"> }
  | { readonly type: "QuarantineReasoning"; readonly data: DataOf<"ReasoningQuarantined"> }
  | { readonly type: "StartTool"; readonly runId: string; readonly data: DataOf<"ToolStarted"> }
  | { readonly type: "FinishTool"; readonly runId: string; readonly data: DataOf<"ToolFinished"> }
  | { readonly type: "StartEffect"; readonly runId: string; readonly data: DataOf<"EffectStarted"> }
  | { readonly type: "FinishEffect"; readonly runId: string; readonly data: DataOf<"EffectFinished"> }
  /** Of a tool call or an effect of a layer. */
  | { readonly type: "ParkTool"; readonly runId: string; readonly data: DataOf<"ToolParked"> }
  | { readonly type: "SettleTool"; readonly runId: string; readonly data: DataOf<"ToolSettled"> }
  | { readonly type: "ParkRun"; readonly runId: string; readonly data: DataOf<"RunParked"> }
  /** A tool came back when its run waited for it no more: recorded, and changing no Turn. */
  | { readonly type: "FinishToolLate"; readonly data: DataOf<"ToolFinished"> }
  | { readonly type: "EndRun"; readonly runId: string; readonly event: EndOfRun };

/** Why a command is refused. */
export type Rejection =
  | { readonly code: "conversation-exists" }
  | { readonly code: "run-open"; readonly runId: string }
  | { readonly code: "run-repeated"; readonly runId: string }
  | { readonly code: "run-not-open"; readonly runId: string }
  | { readonly code: "run-taken-over"; readonly runId: string }
  | { readonly code: "inference-repeated"; readonly inferenceId: string }
  | { readonly code: "inference-not-open"; readonly inferenceId: string }
  | { readonly code: "tool-repeated"; readonly blockId: string }
  | { readonly code: "tool-not-parked"; readonly blockId: string };
