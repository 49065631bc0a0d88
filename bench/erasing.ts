import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { type BenchRow, report } from "./row.ts";
import { imported, textOf } from "./sample.ts";

const events = 20_000;
const conversations = 1_000;
const why = { by: "dpo", ground: "gdpr-17" } as const;

/**
 * The processor time of erasures. In SQLite, with the search of the files: one block of a long conversation, compared with reading that conversation
 * from its first event. In memory: a person, who has a label in a tenth of 1,000 conversations and wrote in another tenth.
 */
export async function benchErasing(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-bench-"));
  try {
    return [await benchBlock(join(folder, "block.db")), await benchSubject()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchBlock(path: string): Promise<BenchRow> {
  await using store = new TurnlogStore(await openSqliteStore(path));
  const conversation = store.conversation();
  // The other texts say the same sentences again and again. What is erased says something else, as people do.
  await imported(conversation, events / 2, 1_000);
  const { blocks } = await conversation.append(
    ["555-0199", "555-0123", "555-0145"].map((number) => `My number is ${number}.`),
  );
  await imported(conversation, events / 2, 1_000);
  const ratios: number[] = [];
  let note = "";
  for (const { id } of blocks) {
    const block = id ?? "";
    const planned = await msOf(() => store.planErasure({ blocks: [{ conversation: conversation.id, block }] }));
    const erased = await msOf(() => store.erase(planned.result, why));
    await store.events.snapshots?.deleteAll();
    const read = await msOf(() => new TurnlogStore(store.events).conversation(conversation.id).turn());
    ratios.push((planned.ms + erased.ms) / read.ms);
    note = `${planned.ms.toFixed(0)} ms to plan, ${erased.ms.toFixed(0)} ms to erase, ${read.ms.toFixed(0)} ms to read`;
  }
  const value = ratios.toSorted((left, right) => left - right)[1] ?? Number.NaN;
  const name = `erasing one block of ${events} events, against reading them`;
  return { name, value, unit: "x", note };
}

async function benchSubject(): Promise<BenchRow> {
  await using store = new TurnlogStore(createMemoryStore());
  for (let n = 0; n < conversations; n += 1) {
    const conversation = store.conversation();
    const name = n % 10 === 1 ? "ada" : "bob";
    await conversation.append([textOf(1_000, n), textOf(1_000, n + 1)], { actor: { kind: "user", name } });
    if (n % 10 === 0) await conversation.relabel({ labels: { subject: "ada" } });
  }
  await store.list();
  const planned = await msOf(() => store.planErasure({ subject: "ada" }));
  const erased = await msOf(() => store.erase(planned.result, why));
  const { conversations: whole, lines } = planned.result;
  const note = `${planned.ms.toFixed(0)} ms to plan, ${erased.ms.toFixed(0)} ms to erase ${whole.length} conversations and lines of ${lines.length}`;
  return {
    ...{ name: `erasing a person from ${conversations} conversations`, value: (planned.ms + erased.ms) / 1_000 },
    ...{ unit: "s", note },
  };
}

/** Milliseconds of processor time. */
async function msOf<Result>(work: () => Promise<Result>): Promise<{ readonly ms: number; readonly result: Result }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1_000, result };
}

if (import.meta.main) process.exitCode = report(await benchErasing()) ? 0 : 1;
