import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { Block, type Wire } from "../../../src/domain/block.ts";
import { toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { type ShapeOptions, shape } from "../../../src/engine/planner/shape.ts";
import { inputItems, shapedBlocks } from "../../../src/engine/planner/shaped-input.ts";
import { responsesItems } from "../../../src/providers/responses-items.ts";
import { freshBlockId, scope } from "./exchange.ts";
import { fullRequest } from "./offline-turns.ts";

type WireChanges = { readonly scope?: string; readonly stored?: boolean; readonly partial?: true };

/** The blocks of one response, by their items. */
function response(name: string, items: readonly JsonObject[], changes: WireChanges = {}): readonly Block[] {
  const { stored = true, ...rest } = changes;
  return items.map((item, index) => {
    const wire: Wire = { scope, group: { id: `inf_${name}`, index, size: items.length, stored }, ...rest };
    return responsesItems.decodeItem(item, wire).withId(freshBlockId());
  });
}

const asks = (text = "a question"): Block => user(text).withId(freshBlockId());
const result = (callId: string, fields: { readonly type?: string } = {}): Block =>
  toolResult({ callId, output: "done", ...fields }).withId(freshBlockId());
const typedCall = (callId: string): Block => toolCall({ callId, name: "f", arguments: "{}" }).withId(freshBlockId());

const rs = (n = 1, sealed = true): JsonObject => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary: [],
  ...(sealed ? { encrypted_content: `sealed ${n}` } : {}),
});
const msg = (n = 1): JsonObject => ({
  type: "message",
  id: `msg_${n}`,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: `answer ${n}`, annotations: [] }],
});
const fc = (callId: string, more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  id: `fc_${callId}`,
  status: "completed",
  call_id: callId,
  name: "f",
  arguments: "{}",
  ...more,
});
const ws: JsonObject = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "q" },
};
const trigger = new Block({ id: freshBlockId(), kind: "other", payload: { type: "compaction_trigger" } });

/** A request in one line: each item's type (or role), and its ids. */
function sent(turn: Turn, from = 0, options: Partial<ShapeOptions> = {}): string {
  const all = { ...fullRequest, ...options };
  const shaped = shapedBlocks(turn, from, shape(turn, from, all), all);
  return inputItems(shaped, responsesItems)
    .map(({ type, role, id, call_id: callId, output }) =>
      [role ?? type, id, callId, output === "aborted" ? output : null]
        .filter((each) => typeof each === "string")
        .join(":"),
    )
    .join(" ");
}

const turnOf = (...blocks: readonly (Block | readonly Block[])[]): Turn => Turn.of(blocks.flat());

describe("foreign items", () => {
  test("of another endpoint go out without ids, and their reasoning, compaction and hosted items stay behind", () => {
    const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "sealed" };
    const blocks = response("a", [rs(), compaction, ws, msg()], { scope: "elsewhere" });
    expect(sent(turnOf(asks(), blocks))).toBe("user assistant");
  });

  test("of unstored responses go out without ids where they hold a ciphertext, else not at all", () => {
    expect(sent(turnOf(asks(), response("a", [rs(), msg()], { stored: false })))).toBe("user reasoning assistant");
    expect(sent(turnOf(asks(), response("a", [rs(1, false), msg()], { stored: false })))).toBe("user assistant");
  });

  test("that the provider refused are left out with the rest of their group's reasoning", () => {
    const blocks = response("a", [rs(1), rs(2), msg()]);
    const quarantined = new Set(blocks.slice(0, 1).map(({ id }) => String(id)));
    expect(sent(turnOf(asks(), blocks), 0, { quarantined })).toBe("user assistant");
  });
});

