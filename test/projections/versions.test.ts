import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { billing, caching } from "../../src/analysis/costs/rows/rows.ts";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import type { JsonValue } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { envelopeSchema } from "../../src/log/codec/envelope.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { createProjector } from "../../src/log/read-models/projector.ts";
import { byStream, type Projection } from "../../src/projections/projection.ts";
import { usage } from "../../src/projections/usage.ts";
import { conversationList } from "../../src/projections/views/conversation-list.ts";
import { searchTexts } from "../../src/projections/views/search-texts.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";

const golden = join(import.meta.dirname, "../golden");

/** A log that never changes: the demo, a fork, a run that broke off, labels, a hidden conversation. */
async function goldenLog(): Promise<EventStore> {
  const store = createMemoryStore();
  for (const line of readFileSync(join(golden, "projected-log.jsonl"), "utf8").trimEnd().split("\n")) {
    const envelope = envelopeSchema.parse(JSON.parse(line));
    const expectedHead = await store.head(envelope.stream);
    const result = await store.append({ stream: envelope.stream, expectedHead, envelopes: [envelope] });
    expect(result.status).toBe("appended");
  }
  return store;
}

/** Of all rows and their places; without positions, which a store gives. */
async function digestOf<View>(projection: Projection<View>): Promise<string> {
  await using store = await goldenLog();
  const projector = createProjector(store, projection);
  await projector.catchUp();
  const rows: JsonValue[] = [];
  for await (const { key, view, quarantine } of projector.readAll()) {
    expect(quarantine).toBeNull();
    const places = projection.places?.(view, "1") ?? [];
    // A view is saved as JSON.
    rows.push(JSON.parse(JSON.stringify({ key, view, places })) as JsonValue);
  }
  return sha256Hex(canonicalJson(rows));
}

/** `projections.json` has every version that was released: a changed digest is a new version, with a line of its own. */
test.each([
  ["conversation-list", () => digestOf(conversationList), conversationList.version],
  ["usage", () => digestOf(usage), usage.version],
  ["bill", () => digestOf(billing), billing.version],
  ["cache", () => digestOf(caching), caching.version],
  ["search-texts", () => digestOf(searchTexts), searchTexts.version],
])("what %s makes of the golden log changes with its version only", async (name, digest, version) => {
  const known = JSON.parse(readFileSync(join(golden, "projections.json"), "utf8")) as Record<string, string>;
  expect({ [`${name} ${version}`]: await digest() }).toEqual({ [`${name} ${version}`]: known[`${name} ${version}`] });
});

test("the digest reveals a projection that makes something else under its old version", async () => {
  const { apply } = conversationList;
  const changed: typeof conversationList = {
    ...conversationList,
    apply(view, recorded) {
      const after = apply(view, recorded);
      if (recorded.event.type === "RunStarted") after.summary.runs += 1;
      return after;
    },
  };
  expect(await digestOf(changed)).not.toBe(await digestOf(conversationList));
});

test("a row made now reveals a projection that changed under its version", async () => {
  await using store = await goldenLog();
  await createProjector(store, spoken).catchUp();
  const stream = "conversation-cnv_golden_trip";
  const same = createProjector(store, spoken);
  await same.catchUp();
  expect(await same.mismatchedRow(stream)).toBeNull();
  const changed = createProjector(store, { ...spoken, apply: ({ events }) => ({ events: events + 2 }) });
  await changed.catchUp();
  expect(await changed.mismatchedRow(stream)).toEqual({ key: stream, revision: 7 });
  await changed.rebuild();
  expect(await changed.mismatchedRow(stream)).toBeNull();
});

const spoken: Projection<{ readonly events: number }> = {
  name: "spoken",
  version: 1,
  lineage: "own",
  key: byStream,
  initial: () => ({ events: 0 }),
  apply: ({ events }) => ({ events: events + 1 }),
};
