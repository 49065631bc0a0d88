import fc from "fast-check";
import {
  compaction,
  customCall,
  functionCall,
  hosted,
  message,
  reasoning,
  type ScriptedAnswer,
  type ScriptedItem,
} from "../../../packages/reference-server/src/server.ts";

/** One move of a random conversation: an edit of the Turn, or a request. */
export type Step =
  | { readonly do: "edit"; readonly edit: TurnEdit }
  | {
      readonly do: "answer-calls";
      readonly order: "kept" | "reversed";
      readonly leaveOut: number;
      readonly repeat: boolean;
    }
  | { readonly do: "go-back"; readonly to: number }
  | { readonly do: "request"; readonly answer: ScriptedAnswer; readonly options: RequestChoice };

export type RequestChoice = {
  readonly full: boolean;
  readonly candidates: "all" | "newest";
  readonly itemIds: boolean;
  readonly store: boolean;
  readonly encrypted: boolean;
  readonly model: string;
};

export type TurnEdit = {
  readonly op: "remove" | "insert" | "move" | "replace" | "clone" | "clone-group" | "swap";
  readonly at: number;
  readonly to: number;
  readonly made: Made;
};

/** What an app or a layer may put into a Turn. */
export type Made =
  | {
      readonly is: "user" | "system" | "developer" | "assistant" | "image" | "trigger" | "tools";
      readonly text: string;
    }
  | { readonly is: "call" | "result"; readonly callId: string; readonly type: string }
  | { readonly is: "foreign"; readonly item: "reasoning" | "compaction" | "hosted" | "call" };

// Few ids, so that they repeat within one answer, one input and one conversation.
const callIds = fc.constantFrom("call_a", "call_b", "call_c", undefined);
const nonce = fc.nat(40).map((n) => `text ${n}`);
const given = (callId: string | undefined) => (callId === undefined ? {} : { callId });
const callId = (id: string | undefined) => (id === undefined ? {} : { call_id: id });

const calls: fc.Arbitrary<ScriptedItem> = fc.oneof(
  { arbitrary: callIds.map((id) => functionCall("f", "{}", given(id))), weight: 5 },
  callIds.map((id) => functionCall("later", "{}", { ...given(id), async: true })),
  callIds.map((id) => customCall("c", "free text", given(id))),
  callIds.map((id) =>
    hosted({ type: "function_call", status: "incomplete", arguments: "{", name: "f", ...callId(id) }),
  ),
  callIds.map((id) =>
    hosted({
      type: "computer_call",
      status: "completed",
      action: { type: "screenshot" },
      pending_safety_checks: [],
      ...callId(id),
    }),
  ),
  callIds.map((id) => hosted({ type: "shell_call", status: "completed", action: { commands: ["ls"] }, ...callId(id) })),
  callIds.map((id) =>
    hosted({
      type: "local_shell_call",
      status: "completed",
      action: { type: "exec", command: ["ls"], env: {} },
      ...callId(id),
    }),
  ),
  callIds.map((id) =>
    hosted({
      type: "apply_patch_call",
      status: "completed",
      operation: { type: "delete_file", path: "a" },
      ...callId(id),
    }),
  ),
  callIds.map((id) =>
    hosted({ type: "tool_search_call", status: "completed", execution: "client", arguments: {}, ...callId(id) }),
  ),
  callIds.map((id) => hosted({ type: "program", code: "1", fingerprint: "f", ...callId(id) })),
  nonce.map((text) => hosted({ type: "mcp_approval_request", arguments: text, name: "m", server_label: "s" })),
);

const hostedItems: fc.Arbitrary<ScriptedItem> = fc.oneof(
  nonce.map((query) => hosted({ type: "web_search_call", status: "completed", action: { type: "search", query } })),
  nonce.map((code) =>
    hosted({ type: "code_interpreter_call", status: "completed", code, container_id: "c", outputs: [] }),
  ),
  nonce.map((text) => hosted({ type: "mcp_call", arguments: "{}", name: "m", server_label: "s", output: text })),
  fc.constant(
    hosted({ type: "tool_search_call", status: "completed", execution: "server", arguments: {}, call_id: null }),
  ),
  fc.constant(
    hosted({ type: "tool_search_output", status: "completed", execution: "server", tools: [], call_id: null }),
  ),
  // What the server ran itself comes with its result, or with the result alone.
  callIds.map((id) => hosted({ type: "shell_call_output", status: "completed", output: [], call_id: id ?? "call_x" })),
  callIds.map((id) => hosted({ type: "program_output", status: "completed", result: "1", call_id: id ?? "call_x" })),
);

const reasonings = fc
  .record({ summary: nonce, isEncrypted: fc.boolean() })
  .map(({ summary, isEncrypted }) => reasoning({ summary, isEncrypted }));

const outputs: fc.Arbitrary<readonly ScriptedItem[]> = fc.array(
  fc.oneof(
    { arbitrary: calls, weight: 5 },
    { arbitrary: reasonings, weight: 4 },
    { arbitrary: hostedItems, weight: 2 },
    { arbitrary: nonce.map((text) => message(text)), weight: 2 },
    nonce.map((text) => message(text, { phase: "commentary" })),
    fc.constant(compaction()),
  ),
  { maxLength: 5 },
);

const answers: fc.Arbitrary<ScriptedAnswer> = fc.oneof(
  { arbitrary: outputs.map((output) => ({ output })), weight: 12 },
  outputs.map((output) => ({
    output,
    status: "incomplete" as const,
    incompleteDetails: { reason: "max_output_tokens" },
  })),
);

const made: fc.Arbitrary<Made> = fc.oneof(
  fc.record({
    is: fc.constantFrom("user", "system", "developer", "assistant", "image", "trigger", "tools"),
    text: nonce,
  }),
  fc.record({
    is: fc.constantFrom("call", "result"),
    callId: fc.constantFrom("call_a", "call_b", "call_c"),
    type: fc.constantFrom("function_call", "custom_tool_call", "computer_call", "apply_patch_call"),
  }),
  fc.record({
    is: fc.constant("foreign" as const),
    item: fc.constantFrom("reasoning", "compaction", "hosted", "call"),
  }),
);

// Counted from the end, and mostly near it, so that many edits leave something to continue from.
const places = fc.oneof({ arbitrary: fc.nat(3), weight: 3 }, fc.nat(30));

const edit: fc.Arbitrary<TurnEdit> = fc.record({
  op: fc.constantFrom("remove", "insert", "insert", "insert", "move", "replace", "clone", "clone-group", "swap"),
  at: places,
  to: places,
  made,
});

const usually = (value: boolean) => fc.oneof({ arbitrary: fc.constant(value), weight: 12 }, fc.constant(!value));

const options: fc.Arbitrary<RequestChoice> = fc.record({
  full: usually(false),
  candidates: fc.constantFrom("all", "all", "all", "all", "newest"),
  itemIds: usually(true),
  store: usually(true),
  encrypted: usually(true),
  model: fc.constantFrom("m", "m", "m", "m", "m", "m", "n"),
});

/** A random conversation. */
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ do: fc.constant("request" as const), answer: answers, options }), weight: 5 },
    {
      arbitrary: fc.record({
        do: fc.constant("answer-calls" as const),
        order: fc.constantFrom("kept", "reversed"),
        leaveOut: fc.nat(3),
        repeat: usually(false),
      }),
      weight: 3,
    },
    { arbitrary: edit.map((each) => ({ do: "edit" as const, edit: each })), weight: 4 },
    fc.record({ do: fc.constant("go-back" as const), to: fc.nat(8) }),
  ),
  { minLength: 3, maxLength: 24 },
);
