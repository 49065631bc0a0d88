import { join } from "node:path";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { foldWhole } from "../src/log/aggregate/fold.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { jsonOfData } from "./json-parse.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, imported, inFolder } from "./sample.ts";

/**
 * Rebuilding a Turn from the embedded store (read, parse, validate, fold both sides; no verification), compared with JSON.parse
 * alone over the same payloads: for an imported conversation, with one event per block, and for a conversation that was run, with
 * five events for two blocks.
 */
export async function benchRebuild(): Promise<readonly BenchRow[]> {
  return [
    await benchOf("1,000 messages of 2 KB brought in", (conversation) => imported(conversation, 1_000, 2_000)),
    await benchOf("500 exchanges of 2 KB", (conversation) => chat(conversation, { exchanges: 500, bytes: 2_000 })),
  ];
}

const parses = 12;

async function benchOf(what: string, fill: (conversation: Conversation) => Promise<unknown>): Promise<BenchRow> {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await fill(conversation);
  const stream = `conversation-${conversation.id}`;
  return inFolder(async (folder) => {
    await using store = new TurnlogStore(await openSqliteStore(join(folder, "rebuild.db")));
    await copyConversations(memory, store, { conversations: [conversation.id] });
    const texts: string[] = [];
    for await (const envelope of store.events.readStream(stream)) texts.push(jsonOfData(envelope));
    const times = await takeTurns(40, {
      // Repeated, so that both take about as long.
      parse: () => {
        for (let time = 0; time < parses; time += 1) texts.map((text): unknown => JSON.parse(text));
      },
      rebuild: () => foldWhole(store.log, stream, texts.length - 1),
    });
    const parsed = times.parse.map((ms) => ms / parses);
    const us = (ms: readonly number[]): string => ((mean(ms) / texts.length) * 1_000).toFixed(1);
    return {
      name: `rebuild of ${what}, against JSON.parse`,
      ...ratioOf(parsed, times.rebuild),
      ...{ unit: "x", bound: 0.25, kind: "at least" },
      note: `${us(times.rebuild)} µs against ${us(parsed)} µs an event, ${texts.length} events`,
    };
  });
}

if (import.meta.main) process.exitCode = report(await benchRebuild()) ? 0 : 1;
