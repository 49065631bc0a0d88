import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { foldWhole } from "../src/log/aggregate/fold.ts";
import { envelopeBytes } from "../src/log/codec/bounds.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

const exchanges = 10_000;

/**
 * `at(revision)` in a conversation of 50,000 events, compared with a fold of all events, at revisions in and between runs; and the
 * space of events, indexes and snapshots in the file.
 */
export function benchTimeTravel(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const path = join(folder, "time-travel.db");
    const store = new TurnlogStore(await openSqliteStore(path));
    const { stream, envelopesBytes } = await fill(store);
    const conversation = store.conversation(stream.slice("conversation-".length));
    const head = (await store.events.head(stream))?.revision ?? 0;
    const revisions = [head, head - 2, Math.round(head * 0.9), Math.round(head * 0.5), Math.round(head * 0.1)];
    // The first call folds everything and saves the snapshots on the way.
    await conversation.at(head);
    const times = await takeTurns(7, {
      at: async () => {
        for (const revision of revisions) await conversation.at(revision);
      },
      newest: () => conversation.at(head),
      whole: () => foldWhole(store.log, stream, head),
    });
    await store.close();
    const ms = (rounds: readonly number[], count = 1): string => `${(mean(rounds) / count).toFixed(1)} ms`;
    const each = times.at.map((all) => all / revisions.length);
    const whole = `the whole takes ${ms(times.whole)}`;
    const travel: BenchRow = {
      name: `at(revision) in ${head + 1} events, against folding them all`,
      ...ratioOf(each, times.whole),
      ...{ unit: "x", bound: 0.05, kind: "at most" },
      note: `${ms(each)} on average of ${revisions.length} revisions, ${ms(times.newest)} at the newest; ${whole}`,
    };
    return [travel, ...sizes(path, envelopesBytes)];
  });
}

async function fill(store: TurnlogStore) {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await chat(conversation, { exchanges, bytes: 500 });
  const stream = `conversation-${conversation.id}`;
  await copyConversations(memory, store, { conversations: [conversation.id] });
  let envelopesBytes = 0;
  for await (const { position: _, ...envelope } of store.events.readStream(stream))
    envelopesBytes += envelopeBytes(envelope);
  return { stream, envelopesBytes };
}

/** Pages of the file by content, from SQLite's own table of them. */
function sizes(path: string, envelopesBytes: number): readonly BenchRow[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const pages = database.prepare("SELECT sum(pgsize) AS bytes FROM dbstat WHERE name LIKE ?");
  const bytesOf = (name: string): number => Number(pages.get(name)?.["bytes"] ?? Number.NaN);
  const events = bytesOf("events") + bytesOf("sqlite_autoindex_events%");
  const snapshots = bytesOf("snapshots") + bytesOf("sqlite_autoindex_snapshots%");
  database.close();
  const of = `${(events / 1e6).toFixed(1)} MB of events and index, blocks of 500 bytes`;
  return [
    {
      name: "events and indexes, against the envelopes as JSON",
      ...{ value: events / envelopesBytes, unit: "x", bound: 1.35, kind: "at most", note: of },
    },
    {
      name: "snapshots, against events and indexes",
      ...{ value: snapshots / events, unit: "x", bound: 0.1, kind: "at most" },
      note: `${(snapshots / 1e6).toFixed(1)} MB beside ${of}`,
    },
  ];
}

if (import.meta.main) process.exitCode = report(await benchTimeTravel()) ? 0 : 1;
