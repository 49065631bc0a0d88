import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as z from "zod";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import type { Engine } from "../src/engine/options/engine.ts";
import { defineMiddleware } from "../src/engine/ports/middleware.ts";
import { tool } from "../src/engine/ports/tool.ts";
import { interceptedBy } from "../src/engine/run/run-options.ts";
import type { Interceptor } from "../src/engine/session/breakpoint.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { logging } from "../src/middleware/logging.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { inFolder, textOf } from "./sample.ts";

/**
 * The cost of resuming a run that was interrupted in its thousandth step, up to where it continues: reading, folding, and executing
 * it again against its log. Compared with reading and parsing its events alone; and how it grows with the steps.
 */
export async function benchResume(): Promise<readonly BenchRow[]> {
  const [short, long] = [await benchOf(250), await benchOf(1_000)];
  const growth = long.usPerStep / short.usPerStep;
  const grown = { value: growth, unit: "x", bound: 1.5, kind: "at most" } as const;
  return [long.row, { name: "a step taken up of 1,000, against one of 250", ...grown }, await benchMemory()];
}

/** The name of the conversation whose run is resumed. */
export const id = "cnv_resumed";

/** The memory of a resumed run, for two logs of one Turn: in the longer one every request was rejected three times. */
async function benchMemory(): Promise<BenchRow> {
  const [plain, refused] = [await heldBy(0), await heldBy(3)];
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  return {
    name: `memory of a run of 1,000 steps taken up, of ${refused.events} events against ${plain.events}`,
    ...{ value: refused.heldBytes / plain.heldBytes, unit: "x", bound: 1.5, kind: "at most" },
    note: `${megabytes(refused.heldBytes)} against ${megabytes(plain.heldBytes)}, for one Turn`,
  };
}

const heldSchema = z.strictObject({ heldBytes: z.number(), events: z.number() });

/** Resumes the run in a fresh process. */
async function heldBy(refusals: number): Promise<z.infer<typeof heldSchema>> {
  const memory = createMemoryStore();
  await cutOff(memory, 1_000, refusals);
  return inFolder(async (folder) => {
    const path = join(folder, "resume.db");
    const events = await openSqliteStore(path);
    await copyConversations({ events: memory }, { events });
    await events.close();
    const child = join(import.meta.dirname, "resume-process.ts");
    const answer = execFileSync(process.execPath, ["--expose-gc", child, path, `${refusals}`], { encoding: "utf8" });
    return heldSchema.parse(JSON.parse(answer));
  });
}

async function benchOf(steps: number): Promise<{ readonly row: BenchRow; readonly usPerStep: number }> {
  const memory = createMemoryStore();
  await cutOff(memory, steps);
  return inFolder(async (folder) => {
    await using events = await openSqliteStore(join(folder, "resume.db"));
    await copyConversations({ events: memory }, { events });
    const opened = () => new TurnlogStore(events).conversation(id);
    let read = 0;
    const times = await takeTurns(steps > 500 ? 8 : 16, {
      parse: async () => {
        read = 0;
        for await (const { revision } of opened().events()) read = revision + 1;
      },
      resume: () => untilAppend(opened().resume(engineOf(steps), interceptedBy(dying, {}))),
    });
    const us = (mean(times.resume) / steps) * 1_000;
    const note = `${mean(times.resume).toFixed(0)} ms against ${mean(times.parse).toFixed(0)} ms, ${read} events`;
    const name = `a run of ${steps} steps taken up, against reading and parsing its events`;
    const ratio = ratioOf(times.resume, times.parse);
    return { row: { name, ...ratio, unit: "x", bound: 5, kind: "at most", note }, usPerStep: us };
  });
}

class Died extends Error {}

/** Ends the process before anything is written. */
export const dying = (): Promise<never> => Promise.reject(new Died());

/** Resolves when the resumed run has met its whole log, which is when it wants to write. */
export async function untilAppend(resumed: Promise<unknown>): Promise<void> {
  const error: unknown = await resumed.catch((reason: unknown) => reason);
  if (!(error instanceof Died)) throw new Error("the run did not come to where it goes on", { cause: error });
}

/** Begins a run with one call per step, each with a result of 1 KB, and dies before the request of the last step. */
async function cutOff(events: EventStore, steps: number, refusals = 0): Promise<void> {
  const conversation = new TurnlogStore(events).conversation(id);
  await conversation.append("Look it all up.");
  let asked = 0;
  const gate: Interceptor = ({ kind, phase }) => {
    if (kind === "inference" && phase === "before") asked += 1;
    return asked > steps * (refusals + 1) ? dying() : Promise.resolve(null);
  };
  await untilAppend(conversation.run(engineOf(steps, refusals), interceptedBy(gate, {})));
}

/** A model that calls a tool in every step, after this many rejections of each request. */
export const engineOf = (steps: number, refusals = 0): Engine =>
  createEngine({
    provider: scripted(
      ({ requestNumber }) => {
        const n = Math.floor(requestNumber / (refusals + 1));
        const isRefused = requestNumber % (refusals + 1) < refusals;
        if (isRefused) return { error: { message: "not yet" } };
        return { calls: [{ name: "look-up", arguments: { n }, callId: `call_${n}` }] };
      },
      { transport: "json" },
    ),
    tools: [
      tool({
        name: "look-up",
        description: "Looks something up.",
        inputSchema: z.object({ n: z.number() }),
        execute: ({ n }) => textOf(1_000, n),
      }),
    ],
    middleware: [...(refusals > 0 ? [stubborn] : []), logging({ write: () => undefined })],
    maxSteps: steps + 1,
  });

const stubborn = defineMiddleware({ name: "stubborn", version: "1.0.0" }, (next) => async (turn) => {
  for (let refusals = 0; refusals < 3; refusals += 1) {
    const answer = await next(turn).catch(() => null);
    if (answer !== null) return answer;
  }
  return next(turn);
});

if (import.meta.main) process.exitCode = report(await benchResume()) ? 0 : 1;
