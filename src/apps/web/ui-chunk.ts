import type { JsonObject, JsonValue } from "../../base/json.ts";

/** A piece of the AI SDK's UI message stream, as `useChat` and `readUIMessageStream` read it. These are the ones that turnlog writes. */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | WholeChunk
  | ToolChunk
  | DataChunk
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "finish"; readonly finishReason: FinishReason };

/** What is shown once, and is in no message. `id` is that of the call whose tool shows it. */
export type DataChunk = {
  readonly type: `data-${string}`;
  readonly data: JsonValue;
  readonly id?: string;
  readonly transient: true;
};

type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";

/** A part of a message that comes in one piece. */
export type WholeChunk =
  | { readonly type: "file"; readonly mediaType: string; readonly url: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: "source-document";
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
  | { readonly type: "custom"; readonly kind: `turnlog.${string}` };

/** A step in the life of a tool's call. Calls are named by the ids of their blocks, because a provider may repeat its own ids. */
export type ToolChunk =
  | {
      readonly type: "tool-input-start";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly dynamic: true;
    }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | ToolState;

/** The steps of which a call's state is made, in this order. */
export type ToolState =
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: JsonValue;
      readonly dynamic: true;
    }
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly reason?: string;
    }
  | {
      readonly type: "tool-approval-response";
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: "tool-output-available"; readonly toolCallId: string; readonly output: JsonValue }
  /** In place of an output: the arguments are invalid, so the tool did not run. */
  | {
      readonly type: "tool-input-error";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: JsonValue;
      readonly errorText: string;
      readonly dynamic: true;
    }
  | { readonly type: "tool-output-error"; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string };

/** A message of a page, as `useChat` holds it. */
export type UiMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly JsonObject[];
};
