import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/stack/create-engine.ts";
import { foldWhole } from "../src/log/snapshots/fold.ts";
import { scripted } from "../src/providers/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, copyStream, inFolder } from "./sample.ts";

/** Five events each. */
const exchanges = 10_000;

/**
 * What it costs a process that has just begun to append to a conversation of 50,000 events, and to answer in it, against
 * folding it whole.
 */
export function benchOpening(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await using events = await openSqliteStore(join(folder, "opening.db"));
    const { stream, id } = await fill(events);
    const opened = () => new TurnlogStore(events).conversation(id);
    const { log } = new TurnlogStore(events);
    const engine = createEngine({ provider: scripted(() => "as ever", { transport: "json", prefix: "later" }) });
    // The first one folds everything, and takes the snapshots as it goes. The endpoint is the one that answered before.
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

async function fill(events: Awaited<ReturnType<typeof openSqliteStore>>) {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await chat(conversation, { exchanges, bytes: 500 });
  const stream = `conversation-${conversation.id}`;
  await copyStream(memory.events, events, stream);
  return { stream, id: conversation.id };
}

if (import.meta.main) process.exitCode = report(await benchOpening()) ? 0 : 1;
