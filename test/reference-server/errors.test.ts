import { expect, test } from "vitest";
import {
  cannedError,
  errorRow,
  errorRows,
  functionCall,
  hosted,
  type JsonObject,
  message,
  type ReferenceServerOptions,
  reasoning,
  type ScriptedItem,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { catalogue } from "../support/providers/error-catalogue.ts";
import { dialects } from "../support/providers/error-dialects.ts";
import {
  type Answered,
  accepted,
  create,
  idOf,
  outputOf,
  send,
  textOf,
  toolOutput,
  user,
} from "../support/reference-server/wire-client.ts";

/** What the catalogue says of each error of the reference server, written down from the documents, not taken from it. */
const expected = new Map(
  [...catalogue, ...dialects].flatMap((row) => (row.judge === undefined ? [] : [[row.judge, row]])),
);

/** One request to a server with these options. */
function once(body: JsonObject, options: ReferenceServerOptions = {}) {
  return async (): Promise<Answered> => {
    await using server = await startReferenceServer(options);
    return await create(server, body);
  };
}

/** A second request, made from the first response, whose items bear ids of the script's choice. */
function after(output: readonly ScriptedItem[], next: (first: JsonObject) => JsonObject, first: JsonObject = {}) {
  return async (): Promise<Answered> => {
    await using server = await startReferenceServer({ answer: () => ({ output }) });
    return await create(server, next(await accepted(server, { input: "go", ...first })));
  };
}

const chained = { input: "on", previous_response_id: "resp_x" };
const bogusBlob = (blob: JsonObject): JsonObject => ({
  input: [
    { type: "reasoning", summary: [], ...blob },
    { role: "assistant", content: "a" },
  ],
});
const named = ({ item, isEncrypted }: ScriptedItem, id: string): ScriptedItem => ({
  item: { ...item, id },
  isEncrypted,
});
const shell = hosted({ type: "shell_call", call_id: "call_x", action: { commands: ["ls"] } });
const onwards = (first: JsonObject): JsonObject => ({ input: "on", previous_response_id: idOf(first) });
const effort = { path: "reasoning.effort", value: "minimal", supported: ["low", "high"] };

const provocations: Readonly<Record<string, () => Promise<Answered>>> = {
  "previous-not-found": once(chained),
  "zero-data-retention": once(chained, { zdr: true }),
  "previous-invalid-type": once({ input: "on", previous_response_id: {} }),
  "mutually-exclusive": once({ ...chained, conversation: "conv_x" }),
  "conversation-not-found": once({ input: "on", conversation: "conv_x" }),
  "conversation-locked": async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await using server = await startReferenceServer();
    server.adoptConversation("conv_x");
    server.inject({ kind: "delay", until: promise, afterBytes: 1 });
    const first = create(server, { input: "a", conversation: "conv_x" });
    while (server.requests[0]?.status !== 200) await new Promise(setImmediate);
    const second = await create(server, { input: "b", conversation: "conv_x" });
    resolve(undefined);
    await first;
    return second;
  },
  "missing-output": after([functionCall("f", "{}", { callId: "call_x" })], onwards),
  "missing-output-shell": after([shell], onwards),
  "orphan-output": once({ input: [user("a"), toolOutput("call_x", "o")] }),
  "reasoning-without-follower": once(
    { input: [{ type: "reasoning", id: "rs_x", summary: [], encrypted_content: "any" }] },
    { verifiesCiphertexts: false },
  ),
  "call-without-reasoning": after([named(reasoning(), "rs_y"), named(functionCall("f", "{}"), "fc_x")], (first) => ({
    input: [...outputOf(first).slice(1), toolOutput(textOf(outputOf(first)[1]?.["call_id"]), "o")],
  })),
  "message-without-reasoning": after([named(reasoning(), "rs_y"), named(message("a"), "msg_x")], (first) => ({
    input: outputOf(first).slice(1),
  })),
  "duplicate-item": after(
    [named(reasoning(), "rs_x"), message("a")],
    (first) => ({ input: outputOf(first), previous_response_id: idOf(first) }),
    { include: ["reasoning.encrypted_content"] },
  ),
  "item-not-found": after([named(reasoning(), "rs_x"), message("a")], (first) => ({ input: outputOf(first) }), {
    store: false,
  }),
  "bad-ciphertext": once(bogusBlob({ id: "rs_x", encrypted_content: "gAAAx" })),
  "bad-ciphertext-2025": once(bogusBlob({ encrypted_content: "gAAAAABsecretDQ==" })),
  "context-too-long": once({ input: "a".repeat(100) }, { maxContextTokens: 10 }),
  "unknown-parameter": once({ input: "a", zzz: 1 }),
  "unknown-parameter-suggestion": once({ input: "a", stoer: true }),
  "unknown-item-member": once({ input: [{ ...user("a"), bogus: 1 }] }),
  "bad-item-type": once({ input: [{ type: "bogus_item" }] }),
  "bad-part-type": once({ input: [{ role: "assistant", content: [{ type: "input_text", text: "a" }] }] }),
  "phase-on-user": once({ input: [{ ...user("a"), phase: "commentary" }] }),
  "unsupported-parameter": once({ input: "a", temperature: 1 }, { unsupported: ["temperature"] }),
  "unsupported-value": once(
    { model: "M", input: "a", reasoning: { effort: "minimal" } },
    { unsupportedValues: [effort] },
  ),
  "output-tokens-minimum": once({ input: "a", max_output_tokens: 0 }),
  "temperature-minimum": once({ input: "a", temperature: -1 }),
  "model-not-found": once({ model: "gpt-x", input: "a" }, { models: ["m"] }),
  "response-not-found": async () => {
    await using server = await startReferenceServer();
    return await send(server, "/responses/resp_x");
  },
  "unsupported-previous-detail": once(chained, { noChain: "http-detail" }),
  "unsupported-previous-llama": once(chained, { noChain: "llama.cpp" }),
  "previous-not-found-vllm": once(chained, { notFound: "vllm" }),
};

test("the catalogue names every row, and every rule has a provocation", () => {
  expect(errorRows.map(({ name }) => name).toSorted()).toEqual([...expected.keys()].toSorted());
  const rules = errorRows.filter(({ provoke }) => provoke === "rule").map(({ name }) => name);
  expect(Object.keys(provocations)).toEqual(rules);
});

test.each(errorRows.filter(({ provoke }) => provoke === "rule"))(
  "a request that breaks the rule is answered $name",
  async (row) => {
    const answered = await provocations[row.name]?.();
    expect(answered).toEqual({ status: row.status, body: row.body });
  },
);

test.each(errorRows)("$name can be injected, and says what the catalogue says", async ({ name }) => {
  await using server = await startReferenceServer();
  server.inject(cannedError(name));
  const { status, body } = await create(server, { input: "a" });
  const row = errorRow(name);
  expect([status, body]).toEqual([row.status, row.body]);
  const [told, said] = [JSON.stringify(expected.get(name)?.body), JSON.stringify(body)];
  const open = told.indexOf(" ...");
  if (open < 0) expect(body).toEqual(expected.get(name)?.body);
  else expect(said.slice(0, open)).toBe(told.slice(0, open));
  expect(status).toBe(expected.get(name)?.status);
  expect((await create(server, { input: "a" })).status).toBe(200);
});
