import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { blockIdSchema, runIdSchema } from "../../../src/domain/ids.ts";
import { exportBundle } from "../../../src/operations/transfer/carry-bundle.ts";
import { copyConversations } from "../../../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const secret = "My number is 555-0199.";

async function filled() {
  const store = new TurnlogStore(createMemoryStore());
  await store.conversation("talk").append([secret, "x".repeat(70_000)]);
  const child = await store.conversation("talk").child("helper", {
    runId: runIdSchema.parse("run_V1StGXR8Z5jdHi6B0003"),
    blockId: blockIdSchema.parse("blk_V1StGXR8Z5jdHi6B0003"),
  });
  await child.append("Hello.");
  return { store, child };
}

async function textOf(lines: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const line of lines) text += line;
  return text;
}

test("a redacted bundle counts as left over only if a conversation was erased as a whole, whose facts it has", async () => {
  for (const [target, finished] of [
    [{ texts: [secret] }, true],
    [{ conversations: ["talk"] }, false],
  ] as const) {
    const { store } = await filled();
    expect(await textOf(exportBundle(store, { redact: true }))).not.toContain(secret);
    const receipt = await store.erase(await store.planErasure(target), why);
    expect(receipt).toMatchObject({ finished, exports: [{ kind: "bundle", isRedacted: true }] });
  }
});

test("a bundle with texts is left over after every erasure of a conversation that it has, and of no other", async () => {
  const { store, child } = await filled();
  await textOf(exportBundle(store, { conversations: [store.conversation("talk").id] }));
  const receipt = await store.erase(await store.planErasure({ texts: [secret] }), why);
  expect(receipt).toMatchObject({ finished: false, leftOver: [{ place: "copies" }] });
  const other = await store.erase(await store.planErasure({ conversations: [child.id] }), why);
  expect(other).toMatchObject({ finished: true, exports: [] });
});

test("the export of a child names its parent, whose events it has as well", async () => {
  const { store, child } = await filled();
  const text = await textOf(exportBundle(store, { conversations: [child.id] }));
  expect(text).toContain(secret);
  const plan = await store.planErasure({ conversations: ["talk"] });
  expect(plan.exports).toMatchObject([{ conversations: ["talk", child.id] }]);
});

test("an export during which an erasure is ordered says that the receipt does not list it", async () => {
  const { store } = await filled();
  const reasons: string[] = [];
  const lines = exportBundle(store, { onUnrecorded: (reason) => reasons.push(reason) });
  let read = "";
  for await (const line of lines) {
    read += line;
    if (!line.includes(secret)) continue;
    const receipt = await store.erase(await store.planErasure({ texts: [secret] }), why);
    expect(receipt.exports).toEqual([]);
    expect(reasons).toEqual([]);
  }
  expect(read).toContain(secret);
  expect(reasons).toEqual([expect.stringMatching(/^the erasure era_\S+ was ordered meanwhile/)]);
  reasons.length = 0;
  const to = new TurnlogStore(createMemoryStore());
  await copyConversations(store, to, { onUnrecorded: (reason) => reasons.push(reason) });
  expect(reasons).toEqual([]);
});