describe("a response's items", () => {
  test("go out with their ids when they are all there", () => {
    expect(sent(turnOf(asks(), response("a", [rs(), ws, msg()])))).toBe(
      "user reasoning:rs_1 web_search_call:ws_1 assistant:msg_1",
    );
  });

  test("go out without ids where the endpoint takes none, and hosted ones stay behind with the reasoning", () => {
    const turn = turnOf(asks(), response("a", [rs(), msg()]), asks(), response("b", [rs(2), ws, msg(2)]));
    expect(sent(turn, 0, { itemIds: false })).toBe("user reasoning assistant user assistant");
  });

  test("lose reasoning, ids and hosted items when one of them was edited, removed or moved", () => {
    const blocks = response("a", [rs(), ws, msg()]);
    const turn = turnOf(asks(), blocks, asks());
    const message = blocks[2] ?? asks();
    expect(sent(turn.replace(message, message.withText("edited")))).toBe("user assistant user");
    expect(sent(turn.remove(message))).toBe("user user");
    expect(sent(turn.move(message, 1))).toBe("user assistant user");
  });

  test("go out without ids the second time, and what cannot do without is left out", () => {
    const blocks = response("a", [rs(), ws, msg()]);
    const simple = response("b", [rs(2), msg(2)]);
    const copies = (of: readonly Block[]) => of.map((block) => block.withId(freshBlockId()));
    expect(sent(turnOf(simple, asks(), copies(simple)))).toBe(
      "reasoning:rs_2 assistant:msg_2 user reasoning assistant",
    );
    expect(sent(turnOf(blocks, asks(), copies(blocks)))).toMatch(/^reasoning:rs_1 \S+ \S+ user assistant$/);
  });

  test("go out without ids where the anchor holds an item equal to one of them, for that may be the very one", () => {
    const turn = turnOf(asks(), response("a", [msg(1)]), asks(), response("b", [{ ...msg(1), id: "msg_2" }]));
    expect(sent(turn, 2, { heldFrom: 1 })).toBe("user assistant");
    expect(sent(turn)).toBe("user assistant:msg_1 user assistant:msg_2");
  });

  test("of an answer that did not complete are read as text only", () => {
    const blocks = response("a", [rs(), msg(), fc("call_a")], { partial: true });
    expect(sent(turnOf(asks(), blocks))).toBe("user assistant");
    expect(sent(turnOf(asks(), response("b", [msg()], { partial: true })))).toBe("user assistant");
    // Nothing but text of such an answer enters a Turn; a layer may still have put the rest there.
    expect(sent(turnOf(asks(), response("c", [fc("call_c")], { partial: true })))).toBe("user");
  });

  test("that are reasoning and nothing after it stay behind", () => {
    expect(sent(turnOf(asks(), response("a", [rs()]), asks()))).toBe("user user");
  });
});

