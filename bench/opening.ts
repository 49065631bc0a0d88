import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as z from "zod";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { foldWhole } from "../src/log/aggregate/fold.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

/** Five events each. */
const exchanges = 10_000;

/**
 * The cost for a new process to append to a conversation of 50,000 events, and to answer in it, compared with a fold of all events;
 * and how its memory grows with events that left nothing in the Turn.
 */
export async function benchOpening(): Promise<readonly BenchRow[]> {
  return [...(await timeRows()), await memoryRow()];
}

function timeRows(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await using events = await openSqliteStore(join(folder, "opening.db"));
    const { stream, id } = await filled(events, (conversation) => chat(conversation, { exchanges, bytes: 500 }));
    const opened = () => new TurnlogStore(events).conversation(id);
    const { log } = new TurnlogStore(events);
    const engine = createEngine({ provider: scripted(() => "as ever", { transport: "json", prefix: "later" }) });
    // The first run folds everything and saves the snapshots on the way. The endpoint is the one that answered before.
    await opened().run(engine, { again: true });
    const folded = async (): Promise<unknown> => foldWhole(log, stream, (await events.head(stream))?.revision ?? 0);
    const times = await takeTurns(
      9,
      { append: () => opened().append("and then?"), run: () => opened().run(engine), whole: folded },
      2,
    );
    const count = ((await events.head(stream))?.revision ?? 0) + 1;
    return (["append", "run"] as const).map((name) => ({
      name: `a cold ${name === "run" ? "run without layers" : name} in ${count} events, against folding them all`,
      ...ratioOf(times[name], times.whole),
      ...{ unit: "x", bound: 1 / 15, kind: "at most" },
      note: `${mean(times[name]).toFixed(1)} ms; the whole takes ${mean(times.whole).toFixed(0)} ms`,
    }));
  });
}

/** Two conversations with the same Turn: the further events of the longer one were undone, failed, or renamed it. */
async function memoryRow(): Promise<BenchRow> {
  const [short, long] = [await heldBy(2_000), await heldBy(20_000)];
  const kilobytes = (bytes: number): string => `${(bytes / 2 ** 10).toFixed(0)} KB`;
  if (short.blocks !== long.blocks) throw new Error("the two conversations differ in their Turns");
  return {
    name: `memory of an open conversation of ${long.events} events against ${short.events}, for one Turn`,
    ...{ value: long.heldBytes / short.heldBytes, unit: "x", bound: 1.2, kind: "at most" },
    note: `${kilobytes(long.heldBytes)} against ${kilobytes(short.heldBytes)}, ${long.blocks} blocks`,
  };
}

const heldSchema = z.strictObject({ heldBytes: z.number(), blocks: z.number() });

/** Opens it in a fresh process. */
function heldBy(count: number): Promise<z.infer<typeof heldSchema> & { readonly events: number }> {
  return inFolder(async (folder) => {
    const path = join(folder, "opening.db");
    const events = await openSqliteStore(path);
    const { stream, id } = await filled(events, (conversation) => withoutTrace(conversation, count));
    // Read once, to save its snapshots.
    await new TurnlogStore(events).conversation(id).turn();
    const head = await events.head(stream);
    await events.close();
    const child = join(import.meta.dirname, "opening-process.ts");
    const answer = execFileSync(process.execPath, ["--expose-gc", child, path, id], { encoding: "utf8" });
    return { ...heldSchema.parse(JSON.parse(answer)), events: (head?.revision ?? -1) + 1 };
  });
}

/** A chat of 1,000 events, and then up to this many: renames, undone messages, failed runs. */
async function withoutTrace(conversation: Conversation, count: number): Promise<void> {
  await chat(conversation, { exchanges: 200, bytes: 500 });
  const failing = createEngine({
    provider: scripted(() => ({ error: { message: "not today" } }), { transport: "json" }),
  });
  const last = async (): Promise<number> => (await conversation.at(-1)).revision;
  const kept = await last();
  for (let n = 0; (await last()) < count - 8; n += 1) {
    await conversation.relabel({ title: `title ${n}`, labels: { state: `${n}` } });
    await conversation.append(`said in vain ${n}`);
    await conversation.run(failing).catch(() => undefined);
    await conversation.revertTo(kept);
  }
}

async function filled(events: EventStore, fill: (conversation: Conversation) => Promise<unknown>) {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await fill(conversation);
  const stream = `conversation-${conversation.id}`;
  await copyConversations(memory, { events }, { conversations: [conversation.id] });
  return { stream, id: conversation.id };
}

if (import.meta.main) process.exitCode = report(await benchOpening()) ? 0 : 1;
