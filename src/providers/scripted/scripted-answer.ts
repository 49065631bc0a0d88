import { isJsonList, type JsonObject, type JsonValue, omitMembers } from "../../base/json.ts";
import { allOf, anything, optionsOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** One answer of a scripted model: a text, or the parts of its response. */
export type ScriptedAnswer =
  | string
  | {
      readonly reasoning?: string;
      readonly text?: string;
      /** Tool calls; a call without `callId` gets one. */
      readonly calls?: readonly {
        readonly name: string;
        readonly arguments: JsonObject | string;
        readonly callId?: string;
      }[];
      /** Raw items, after the reasoning and before the text. */
      readonly items?: readonly JsonObject[];
      /** `completed` by default. */
      readonly status?: string;
      /** Rejects the request with this error instead. */
      readonly error?: {
        readonly status?: number;
        readonly code?: string | null;
        readonly message: string;
        readonly type?: string;
        readonly param?: string | null;
      };
    };

export const scriptedMembers = optionsOf<Exclude<ScriptedAnswer, string>>(
  allOf(anything, "reasoning", "text", "calls", "items", "status", "error"),
);

/** The parts of a request that its response is made from. */
export type ScriptedRequest = {
  readonly body: JsonObject;
  /** Names the response; equal only for the same request and answer. */
  readonly tag: string;
  readonly number: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
};

/** The response resource of an answer, as a server would return it, echoes included. */
export function scriptedResponse(answer: Exclude<ScriptedAnswer, string>, request: ScriptedRequest): JsonObject {
  const echoed = omitMembers(request.body, notEchoed);
  const status = answer.status ?? "completed";
  const output = outputOf(answer, request);
  const outputTokens = tokensOf(output);
  return {
    id: `resp_${request.tag}`,
    object: "response",
    created_at: createdAt + request.number,
    status,
    error: status === "failed" ? { code: "server_error", message: "the script says that this response fails" } : null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    previous_response_id: null,
    store: true,
    ...echoed,
    output,
    usage: {
      input_tokens: request.inputTokens,
      input_tokens_details: { cached_tokens: request.cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: request.inputTokens + outputTokens,
    },
  };
}

const notEchoed: ReadonlySet<string> = new Set(["input", "stream", "include"]);

/** An invented count that grows with the text, four characters to the token. */
export const tokensOf = (items: readonly JsonObject[]): number => Math.ceil(JSON.stringify(items).length / 4);

function outputOf(answer: Exclude<ScriptedAnswer, string>, { body, tag }: ScriptedRequest): readonly JsonObject[] {
  const { reasoning, text, calls = [], items = [] } = answer;
  const isSealed = isJsonList(body["include"]) && body["include"].includes("reasoning.encrypted_content");
  const thought = reasoning === undefined ? [] : [reasoningItem(reasoning, tag, isSealed)];
  const said = text === undefined ? [] : [messageItem(text, tag)];
  const called = calls.map(({ name, arguments: given, callId }, index) => ({
    id: `fc_${tag}_${index}`,
    type: "function_call",
    status: "completed",
    arguments: typeof given === "string" ? given : JSON.stringify(given),
    call_id: callId ?? `call_${tag}_${index}`,
    name,
  }));
  return [...thought, ...items, ...said, ...called];
}

const messageItem = (text: string, tag: string): JsonObject => ({
  id: `msg_${tag}`,
  type: "message",
  status: "completed",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }],
  role: "assistant",
});

function reasoningItem(text: string, tag: string, isSealed: boolean): JsonObject {
  const ciphertext: JsonValue = isSealed ? `sealed:${sha256Hex(tag + text)}` : null;
  const item = { id: `rs_${tag}`, type: "reasoning", summary: [{ type: "summary_text", text }] };
  return isSealed ? { ...item, encrypted_content: ciphertext } : item;
}

/** Responses are dated by their number, from 1 January 2026, because there is no clock. */
const createdAt = 1_767_225_600;