describe("calls and results", () => {
  const parallel = () => response("a", [fc("call_a"), fc("call_b")]);

  test("are sent as they are where every call is answered, in whatever order", () => {
    const turn = turnOf(asks(), parallel(), result("call_b"), result("call_a"));
    expect(sent(turn, 3, { heldFrom: 1 })).toBe("function_call_output:call_b function_call_output:call_a");
  });

  test("are completed before the next block outside the group, and at the end", () => {
    const turn = turnOf(asks(), parallel(), result("call_b"), asks());
    expect(sent(turn, 3, { heldFrom: 1 })).toBe("function_call_output:call_b function_call_output:call_a:aborted user");
    expect(sent(turnOf(parallel()))).toMatch(
      /function_call_output:call_a:aborted function_call_output:call_b:aborted$/,
    );
  });

  test("lose results that answer nothing: orphans, second ones, and those that come before their call", () => {
    const [call] = response("a", [fc("call_a")]);
    const turn = turnOf(result("call_a"), call ?? [], result("call_a"), result("call_a"), result("call_z"));
    expect(sent(turn)).toBe("function_call:fc_call_a:call_a function_call_output:call_a");
  });

  test("are answered by their own kind or by a function's output, and by no other kind", () => {
    const custom = (...results: readonly Block[]) =>
      sent(
        turnOf(
          response("a", [{ type: "custom_tool_call", id: "ctc_1", call_id: "call_a", name: "c", input: "x" }]),
          ...results,
        ),
      );
    expect(custom(result("call_a", { type: "custom_tool_call_output" }))).toMatch(/ custom_tool_call_output:call_a$/);
    expect(custom(result("call_a"))).toMatch(/ function_call_output:call_a$/);
    expect(custom(result("call_a", { type: "shell_call_output" }))).toMatch(/ function_call_output:call_a:aborted$/);
  });

  test("of async tools and approvals may wait, and are answered whenever the answer comes", () => {
    const approval = { type: "mcp_approval_request", id: "mcpr_1", arguments: "{}", name: "m", server_label: "s" };
    const waiting = response("a", [fc("call_a", { async: true }), approval]);
    const approved = new Block({
      id: freshBlockId(),
      kind: "tool_result",
      payload: { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true },
    });
    const turn = turnOf(asks(), waiting, asks(), response("b", [msg()]), approved, result("call_a"));
    expect(sent(turn)).toMatch(
      /:call_a mcp_approval_request:mcpr_1 user assistant:msg_1 mcp_approval_response function_call_output:call_a$/,
    );
    expect(sent(turn, 5, { heldFrom: 4 })).toBe("mcp_approval_response function_call_output:call_a");
  });

  test("whose call was cut off are left out with their group's reasoning", () => {
    const blocks = response("a", [rs(), msg(), fc("call_a", { status: "incomplete" })]);
    expect(sent(turnOf(asks(), blocks, result("call_a")))).toBe("user assistant");
  });

  test("of one call id are told apart: the later pair gets another id, and its group goes without ids", () => {
    const again = response("b", [rs(2), { ...fc("call_a"), id: "fc_2" }]);
    const turn = turnOf(response("a", [fc("call_a")]), result("call_a"), again, result("call_a"));
    expect(sent(turn)).toBe(
      "function_call:fc_call_a:call_a function_call_output:call_a reasoning function_call:call_a_2 function_call_output:call_a_2",
    );
    expect(sent(turn, 4, { heldFrom: 2 })).toBe("function_call_output:call_a");
  });

  test("of one call id that is taken again by a call which cannot do without its provider id lose the later one", () => {
    const screen = {
      type: "computer_call",
      id: "cu_1",
      status: "completed",
      call_id: "call_a",
      action: { type: "screenshot" },
      pending_safety_checks: [],
    };
    const turn = turnOf(response("a", [fc("call_a")]), result("call_a"), response("b", [screen]), result("call_a"));
    expect(sent(turn)).toBe("function_call:fc_call_a:call_a function_call_output:call_a");
  });

  test("that a server gave one id in one answer are all answered, even where one of them might wait", () => {
    const twice = response("a", [fc("call_a"), { ...fc("call_a", { async: true }), id: "fc_2" }]);
    expect(sent(turnOf(asks(), twice, asks()), 3, { heldFrom: 1 })).toBe(
      "function_call_output:call_a:aborted function_call_output:call_a:aborted user",
    );
  });

  test("of a copied response are settled apart from the first one's, whether a server holds that or not", () => {
    const blocks = response("a", [fc("call_a")]);
    const turn = turnOf(asks(), blocks, blocks.map((block) => block.withId(freshBlockId())));
    const copy = "function_call:call_a function_call_output:call_a:aborted";
    expect(sent(turn, 2, { heldFrom: 1 })).toBe(`function_call_output:call_a:aborted ${copy}`);
    expect(sent(turn)).toBe(
      `user function_call:fc_call_a:call_a function_call_output:call_a:aborted ${copy.replaceAll("call_a", "call_a_2")}`,
    );
  });

  test("of an app, which no response groups, stand together while only a model speaks", () => {
    const [a, b] = [typedCall("call_a"), typedCall("call_b")];
    expect(sent(turnOf(a, b, result("call_a"), result("call_b")))).not.toContain("aborted");
    expect(sent(turnOf(a, asks(), b, result("call_b")))).toBe(
      "function_call:call_a function_call_output:call_a:aborted user function_call:call_b function_call_output:call_b",
    );
  });

  test("without a call id answer the only open call, and none where there are two", () => {
    const nameless = new Block({
      id: freshBlockId(),
      kind: "tool_result",
      payload: { type: "function_call_output", output: "x" },
    });
    expect(sent(turnOf(asks(), response("a", [fc("call_a")]), nameless), 2, { heldFrom: 1 })).toBe(
      "function_call_output",
    );
    expect(sent(turnOf(asks(), parallel(), nameless), 3, { heldFrom: 1 })).not.toMatch(/function_call_output( |$)/);
  });

  test("of tool searches are paired only where the client runs them", () => {
    const search = (execution: string): JsonObject => ({
      type: "tool_search_call",
      id: "tsc_1",
      call_id: execution === "client" ? "call_a" : null,
      execution,
      arguments: {},
    });
    expect(sent(turnOf(response("a", [search("client")])))).toMatch(/function_call_output:call_a:aborted$/);
    expect(sent(turnOf(response("a", [search("server")])))).toBe("tool_search_call:tsc_1");
  });
});

describe("a compaction trigger", () => {
  test("stands last, behind the answers to open calls", () => {
    expect(sent(turnOf(typedCall("call_a"), trigger))).toBe(
      "function_call:call_a function_call_output:call_a:aborted compaction_trigger",
    );
  });

  test("is left out anywhere else", () => {
    expect(sent(turnOf(asks(), trigger, asks()))).toBe("user user");
  });
});

describe("a request's items", () => {
  test("carry no status, author or log probabilities", () => {
    const item = {
      ...msg(),
      created_by: "someone",
      content: [{ type: "output_text", text: "hi", annotations: [], logprobs: [] }],
    };
    const turn = turnOf(response("a", [item]));
    const shaped = shapedBlocks(turn, 0, shape(turn, 0, fullRequest), fullRequest);
    const content = [{ type: "output_text", text: "hi" }];
    expect(inputItems(shaped, responsesItems)).toEqual([{ type: "message", id: "msg_1", role: "assistant", content }]);
  });
});
