import type { JsonObject } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import type { Wire } from "../../../src/domain/wire.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { type ShapeOptions, shape } from "../../../src/engine/planning/shape.ts";
import type { SentBlock } from "../../../src/engine/ports/codec.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { freshBlockId, scope } from "./exchange.ts";
import { fullRequest } from "./offline-turns.ts";

type WireChanges = { readonly scope?: string; readonly stored?: boolean; readonly partial?: true };

/** The blocks of one response, by their items. */
export function response(name: string, items: readonly JsonObject[], changes: WireChanges = {}): readonly Block[] {
  const { stored = true, ...rest } = changes;
  return items.map((item, index) => {
    const wire: Wire = { scope, group: { id: `inf_${name}`, index, size: items.length, stored }, ...rest };
    return responsesCodec.decodeItem(item, wire).withId(freshBlockId());
  });
}

export const asks = (text = "a question"): Block => user(text).withId(freshBlockId());
export const result = (callId: string, fields: { readonly type?: string } = {}): Block =>
  toolResult({ callId, output: "done", ...fields }).withId(freshBlockId());
export const typedCall = (callId: string): Block =>
  toolCall({ callId, name: "f", arguments: "{}" }).withId(freshBlockId());

export const rs = (n = 1, sealed = true): JsonObject => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary: [],
  ...(sealed ? { encrypted_content: `sealed ${n}` } : {}),
});
export const msg = (n = 1): JsonObject => ({
  type: "message",
  id: `msg_${n}`,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: `answer ${n}`, annotations: [] }],
});
export const fc = (callId: string, more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  id: `fc_${callId}`,
  status: "completed",
  call_id: callId,
  name: "f",
  arguments: "{}",
  ...more,
});
export const ws: JsonObject = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "q" },
};
export const trigger = new Block({ id: freshBlockId(), kind: "other", payload: { type: "compaction_trigger" } });

/** The items that a request of these blocks carries. */
export const inputItems = (sent: readonly SentBlock[]): readonly JsonObject[] =>
  sent.map(({ block, withId }) => responsesCodec.requestItem(block, { withId }));

/** A request in one line: each item's type (or role), and its ids. */
export function sent(turn: Turn, from = 0, options: Partial<ShapeOptions> = {}): string {
  const all = { ...fullRequest, ...options };
  const shaped = shapedBlocks(turn, from, shape(turn, from, all), all);
  return inputItems(shaped)
    .map(({ type, role, id, call_id: callId, output }) =>
      [role ?? type, id, callId, output === "aborted" ? output : null]
        .filter((each) => typeof each === "string")
        .join(":"),
    )
    .join(" ");
}

export const turnOf = (...blocks: readonly (Block | readonly Block[])[]): Turn => Turn.of(blocks.flat());
