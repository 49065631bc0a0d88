import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as z from "zod";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { defineMiddleware } from "../src/engine/ports/middleware.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, imported, inFolder } from "./sample.ts";

const grownSchema = z.strictObject({ payloadBytes: z.number(), heldBytes: z.number(), peakBytes: z.number() });

/**
 * How much a process grows when it rebuilds a Turn of 1,000 blocks of 2 KB: the memory that it holds afterwards, compared with the
 * payload, and the peak meanwhile, garbage included; from a log of just these blocks, and from one of 20,000 events whose Turn a
 * layer kept short.
 */
export async function benchMemory(): Promise<readonly BenchRow[]> {
  const short = await grownBy((conversation) => imported(conversation, 1_000, 2_000));
  const long = await grownBy(async (conversation) => {
    await chat(conversation, { exchanges: 4_000, bytes: 2_000, middleware: [forgetful] });
    await imported(conversation, 1_000 - (await conversation.turn()).length, 2_000);
  });
  const megabytes = (bytes: number): number => bytes / 2 ** 20;
  const held = (bytes: number): string => `${megabytes(bytes).toFixed(1)} MB held`;
  return [
    {
      name: "memory that a rebuilt Turn holds, against the payload of its blocks",
      ...{ value: short.heldBytes / short.payloadBytes, unit: "x", bound: 3, kind: "at most" },
      note: `${held(short.heldBytes)}, 1,001 events`,
    },
    {
      name: "memory at its most while a Turn of 1,000 blocks is rebuilt from 1,001 events",
      ...{ value: megabytes(short.peakBytes), unit: "MB", bound: 100, kind: "at most", note: held(short.heldBytes) },
    },
    {
      name: "memory at its most while a Turn of 1,000 blocks is rebuilt from 20,000 events",
      ...{ value: megabytes(long.peakBytes), unit: "MB", bound: 100, kind: "at most", note: held(long.heldBytes) },
    },
  ];
}

/** Keeps a Turn below 1,000 blocks, like compaction, by dropping all but the newest from time to time. */
const forgetful = defineMiddleware(
  { name: "forgetful", version: "1.0.0" },
  (next) => (turn) => next(turn.length < 998 ? turn : turn.remove(...turn.blocks.slice(0, -1))),
);

/** Rebuilds in a fresh process. */
function grownBy(fill: (conversation: Conversation) => Promise<unknown>): Promise<z.infer<typeof grownSchema>> {
  return inFolder(async (folder) => {
    const path = join(folder, "memory.db");
    const memory = new TurnlogStore(createMemoryStore());
    const conversation = memory.conversation();
    await fill(conversation);
    const store = await openSqliteStore(path);
    await copyConversations(memory, { events: store }, { conversations: [conversation.id] });
    await store.close();
    const child = join(import.meta.dirname, "memory-process.ts");
    const answer = execFileSync(process.execPath, ["--expose-gc", child, path, conversation.id], { encoding: "utf8" });
    return grownSchema.parse(JSON.parse(answer));
  });
}

if (import.meta.main) process.exitCode = report(await benchMemory()) ? 0 : 1;
