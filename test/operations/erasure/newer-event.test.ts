import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { createEventIds } from "../../../src/log/codec/ids.ts";
import { type AnyEvent, prepareAppend } from "../../../src/log/codec/prepare.ts";
import { namesOf } from "../../../src/log/codec/stream-names.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { foundIn } from "../../support/erasure/secrets.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const secret = "My number is 555-0199, and that is all.";
const stream = "conversation-talk";
const clock = () => 1_700_000_000_000;

/** A conversation in which a newer turnlog has written an event with two texts, after a message and an answer. */
async function withNewer({
  event,
  says,
}: {
  readonly event: Pick<AnyEvent, "type" | "version">;
  readonly says: string;
}) {
  const { path, file } = temporaryFolder();
  const store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const { blocks } = await store.conversation("talk").append(secret);
  await store.conversation("talk").append("Something else entirely.");
  await store.conversation("talk").run(createEngine({ provider: scripted(["Noted."]) }));
  const head = await store.events.head(stream);
  const { appends } = prepareAppend({
    ...{ stream, head, lastAt: null, clock, newEventId: createEventIds({ clock }) },
    lines: { names: await namesOf(store.events, stream) },
    events: [{ event: { ...event, data: { words: says, more: "The neighbour's words." } }, actor: { kind: "engine" } }],
  });
  for (const append of appends) await store.events.append(append);
  const revision = (head?.revision ?? 0) + 1;
  const block = { conversation: "talk", block: blocks[0]?.id ?? "" };
  const problems = async () =>
    (await store.verify()).problems.map((each) => `${each.kind} at the newer event: ${each.revision === revision}`);
  return { store, path, revision, block, problems };
}

test.each([
  { type: "ThoughtShared", version: 1 },
  { type: "BlockAppended", version: 99 },
])(
  "a text in an event of a newer turnlog ($type $version) is erased with all that the event says, or not at all",
  async (event) => {
    const { store, path, revision, problems } = await withNewer({ event, says: secret });
    const before = await problems();
    const plan = await store.planErasure({ texts: [secret] });
    const planned = plan.lines.flatMap(({ places }) => places).find((place) => place.revision === revision);
    let data = "";
    for await (const envelope of store.events.readStream(stream, { from: revision })) data = envelope.data;
    expect(planned?.lines).toEqual(
      data
        .split("\n")
        .slice(1)
        .map((_, index) => index + 1),
    );
    const receipt = await store.erase(plan, { ...why, keepStored: true });
    expect([receipt.finished, receipt.search]).toEqual([true, expect.objectContaining({ found: 0 })]);
    expect(foundIn(path, [secret, "The neighbour's words."])).toEqual([]);
    expect(foundIn(path, ["Something else entirely."])).toHaveLength(1);
    expect(await problems()).toEqual(before);
    await store.close();
  },
);

test("a block is erased from a conversation with an event of a newer turnlog, of whose requests none stays provable", async () => {
  const event = { type: "ThoughtShared", version: 1 };
  const { store, path, block, revision, problems } = await withNewer({ event, says: "The words of a newer turnlog." });
  const before = await problems();
  const plan = await store.planErasure({ blocks: [block] });
  const places = plan.lines.flatMap((each) => each.places);
  expect(places.map(({ type }) => type)).toEqual(["BlockAppended", "InferenceRequested"]);
  expect(places.map((place) => place.revision)).not.toContain(revision);
  await store.erase(plan, { ...why, keepStored: true });
  expect(foundIn(path, [secret])).toEqual([]);
  expect(foundIn(path, ["The words of a newer turnlog."])).toHaveLength(1);
  expect(await problems()).toEqual(before);
  await store.close();
});
