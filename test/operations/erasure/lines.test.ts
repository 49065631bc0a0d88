import { expect, test } from "vitest";
import { readModels } from "../../../src/conversation/read-models.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { contentLines } from "../../../src/log/codec/line-places.ts";
import { type EventStore, envelopeAt } from "../../../src/log/ports/event-store.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import type { ErasurePlan } from "../../../src/operations/erasure/plan.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { createSecrets, foundIn, saySecrets } from "../../support/erasure/secrets.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;

async function problemsOf(events: EventStore): Promise<readonly string[]> {
  const problems: string[] = [];
  for await (const { stream, problem } of verifyStore(events, { codecs, readModels: readModels(events) }))
    if (problem !== null) problems.push(`${stream}@${problem.revision} ${problem.kind}: ${problem.message}`);
  return problems;
}

/** What stands in the lines of a plan. */
async function contentOf(events: EventStore, { lines }: ErasurePlan): Promise<string> {
  const contents: string[] = [];
  for (const { id, places, blobs } of lines) {
    for (const place of places) {
      const envelope = await envelopeAt(events, `conversation-${id}`, place.revision);
      const all = envelope === null ? [] : contentLines(envelope);
      contents.push(...all.filter(({ line }) => place.lines.includes(line)).map(({ content }) => content));
    }
    for (const blob of blobs) for await (const { data } of events.readStream(blob)) contents.push(data);
  }
  return contents.join("\n");
}

test("one text after another is erased, from every place that says it, and all others stay", async () => {
  const { path, file } = temporaryFolder();
  const events = await openSqliteStore(file("turnlog.db"));
  const store = new TurnlogStore(events);
  const secrets = createSecrets("one");
  await saySecrets(store.conversation("talk"), secrets);
  await takeSnapshots(events, "conversation-talk", { events: 4, edits: 3 });
  await store.list();
  await store.search("key");
  const left = new Set(secrets.all);
  for (const secret of secrets.all) {
    if (!left.has(secret)) continue;
    const plan = await store.planErasure({ texts: [secret.slice(0, 24)] });
    // Labels and titles share a line, as do all words of a request's settings.
    const named = await contentOf(events, plan);
    const receipt = await store.erase(plan, why);
    for (const other of left) if (named.includes(JSON.stringify(other.slice(0, 16)).slice(1, -1))) left.delete(other);
    await store.list();
    await store.search("key");
    expect(foundIn(path, [secret]).length).toBe(0);
    expect(foundIn(path, [...left]).length).toBe(left.size);
    expect(receipt.done.lines).toBeGreaterThan(0);
    expect(await problemsOf(events)).toEqual([]);
  }
  const talk = store.conversation("talk");
  expect((await talk.turn()).blocks.every(({ isErased }) => isErased)).toBe(true);
  await talk.append("And now?");
  // This server does not know the response that the request continues from: the next one is whole, and sends stand-ins.
  const { text } = await talk.run(createEngine({ provider: scripted(["lost", "All is well."]) }));
  expect(text).toBe("All is well.");
  expect(await problemsOf(events)).toEqual([]);
});
