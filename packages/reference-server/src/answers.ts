import type { Json, JsonObject } from "./wire.ts";

/** One item of the model's answer. The server adds an id, a status, and a call id if it has none. */
export interface ScriptedItem {
  readonly item: JsonObject;
  /** Whether the server encrypts it (`encrypted_content`) for clients that ask. */
  readonly isEncrypted: boolean;
}

/** The model's answer to one request. */
export interface ScriptedAnswer {
  readonly output: readonly ScriptedItem[];
  /** Default: "completed". */
  readonly status?: "completed" | "incomplete" | "failed";
  /** For "failed": what went wrong. */
  readonly error?: { readonly code: string; readonly message: string };
  /** For "incomplete": the reason. */
  readonly incompleteDetails?: { readonly reason: string };
  /** Members that replace the computed ones. */
  readonly usage?: JsonObject;
}

/** A text of the assistant. */
export function message(
  text: string,
  options: { readonly phase?: "commentary" | "final_answer"; readonly annotations?: readonly Json[] } = {},
): ScriptedItem {
  const part = { type: "output_text", annotations: options.annotations ?? [], logprobs: [], text };
  const phase = options.phase === undefined ? {} : { phase: options.phase };
  return plain({ type: "message", status: "completed", content: [part], ...phase, role: "assistant" });
}

/** A message with only a refusal. */
export function refusalMessage(text: string): ScriptedItem {
  const content = [{ type: "refusal", refusal: text }];
  return plain({ type: "message", status: "completed", content, role: "assistant" });
}

/** `argumentsText` is sent unchanged. */
export function functionCall(
  name: string,
  argumentsText: string,
  options: { readonly callId?: string; readonly namespace?: string; readonly async?: boolean } = {},
): ScriptedItem {
  const { callId, ...rest } = options;
  const id = callId === undefined ? {} : { call_id: callId };
  return plain({ type: "function_call", status: "completed", arguments: argumentsText, ...id, name, ...rest });
}

/** A call of a custom tool, whose input is free text. */
export function customCall(name: string, input: string, options: { readonly callId?: string } = {}): ScriptedItem {
  const id = options.callId === undefined ? {} : { call_id: options.callId };
  return plain({ type: "custom_tool_call", status: "completed", ...id, input, name });
}

/** Encrypted by default. An item without summary and content is only a ciphertext. */
export function reasoning(
  options: { readonly summary?: string; readonly content?: string; readonly isEncrypted?: boolean } = {},
): ScriptedItem {
  const summary = options.summary === undefined ? [] : [{ type: "summary_text", text: options.summary }];
  const content = options.content === undefined ? {} : { content: [{ type: "reasoning_text", text: options.content }] };
  return { item: { type: "reasoning", summary, ...content }, isEncrypted: options.isEncrypted ?? true };
}

/** A compaction item, which is always a ciphertext. */
export function compaction(): ScriptedItem {
  return { item: { type: "compaction" }, isEncrypted: true };
}

/** Any other item, unchanged: web_search_call, code_interpreter_call, mcp_call, computer_call and so on. */
export function hosted(item: JsonObject): ScriptedItem {
  return plain(item);
}

/** A generated image, as base64. */
export function image(base64: string): ScriptedItem {
  return plain({ type: "image_generation_call", status: "completed", result: base64 });
}

function plain(item: JsonObject): ScriptedItem {
  return { item, isEncrypted: false };
}
