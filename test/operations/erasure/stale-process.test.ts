import { expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { snapshotKey } from "../../../src/log/snapshots/lists.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { foundIn } from "../../support/erasure/secrets.ts";
import { snapshotsOf } from "../../support/stores/snapshots-of.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const title = "The case of Ada Lovelace, 1843";

/** A process that is about to save its first snapshot, and does when it is let. */
function heldUp(events: EventStore) {
  const reached = Promise.withResolvers<null>();
  const letGo = Promise.withResolvers<null>();
  const snapshots = snapshotsOf(events);
  const store: EventStore = {
    ...events,
    [Symbol.asyncDispose]: () => events.close(),
    snapshots: {
      ...snapshots,
      async put(...given) {
        reached.resolve(null);
        await letGo.promise;
        return snapshots.put(...given);
      },
    },
  };
  return { store, reached: reached.promise, go: () => letGo.resolve(null) };
}

/** As many events as a snapshot is taken after. */
const eventsOfSnapshot = 512;

for (const [what, read] of [
  ["opened the conversation", (stale: TurnlogStore) => stale.conversation("talk").turn()],
  ["looked back", (stale: TurnlogStore) => stale.conversation("talk").at(eventsOfSnapshot + 1)],
] as const)
  test(`a process that ${what} before a title was erased, and saves its snapshot after, leaves no title`, async () => {
    const { path, file } = temporaryFolder();
    await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
    const talk = store.conversation("talk");
    await talk.append("hello");
    await talk.relabel({ title });
    await talk[commit](
      Array.from({ length: eventsOfSnapshot }, (_, n) => ({
        event: { type: "ConversationRelabelled", version: 1, data: { labels: { n: String(n) } } },
        actor: { kind: "user" },
      })),
    );
    await store.events.snapshots?.deleteAll();
    const events = await openSqliteStore(file("turnlog.db"));
    const { store: late, reached, go } = heldUp(events);
    await using stale = new TurnlogStore(late);
    const reading = read(stale);
    await reached;
    await store.erase(await store.planErasure({ texts: [title] }), why);
    go();
    await reading;
    expect(foundIn(path, [title])).toEqual([]);
    await using later = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
    await later.conversation("talk").turn();
    expect(await snapshotsOf(later.events).get(snapshotKey("conversation-talk"), eventsOfSnapshot * 2)).not.toBeNull();
    expect(foundIn(path, [title])).toEqual([]);
  });
