import { describe, expect, test } from "vitest";
import type { Block } from "../../../src/domain/block.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { fullRequest } from "../../support/planning/offline-turns.ts";
import {
  asks,
  fc,
  inputItems,
  msg,
  response,
  rs,
  sent,
  trigger,
  turnOf,
  typedCall,
  ws,
} from "../../support/planning/shape-builders.ts";

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

describe("a compaction trigger", () => {
  test("comes last, after the answers to open calls", () => {
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
    expect(inputItems(shaped)).toEqual([{ type: "message", id: "msg_1", role: "assistant", content }]);
  });
});
