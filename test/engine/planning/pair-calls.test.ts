import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { asks, fc, msg, response, result, rs, sent, turnOf, typedCall } from "../../support/planning/shape-builders.ts";

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

  test("are kept together if the server requires it: a message that came before a result is moved out, and the others are answered there", () => {
    const [one, two, three] = response("b", [fc("call_a"), fc("call_b"), fc("call_c")]);
    const split = turnOf(
      asks(),
      one ?? [],
      two ?? [],
      result("call_b"),
      three ?? [],
      result("call_a"),
      result("call_c"),
    );
    const together = { ...responsesCodec, resultsStandTogether: true };
    const callIds = (text: string): string => text.replaceAll(/function_call(_output)?:/g, "$1:");
    expect(callIds(sent(split, 1))).toBe(":call_a :call_b _output:call_b :call_c _output:call_a _output:call_c");
    expect(callIds(sent(split, 1, { codec: together }))).toBe(
      ":call_a :call_b _output:call_b _output:call_a:aborted :call_c _output:call_c:aborted user user",
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
    expect(custom(result("call_a", { type: "custom" }))).toMatch(/ custom_tool_call_output:call_a$/);
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

  test("of one call id stay distinct: the later pair gets another id, and its group is sent without ids", () => {
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
    const turn = turnOf(
      asks(),
      blocks,
      blocks.map((block) => block.withId(freshBlockId())),
    );
    const copy = "function_call:call_a function_call_output:call_a:aborted";
    expect(sent(turn, 2, { heldFrom: 1 })).toBe(`function_call_output:call_a:aborted ${copy}`);
    expect(sent(turn)).toBe(
      `user function_call:fc_call_a:call_a function_call_output:call_a:aborted ${copy.replaceAll("call_a", "call_a_2")}`,
    );
  });

  test("of a response that follows a copy of its own call are not torn from what was thought before them", () => {
    const [thought, call] = response("a", [rs(), fc("call_a")]);
    const copy = call?.withId(freshBlockId());
    expect(sent(turnOf(asks(), copy ?? [], thought ?? [], call ?? []))).toBe(
      "user function_call:call_a reasoning function_call:call_a_2 function_call_output:call_a:aborted function_call_output:call_a_2:aborted",
    );
  });

  test("of an app, which no response groups, stay together while only a model speaks", () => {
    const [a, b] = [typedCall("call_a"), typedCall("call_b")];
    expect(sent(turnOf(a, b, result("call_a"), result("call_b")))).not.toContain("aborted");
    const c = typedCall("call_c");
    expect(sent(turnOf(a, b, result("call_a"), c, result("call_b"), result("call_c")))).toBe(
      "function_call:call_a function_call:call_b function_call_output:call_a function_call_output:call_b:aborted function_call:call_c function_call_output:call_c:aborted user user",
    );
    expect(sent(turnOf(a, asks(), b, result("call_b")))).toBe(
      "function_call:call_a function_call_output:call_a:aborted user function_call:call_b function_call_output:call_b",
    );
  });

  test("without a call id answer the only open call, and none where there are two", () => {
    const nameless = new Block({
      id: freshBlockId(),
      kind: "tool_result",
      payload: { type: "function", output: "x" },
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
