import { Block } from "../../../src/domain/block.ts";
import { assistant, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import type { Made, Step, TurnEdit } from "./arbitrary-exchanges.ts";
import { freshBlockId } from "./exchange.ts";

/** A Turn after an edit as a layer would make it. */
export function edited(turn: Turn, { op, at, to, made }: TurnEdit): Turn {
  const index = turn.length === 0 ? 0 : turn.length - 1 - (at % turn.length);
  const target = turn.length - (to % (turn.length + 1));
  const block = turn.at(index);
  if (op === "insert" || block === undefined) return turn.insert(target, ...blocksOf(made));
  switch (op) {
    case "remove":
      return turn.remove(block);
    case "move":
      return turn.move(block, target % turn.length);
    case "replace":
      return turn.replace(block, rewritten(block));
    case "clone":
      return turn.insert(target, block.withId(freshBlockId()));
    case "clone-group": {
      const group = turn.blocks.filter(
        ({ wire }) => wire?.group !== undefined && wire.group.id === block.wire?.group?.id,
      );
      return turn.insert(target, ...group.map((each) => each.withId(freshBlockId())));
    }
    case "swap": {
      const other = turn.at(index + 1);
      return other === undefined ? turn : turn.move(other, index);
    }
  }
}

/** A Turn with results to the calls that it leaves open, by the nearest-call rule or any other way. */
export function answeredCalls(turn: Turn, step: Extract<Step, { readonly do: "answer-calls" }>): Turn {
  const open = openCalls(turn);
  const results = open.filter((_, place) => step.leaveOut === 0 || place + 1 !== step.leaveOut).map(resultTo);
  const ordered = step.order === "kept" ? results : results.toReversed();
  const repeated = step.repeat ? [...ordered, ...ordered.map((block) => block.withId(freshBlockId()))] : ordered;
  return turn.concat(repeated);
}

/** The block as a layer changes it: where there is no text to change it only loses what the provider said of it. */
function rewritten(block: Block): Block {
  const { kind, payload } = block;
  const hasText =
    kind === "reasoning" ||
    block.role !== null ||
    ["arguments", "input"].some((name) => typeof payload[name] === "string");
  const isText = kind !== "other" && (hasText || typeof payload["output"] === "string");
  return isText ? block.withText("edited") : block.withPayload({ ...payload });
}

/** A copy whose objects are all new, as another process would read it. */
export const reread = (turn: Turn): Turn => Turn.of(turn.blocks.map((block) => new Block(block)));

function blocksOf(made: Made): readonly Block[] {
  return [draftOf(made).withId(freshBlockId())];
}

function draftOf(made: Made): Block {
  switch (made.is) {
    case "user":
      return user(made.text);
    case "system":
    case "developer":
      return system(made.text, made.is);
    case "assistant":
      return assistant(made.text);
    case "image":
      return user([{ type: "image", url: "data:image/png;base64,AA==", detail: "auto" }]);
    case "trigger":
      return new Block({ id: null, kind: "other", payload: { type: "compaction_trigger" } });
    case "tools":
      return new Block({
        id: null,
        kind: "other",
        payload: { type: "additional_tools", role: "developer", tools: [] },
      });
    case "call":
      return callOf(made.callId, made.type);
    case "result":
      return toolResult({
        callId: made.callId,
        output: "a result",
        ...(made.type === "custom_tool_call" ? { type: "custom" } : {}),
      });
    case "foreign":
      return foreignBlock(made.item);
  }
}

function callOf(callId: string, type: string): Block {
  const payloads = new Map([
    ["custom_tool_call", { type: "custom", callId, name: "c", arguments: "x" }],
    ["computer_call", { type, callId, action: { type: "screenshot" }, pending_safety_checks: [] }],
    ["apply_patch_call", { type, callId, operation: { type: "delete_file", path: "a" } }],
  ]);
  const payload = payloads.get(type);
  if (payload === undefined) return toolCall({ callId, name: "f", arguments: "{}" });
  return new Block({ id: null, kind: "tool_call", payload });
}

/** A whole response of another endpoint, of one item. */
function foreignBlock(item: Extract<Made, { readonly is: "foreign" }>["item"]): Block {
  const items = {
    reasoning: { type: "reasoning", id: "rs_foreign", summary: [], encrypted_content: "sealed elsewhere" },
    compaction: { type: "compaction", id: "cmp_foreign", encrypted_content: "sealed elsewhere" },
    hosted: { type: "web_search_call", id: "ws_foreign", status: "completed", action: { type: "search", query: "q" } },
    call: {
      type: "function_call",
      id: "fc_foreign",
      status: "completed",
      call_id: "call_a",
      name: "f",
      arguments: "{}",
    },
  };
  const group = { id: "inf_foreign", index: 0, size: 1, stored: true };
  return responsesCodec.decodeItem(items[item], { scope: "elsewhere", group });
}

const resultTypes = new Map([
  ["custom", "custom"],
  ["computer_call", "computer_call_output"],
  ["shell_call", "shell_call_output"],
  ["local_shell_call", "local_shell_call_output"],
  ["tool_search_call", "tool_search_output"],
]);

function openCalls(turn: Turn): readonly Block[] {
  const open: Block[] = [];
  for (const block of turn.blocks) {
    if (block.kind === "tool_call" || block.type === "mcp_approval_request") open.push(block);
    const answered = block.kind === "tool_result" ? open.findLastIndex(({ callId }) => callId === block.callId) : -1;
    if (answered >= 0) open.splice(answered, 1);
  }
  return open;
}

function resultTo(call: Block): Block {
  const id = freshBlockId();
  const { type, callId } = call;
  const result = (payload: Block["payload"]): Block => new Block({ id, kind: "tool_result", payload });
  if (type === "mcp_approval_request") {
    return result({ type: "mcp_approval_response", approval_request_id: call.wire?.itemId ?? "none", approve: true });
  }
  if (type === "local_shell_call") return result({ type: "local_shell_call_output", id: callId ?? "", output: "done" });
  if (type === "tool_search_call") {
    return result({ type: "tool_search_output", callId, execution: "client", tools: [] });
  }
  const output = type === "shell_call" ? [] : "done";
  return toolResult({ callId: callId ?? "", output, type: resultTypes.get(type) ?? "function" }).withId(id);
}
