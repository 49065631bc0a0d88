import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createProjector } from "../src/log/read-models/projector.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { usage } from "../src/projections/usage.ts";
import { conversationList } from "../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { createMemoryViews } from "../src/stores/memory/views.ts";
import { openSqliteStore, type SqliteStore } from "../src/stores/sqlite/store.ts";
import { parseStored } from "./json-parse.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

const conversations = 100;
const exchanges = 40;
const liveEvents = 500;

/**
 * Catching up with a log of the embedded store (read, parse, validate, fold, save rows), compared with reading it all with
 * JSON.parse; and how long after its append a live event reaches a subscriber in the same process.
 */
export function benchProjector(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await using store = await openSqliteStore(join(folder, "projector.db"));
    const events = await fill(store);
    const times = await takeTurns(9, {
      scan: async () => {
        for await (const envelope of store.readLog({ streamPrefix: "conversation-" })) parseStored(envelope);
      },
      list: () => createProjector(store, conversationList).rebuild(),
      usage: () => createProjector(store, usage).rebuild(),
    });
    const us = (ms: readonly number[]): string => `${((mean(ms) / events) * 1_000).toFixed(1)} µs`;
    const against = `against ${us(times.scan)} an event of ${events} in ${conversations} conversations`;
    const rows = (["list", "usage"] as const).map((name) => ({
      name: `projector catch-up of ${name}, against a bare scan with JSON.parse`,
      ...ratioOf(times.scan, times[name]),
      ...{ unit: "x", bound: 0.5, kind: "at least" as const, note: `${us(times[name])} ${against}` },
    }));
    return [...rows, await latency(store)];
  });
}

async function fill(store: SqliteStore): Promise<number> {
  const memory = new TurnlogStore(createMemoryStore());
  let events = 0;
  for (let n = 0; n < conversations; n += 1) {
    const conversation = memory.conversation();
    await chat(conversation, { exchanges, bytes: 1_000 });
    const stream = `conversation-${conversation.id}`;
    await copyConversations(memory, { events: store }, { conversations: [conversation.id] });
    events += ((await store.head(stream))?.revision ?? -1) + 1;
  }
  return events;
}

/** Turns of the event loop from the end of an append until a subscriber has its event, and their time. */
async function latency(events: SqliteStore): Promise<BenchRow> {
  const store = new TurnlogStore(events);
  const conversation = store.conversation();
  await conversation.append("hello");
  const projector = createProjector(events, conversationList, { views: createMemoryViews() });
  const left = new AbortController();
  const run = projector.run(left.signal);
  let seen = 0;
  let seenAt = 0;
  projector.view$(`conversation-${conversation.id}`).subscribe(({ view }) => {
    seen = view.summary.events;
    seenAt = performance.now();
  });
  while (seen === 0 || (await projector.status()).state !== "live") await new Promise(setImmediate);
  const [turns, microseconds]: [number[], number[]] = [[], []];
  for (let n = 0; n < liveEvents; n += 1) {
    const wanted = seen + 1;
    await conversation.append(`message ${n}`);
    const appendedAt = performance.now();
    let waited = 0;
    for (; seen < wanted; waited += 1) await new Promise(setImmediate);
    turns.push(waited);
    microseconds.push(Math.max(0, seenAt - appendedAt) * 1_000);
  }
  left.abort();
  await run;
  return {
    name: "turns of the event loop until a live event is with a subscriber, at the most",
    ...{ value: Math.max(...turns), unit: "turns", bound: 1, kind: "at most" },
    note: `${summary(microseconds).value.toFixed(0)} µs after the append in the middle of ${liveEvents}`,
  };
}

if (import.meta.main) process.exitCode = report(await benchProjector()) ? 0 : 1;
