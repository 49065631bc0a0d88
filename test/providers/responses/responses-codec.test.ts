import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../../../src/domain/block-json.ts";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import { assistant, file, image, system, text, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { parsed } from "../../support/base/arbitrary-json.ts";
import { cases } from "../../support/cases.ts";
import { anyItem } from "../../support/providers/arbitrary-items.ts";

const codec = responsesCodec;
const decode = (item: JsonObject, scope = "here"): Block => codec.decodeItem(item, { scope });
/** A block as it is read back from a store. */
const stored = (block: Block): Block => {
  const recorded = blockToJson(block.withId(blockIdSchema.parse("blk_0000000000000001")));
  return blockFromJson(blockJsonSchema.parse(parsed(JSON.stringify(recorded))));
};

describe("any item", () => {
  const runs = { numRuns: cases(600, 30_000, 3_000) };

  test("comes back exactly, also from a store", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        expect(canonicalJson(codec.encodeItem(stored(decode(item))))).toBe(canonicalJson(item));
      }),
      runs,
    );
  });

  test("of an unknown kind keeps the order of its members", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const block = decode(item);
        if (block.kind === "other") expect(JSON.stringify(codec.encodeItem(block))).toBe(JSON.stringify(item));
      }),
      runs,
    );
  });

  test("sent again is the same block, or is refused", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const block = decode(item);
        if (codec.unsendableReason(block, { withId: true }) !== null) return;
        expect(decode(codec.requestItem(block, { withId: true })).digest).toBe(block.digest);
      }),
      runs,
    );
  });

  test("is the same block without its id, unless the id is what it is equal by", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const block = decode(item);
        const isById = block.wire?.itemId !== undefined && (block.kind === "reasoning" || block.kind === "other");
        if (isById || codec.unsendableReason(block, { withId: false }) !== null) return;
        expect(decode(codec.requestItem(block, { withId: false })).digest).toBe(block.digest);
      }),
      runs,
    );
  });

  test("is sent without bookkeeping, nulls and unneeded ids", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const block = decode(item);
        const sent = codec.requestItem(block, { withId: false });
        expect(sent).not.toHaveProperty("created_by");
        expect(Object.values(sent)).not.toContain(null);
        if (block.type !== "local_shell_call_output") expect(sent).not.toHaveProperty("id");
        if (block.kind !== "assistant" && block.role !== null && block.kind !== "other")
          expect(sent).not.toHaveProperty("phase");
      }),
      runs,
    );
  });
});

describe("a block's kind", () => {
  test.each([
    [{ role: "user", content: "x" }, "user"],
    [{ type: "message", role: "assistant", content: [] }, "assistant"],
    [{ type: null, role: "system", content: "x" }, "system"],
    [{ type: "message", role: "developer", content: "x" }, "system"],
    [{ type: "message", role: "critic", content: "x" }, "other"],
    [{ type: "reasoning", id: "rs_1", summary: [] }, "reasoning"],
    [{ type: "function_call", call_id: "c", name: "n", arguments: "" }, "tool_call"],
    [{ type: "tool_search_call", arguments: {}, call_id: "c" }, "tool_call"],
    [{ type: "tool_search_call", arguments: {}, execution: "server" }, "other"],
    [{ type: "tool_search_output", tools: [], execution: "client" }, "tool_result"],
    [{ type: "tool_search_output", tools: [], execution: "server" }, "other"],
    [{ type: "local_shell_call_output", id: "c", output: "" }, "tool_result"],
    [{ type: "mcp_approval_response", approval_request_id: "m", approve: true }, "tool_result"],
    [{ type: "mcp_approval_request", id: "m" }, "other"],
    [{ type: "additional_tools", role: "developer", tools: [] }, "other"],
    [{ id: "msg_1" }, "other"],
    [{ type: "brand_new_call", call_id: "c" }, "other"],
  ])("of %j is %s", (item, kind) => {
    expect(decode(item).kind).toBe(kind);
  });
});

