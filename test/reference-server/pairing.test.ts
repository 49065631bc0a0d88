import { expect, test } from "vitest";
import {
  customCall,
  functionCall,
  hosted,
  type JsonObject,
  message,
  readItems,
  type ScriptedItem,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import {
  accepted,
  create,
  idOf,
  refusedWith,
  toolCall,
  toolOutput,
  user,
} from "../support/reference-server/wire-client.ts";

const done = { output: [message("done")] };

async function afterCalls(...calls: readonly ScriptedItem[]) {
  const server = await startReferenceServer({ script: [{ output: calls }, done, done] });
  const first = await accepted(server, { input: "go" });
  return {
    send: (...input: readonly JsonObject[]) => refusedWith(server, { input, previous_response_id: idOf(first) }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const patch = { type: "update_file", path: "p", diff: "d" };

test.each<readonly [string, ScriptedItem, JsonObject]>([
  ["function call", functionCall("f", "{}", { callId: "call_x" }), toolOutput("call_x", "o")],
  [
    "custom tool call",
    customCall("f", "i", { callId: "call_x" }),
    { type: "custom_tool_call_output", call_id: "call_x", output: "o" },
  ],
  [
    "tool search call",
    hosted({ type: "tool_search_call", call_id: "call_x", execution: "client", arguments: {}, status: "completed" }),
    { type: "tool_search_output", call_id: "call_x", execution: "client", tools: [] },
  ],
  [
    "computer call",
    hosted({
      type: "computer_call",
      call_id: "call_x",
      action: { type: "screenshot" },
      pending_safety_checks: [],
      status: "completed",
    }),
    { type: "computer_call_output", call_id: "call_x", output: { type: "computer_screenshot", image_url: "data:," } },
  ],
  [
    "shell call",
    hosted({ type: "shell_call", call_id: "call_x", action: { commands: ["ls"] } }),
    {
      type: "shell_call_output",
      call_id: "call_x",
      output: [{ stdout: "", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
    },
  ],
  [
    "local shell call",
    hosted({
      type: "local_shell_call",
      call_id: "call_x",
      action: { type: "exec", command: ["ls"] },
      status: "completed",
    }),
    { type: "local_shell_call_output", id: "call_x", output: "o" },
  ],
  [
    "apply patch call",
    hosted({ type: "apply_patch_call", call_id: "call_x", operation: patch, status: "completed" }),
    { type: "apply_patch_call_output", call_id: "call_x", status: "completed" },
  ],
  [
    "program",
    hosted({ type: "program", call_id: "call_x", code: "c", fingerprint: "f" }),
    { type: "program_output", call_id: "call_x", result: "r", status: "completed" },
  ],
])(
  "a %s needs its output in the next request, takes its own kind or a function call output, and only once",
  async (label, call, output) => {
    await using at = await afterCalls(call);
    const { send } = at;
    expect(await send(user("never mind"))).toBe(`No tool output found for ${label} call_x.`);
    expect(await send(output, output)).toMatch(/^(No tool call found for|Duplicate item found)/);
    expect(await send(toolOutput("call_y", "o"))).toBe(
      "No tool call found for function call output with call_id call_y.",
    );
    expect(await send(output)).toBe("accepted");
    expect(await send(toolOutput("call_x", "o"))).toBe("accepted");
  },
);

test("an output of another kind answers nothing", async () => {
  await using at = await afterCalls(functionCall("f", "{}", { callId: "call_x" }));
  const { send } = at;
  const output = { type: "custom_tool_call_output", call_id: "call_x", output: "o" };
  expect(await send(output)).toBe("No tool call found for custom tool call output with call_id call_x.");
});

test("all parallel calls need outputs in the very next request; the first missing one is named", async () => {
  const calls = ["call_a", "call_b", "call_c"].map((callId) => functionCall("f", "{}", { callId }));
  await using at = await afterCalls(...calls);
  const { send } = at;
  const missing = await send(toolOutput("call_a", "a"));
  expect(missing).toBe("No tool output found for function call call_b.");
  const outputs = ["call_c", "call_a", "call_b"].map((id) => toolOutput(id, id));
  expect(await send(...outputs, user("and?"))).toBe("accepted");
});

test("an async call may wait, whether the item says so or the tool", async () => {
  const script = [{ output: [functionCall("f", "{}", { callId: "call_x" })] }, done, done];
  const tools = [{ type: "function", name: "f", parameters: {}, async: true }];
  await using server = await startReferenceServer({ script });
  const first = await accepted(server, { input: "go", tools });
  const second = await accepted(server, { input: "meanwhile", previous_response_id: idOf(first), tools });
  const input = [toolOutput("call_x", "late")];
  expect((await create(server, { input, previous_response_id: idOf(second) })).status).toBe(200);
  await using at = await afterCalls(functionCall("f", "{}", { async: true }));
  expect(await at.send(user("meanwhile"))).toBe("accepted");
});

test("async calls may be answered one by one, in any order", async () => {
  const calls = ["call_a", "call_b"].map((callId) => functionCall("f", "{}", { callId, async: true }));
  await using server = await startReferenceServer({ script: [{ output: calls }, done, done] });
  let previous = await accepted(server, { input: "go" });
  for (const callId of ["call_b", "call_a"]) {
    previous = await accepted(server, { input: [toolOutput(callId, "late")], previous_response_id: idOf(previous) });
  }
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
});

test("an approval may wait; its answer needs a request", async () => {
  const request = { type: "mcp_approval_request", id: "mcpr_x", arguments: "{}", name: "n", server_label: "s" };
  await using at = await afterCalls(hosted(request));
  const { send } = at;
  const answer = (id: string) => ({ type: "mcp_approval_response", approval_request_id: id, approve: true });
  expect(await send(user("wait"))).toBe("accepted");
  expect(await send(answer("mcpr_y"))).toMatch(/^No tool call found for mcp approval request output/);
  expect(await send(answer("mcpr_x"))).toBe("accepted");
});

test("hosted calls are complete in themselves", async () => {
  await using at = await afterCalls(
    hosted({ type: "web_search_call", status: "completed", action: { type: "search", query: "q" } }),
    hosted({ type: "tool_search_call", call_id: null, execution: "server", arguments: {}, status: "completed" }),
    hosted({ type: "mcp_call", arguments: "{}", name: "n", server_label: "s", output: "o" }),
  );
  const { send } = at;
  expect(await send(user("go on"))).toBe("accepted");
});

test("a call and its output may be apart in one input, in that order only", async () => {
  await using server = await startReferenceServer();
  const pair = [toolCall("call_x"), user("between"), toolOutput("call_x", "o")];
  expect(await refusedWith(server, { input: pair })).toBe("accepted");
  const message = await refusedWith(server, { input: pair.toReversed() });
  expect(message).toBe("No tool call found for function call output with call_id call_x.");
});

test("call ids may come again: a result answers the nearest earlier open call", async () => {
  const call = { output: [functionCall("f", "{}", { callId: "call_1" })] };
  await using server = await startReferenceServer({ script: [call, call, done] });
  const first = await accepted(server, { input: "go" });
  const second = await accepted(server, { input: [toolOutput("call_1", "one")], previous_response_id: idOf(first) });
  const third = await accepted(server, { input: [toolOutput("call_1", "two")], previous_response_id: idOf(second) });
  const lines = readItems(server.reading(idOf(third))?.items ?? []);
  expect(lines.map((line) => line.split(" | ")[4])).toEqual(["-", "call#0", "call#0", "call#1", "call#1"]);
});

test("two calls of one id are refused in one input, and when both are open", async () => {
  await using server = await startReferenceServer({
    script: [{ output: [functionCall("f", "{}", { callId: "call_1", async: true })] }],
  });
  const closed = [toolCall("call_1"), toolOutput("call_1", "o")];
  expect(await refusedWith(server, { input: [...closed, ...closed] })).toMatch(
    /^Duplicate item found with id call_1\./,
  );
  const first = await accepted(server, { input: "go" });
  const again = { input: closed, previous_response_id: idOf(first) };
  expect(await refusedWith(server, again)).toMatch(/^Duplicate item found with id call_1\./);
});

test("an output without call id needs exactly one open call", async () => {
  const output = { type: "function_call_output", output: "o" };
  await using at = await afterCalls(functionCall("f", "{}"), functionCall("g", "{}"));
  const { send } = at;
  expect(await send(output, output)).toBe("Missing required parameter: 'input[0].call_id'.");
  await using one = await afterCalls(functionCall("f", "{}"));
  expect(await one.send(output)).toBe("accepted");
});
