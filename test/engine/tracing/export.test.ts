import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { secretReference as secret } from "../../../src/domain/secret-reference.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { exportsOf } from "../../../src/log/system-streams/exports.ts";
import { exportSpans } from "../../../src/operations/transfer/export-spans.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { leftIn, type Planted, plant } from "../../support/erasure/plant.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { exportedSpans } from "../../support/tracing/compared-spans.ts";
import { textOf } from "../../support/tracing/text-of.ts";

/** The secrets in the exported spans of a conversation. */
async function leftInSpans(
  store: TurnlogStore,
  planted: readonly Planted[],
  content: boolean,
): Promise<readonly string[]> {
  const conversations = [store.conversation("cnv_planted").id];
  const { path, file } = temporaryFolder();
  for (const service of ["langfuse", "langsmith", "phoenix"] as const)
    writeFileSync(file(`${service}.json`), await textOf(exportSpans(store, { conversations, content, service })));
  return leftIn(path, planted).map(({ form }) => form);
}

test("exported spans hold nothing that was said without content, and nothing that was erased with it", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const planted = await plant(store.conversation("cnv_planted"), "planted");
  expect(await leftInSpans(store, planted, false)).toEqual([]);
  const before = await leftInSpans(store, planted, true);
  expect(before).toEqual(expect.arrayContaining(["user", "answer", "argument", "result", "instructions", "system"]));
  const files = (await store.conversation("cnv_planted").turn()).blocks.filter(({ parts }) =>
    parts.some(({ type }) => type === "file"),
  );
  const plan = await store.planErasure({
    texts: planted.flatMap(({ form, text }) => (form === "base64" ? [] : [text])),
    blocks: files.map(({ id }) => ({ conversation: "cnv_planted", block: id ?? "" })),
  });
  await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
  expect(await leftInSpans(store, planted, true)).toEqual([]);
});

test("a secret is in no span, in settings, headers or what a server repeats", async () => {
  const key = "sk-a-key-that-nobody-may-see-1234567890";
  await using server = await startReferenceServer({ answer: () => ({ output: [message(`your key is ${key}`)] }) });
  const store = new TurnlogStore(createMemoryStore());
  const engine = createEngine({
    provider: openaiResponses({
      ...{ model: "m", apiKey: key, baseURL: server.baseUrl },
      secrets: { TOKEN: "a-token-that-nobody-may-see-0987654321" },
      tools: [{ type: "mcp", server_label: "x", server_url: "https://mcp.example", authorization: secret("TOKEN") }],
    }),
  });
  const conversation = store.conversation("cnv_secret");
  await conversation.append("what is my key?");
  await conversation.run(engine);
  const text = await textOf(exportSpans(store, { conversations: [conversation.id], content: true }));
  expect(text).toContain("what is my key?");
  expect(text).toContain("[secret ");
  expect(text).toContain("$secret");
  expect(text).not.toMatch(/nobody-may-see/);
});

test("an export with content is recorded for later receipts, and one without is not", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation("cnv_told");
  await conversation.append("hello");
  await conversation.run(createEngine({ provider: scripted(["hi"]) }));
  const conversations = [conversation.id];
  await textOf(exportSpans(store, { conversations }));
  expect(await exportsOf(store.events, new Set(conversations))).toEqual([]);
  await textOf(exportSpans(store, { conversations, content: true }));
  expect(await exportsOf(store.events, new Set(conversations))).toMatchObject([{ kind: "bundle", conversations }]);
});

test("a fork exports its own runs, and the same conversation twice has the same ids", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const parent = store.conversation("cnv_parent");
  await parent.append("hello");
  const engine = createEngine({ provider: scripted(["one", "two"]) });
  await parent.run(engine);
  const fork = await parent.fork(-1, { id: "cnv_child" });
  await fork.append("and?");
  await fork.run(engine);
  const exported = async () => textOf(exportSpans(store, { conversations: [fork.id], agent: "a", agentVersion: "1" }));
  const text = await exported();
  expect(exportedSpans(text).map(({ name }) => name)).toEqual(["chat scripted", "invoke_agent a", "step 1"]);
  expect(await exported()).toBe(text);
});