describe("a payload", () => {
  test("of a message is its parts, whatever they are called for its role", () => {
    const said = decode({
      type: "message",
      id: "msg_1",
      status: "completed",
      role: "assistant",
      phase: "commentary",
      content: [{ type: "output_text", text: "hi", annotations: [], logprobs: [] }],
    });
    expect(said.payload).toEqual({ role: "assistant", phase: "commentary", content: [{ type: "text", text: "hi" }] });
    expect(said.wire).toEqual({
      scope: "here",
      itemId: "msg_1",
      residue: {
        set: { status: "completed" },
        in: { content: { at: { 0: { set: { annotations: [], logprobs: [] } } } } },
      },
    });
    expect(decode({ role: "user", content: "hi" }).digest).toBe(
      decode({ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }).digest,
    );
  });

  test("keeps annotations, names and unknown members", () => {
    const content = [{ type: "output_text", text: "hi", annotations: [{ type: "url_citation", url: "u" }], extra: 1 }];
    const { payload } = decode({ type: "message", role: "assistant", name: "n", mood: "good", content });
    expect(payload).toEqual({ role: "assistant", name: "n", mood: "good", content: [{ ...content[0], type: "text" }] });
  });

  test("keeps arguments and outputs as the very text received", () => {
    const call = decode({
      type: "function_call",
      id: "fc_1",
      call_id: "c",
      name: "n",
      arguments: '{ "a" : 1.0 }',
      status: "completed",
    });
    expect(call.payload).toEqual({ type: "function", callId: "c", name: "n", arguments: '{ "a" : 1.0 }' });
    expect(call.digest).toBe(toolCall({ callId: "c", name: "n", arguments: '{ "a" : 1.0 }' }).digest);
  });

  test("of reasoning does without what is empty, and without the ciphertext", () => {
    const { payload, wire } = decode({
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: null,
      encrypted_content: "gAAA",
    });
    expect(payload).toEqual({ type: "reasoning" });
    expect(wire?.itemId).toBe("rs_1");
    expect(wire?.ciphertext).toBe("gAAA");
    expect(wire?.residue).toEqual({ set: { content: null } });
  });

  test("keeps the id that pairs a local shell's output, and the status of a patch", () => {
    expect(decode({ type: "local_shell_call_output", id: "call_1", output: "ok" }).payload["id"]).toBe("call_1");
    const patched = { type: "apply_patch_call_output", call_id: "c", status: "failed" };
    expect(decode(patched).payload).toEqual({ type: "apply_patch_call_output", callId: "c", status: "failed" });
    expect(codec.requestItem(decode(patched), { withId: false })).toEqual(patched);
  });
});

describe("a request's item", () => {
  const plain = (block: Block, withId = false): JsonObject => codec.requestItem(block, { withId });

  test("names the parts for the role of the message", () => {
    expect(plain(user("hi"))).toEqual({ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] });
    expect(plain(assistant("hi", "final_answer"))).toEqual({
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "hi" }],
      phase: "final_answer",
    });
    expect(plain(system("hi", "developer"))["role"]).toBe("developer");
    expect(plain(user([image("data:,"), file({ fileId: "file_1" })]))["content"]).toEqual([
      { type: "input_image", image_url: "data:,", detail: "auto" },
      { type: "input_file", file_id: "file_1" },
    ]);
  });

  test("has its provider id only when asked", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "c", name: "n", arguments: "{}", status: "completed" };
    expect(plain(decode(item))).toEqual({ type: "function_call", call_id: "c", name: "n", arguments: "{}" });
    expect(plain(decode(item), true)).toEqual({
      type: "function_call",
      id: "fc_1",
      call_id: "c",
      name: "n",
      arguments: "{}",
    });
  });

  test("of reasoning has a summary and the ciphertext", () => {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA", status: "completed" };
    expect(plain(decode(item))).toEqual({ type: "reasoning", summary: [], encrypted_content: "gAAA" });
    expect(plain(decode(item), true)["id"]).toBe("rs_1");
  });

  test("of a result is what the tool made", () => {
    const item = { type: "function_call_output", call_id: "c", output: "72F" };
    expect(plain(toolResult({ callId: "c", output: "72F" }))).toEqual(item);
  });

  test("of a result in parts has them as a user's message has, and is read as the same parts", () => {
    const block = toolResult({ callId: "c", output: [text("72F"), image("data:,")] });
    const output = [
      { type: "input_text", text: "72F" },
      { type: "input_image", image_url: "data:,", detail: "auto" },
    ];
    expect(plain(block)).toEqual({ type: "function_call_output", call_id: "c", output });
    expect(decode(plain(block)).digest).toBe(block.digest);
    const custom = toolResult({ callId: "c", output: [text("72F")], type: "custom" });
    expect(plain(custom)["output"]).toEqual(output.slice(0, 1));
  });

  test("of a result that is a list of something else is that list", () => {
    const output = [
      { stdout: "", stderr: "", outcome: { type: "exit", exit_code: 0 } },
      { type: "text", text: "x" },
    ];
    const block = toolResult({ callId: "c", output, type: "shell_call_output" });
    expect(plain(block)["output"]).toEqual(output);
  });

  test("has the status that the API requires of hosted items", () => {
    const item = { type: "web_search_call", id: "ws_1", status: "failed", action: { type: "search" } };
    expect(plain(decode(item), true)).toEqual(item);
  });

  test("of an edited block is the new content without a trace of the old", () => {
    const block = decode({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" }).withText("new");
    expect(plain(block, true)).toEqual({ type: "reasoning", summary: [{ type: "summary_text", text: "new" }] });
  });
});

