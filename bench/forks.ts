import { join } from "node:path";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, imported, inFolder } from "./sample.ts";

const depth = 20;
const exchanges = 40;

/** The cost of a fork: to create it, and to read a fork of forks, compared with a conversation of the same content without forks. */
export async function benchForks(): Promise<readonly BenchRow[]> {
  return [await benchForking(), ...(await benchReading())];
}

async function benchForking(): Promise<BenchRow> {
  const memory = createMemoryStore();
  let events = 0;
  const append: EventStore["append"] = (prepared) => {
    events += prepared.envelopes.length;
    return memory.append(prepared);
  };
  const conversation = new TurnlogStore({ ...memory, append }).conversation();
  await imported(conversation, 10_000, 200);
  events = 0;
  const fork = await conversation.fork();
  const { length } = await fork.turn();
  const note = `the fork has ${length} blocks`;
  return {
    name: "events written by forking 10,000 blocks",
    value: events,
    unit: "events",
    bound: 1,
    kind: "at most",
    note,
  };
}

function benchReading(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const memory = new TurnlogStore(createMemoryStore());
    const plain = memory.conversation();
    await chat(plain, { exchanges: depth * exchanges, bytes: 500 });
    let fork: Conversation = memory.conversation();
    const lineage = [fork];
    for (let n = 0; n < depth; n += 1) {
      await chat(fork, { exchanges, bytes: 500 });
      fork = await fork.fork();
      lineage.push(fork);
    }
    const store = await openSqliteStore(join(folder, "forks.db"));
    const conversations = [plain, ...lineage].map(({ id }) => id);
    await copyConversations(memory, { events: store }, { conversations });
    // A new store object has no cache.
    const opened = ({ id }: Conversation): Conversation => new TurnlogStore(store).conversation(id);
    const opening = await takeTurns(9, { fork: () => opened(fork).turn(), plain: () => opened(plain).turn() });
    const travel = await takeTurns(9, {
      fork: () => tenTimes(() => opened(fork).at(-1)),
      plain: () => tenTimes(() => opened(plain).at(-1)),
    });
    const { length } = await plain.turn();
    await store.close();
    const row = (what: string, { fork: forked, plain: own }: typeof opening): BenchRow => {
      const note = `${mean(forked).toFixed(0)} ms against ${mean(own).toFixed(0)} ms, ${length} blocks`;
      const name = `${what} a fork of depth ${depth}, against the same conversation unforked`;
      return { name, ...ratioOf(forked, own), unit: "x", bound: 2, kind: "at most", note };
    };
    return [row("opening", opening), row("ten times at(-1) of", travel)];
  });
}

async function tenTimes(work: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 10; n += 1) await work();
}

if (import.meta.main) process.exitCode = report(await benchForks()) ? 0 : 1;