describe("a refusal", () => {
  const reason = (block: Block, withId = true): string | null => codec.unsendableReason(block, { withId });

  test("names what an assistant cannot say", () => {
    expect(reason(assistant([image("data:,")]))).toMatch(/assistant .* image/);
    expect(reason(user([{ type: "refusal", refusal: "no" }]))).toMatch(/user .* refusal/);
    expect(reason(assistant([{ type: "refusal", refusal: "no" }]))).toBeNull();
    expect(reason(user([image("data:,")]))).toBeNull();
  });

  test("names items that are nothing without their id or ciphertext", () => {
    const search = decode({ type: "web_search_call", id: "ws_1", status: "completed", action: {} });
    expect(reason(search)).toBeNull();
    expect(reason(search, false)).toMatch(/web_search_call .* id/);
    expect(reason(decode({ id: "msg_1" }), false)).toMatch(/id/);
    expect(reason(decode({ type: "compaction", id: "cmp_1" }))).toMatch(/compaction .* encrypted/);
    expect(reason(decode({ type: "compaction", id: "cmp_1", encrypted_content: "gAAA" }))).toBeNull();
  });
});

test("reasoning goes without its id where its server can read it: encrypted, or in the clear", () => {
  const rule = (members: JsonObject): string | null =>
    codec.brokenGroupRule(decode({ type: "reasoning", id: "rs_1", summary: [], ...members }), {
      ...{ withId: false, isBroken: false, isLeftPaused: false, next: assistant("Hello.") },
    });
  expect(rule({})).toBe("unreadable");
  expect(rule({ summary: [{ type: "summary_text", text: "short" }], content: [] })).toBe("unreadable");
  expect(rule({ encrypted_content: "gAAA" })).toBeNull();
  expect(rule({ content: [{ type: "reasoning_text", text: "Let me think." }] })).toBeNull();
});

describe("equality", () => {
  test("of reasoning goes by its id, whatever its ciphertext in this frame", () => {
    const reasoning = (ciphertext: string, scope = "here"): string =>
      decode({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: ciphertext }, scope).digest;
    expect(reasoning("one")).toBe(reasoning("two"));
    expect(reasoning("one")).not.toBe(reasoning("one", "elsewhere"));
  });

  test("sees a member called __proto__", () => {
    const call = '"type":"function_call","call_id":"c","name":"n","arguments":"{}"';
    const digests = ["", ',"__proto__":1', ',"__proto__":{"a":1}'].map((member) => {
      const item = parsed(`{${call}${member}}`);
      return isJsonObject(item) ? decode(item).digest : "";
    });
    expect(new Set(digests).size).toBe(3);
  });

  test("of a message goes by what it says, not by its id", () => {
    const said = (id: string): string => decode({ type: "message", id, role: "assistant", content: "hi" }).digest;
    expect(said("msg_1")).toBe(said("msg_2"));
    expect(said("msg_1")).toBe(assistant("hi").digest);
  });
});
