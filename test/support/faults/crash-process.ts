import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import * as z from "zod";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { comeLater, holdAt, openWorld, placeSchema } from "./crash-world.ts";
import { playerOf } from "./warm-runs.ts";

/**
 * A process that plays runs, each up to a stop, and is killed: `node crash-process.ts`, and its orders in a line. A run is
 * held at its stop, whatever goes on in it beside; the last one kills the process, in the very call that holds it. It says
 * in lines how far each came.
 */
export const ordersSchema = z.object({
  jobs: z.array(
    z.object({
      place: placeSchema,
      id: z.string(),
      what: z.enum(["run", "resume"]),
      /** Held before this one, from 0; null plays it to its end. */
      stop: z.int().nullable(),
      /** Whether a message comes at the stop. */
      hasMessage: z.boolean(),
    }),
  ),
  /** Whether it says a line at every stop that it passes. */
  isTalking: z.boolean(),
});
export type Orders = z.infer<typeof ordersSchema>;

/** How a job ended, or that it passed a stop. */
export const reportSchema = z.object({ id: z.string(), outcome: z.string(), appends: z.int() });

type Job = Orders["jobs"][number];
type Stores = { readonly store: TurnlogStore; readonly other: TurnlogStore };

async function play({ store, other }: Stores, isTalking: boolean, job: Job): Promise<void> {
  const { place, id, what, stop, hasMessage } = job;
  const held = Promise.withResolvers<string>();
  const holding = holdAt(stop ?? Number.POSITIVE_INFINITY, {
    onStop: () => {
      if (isTalking) say({ id, outcome: "stop", appends: holding.passed.appends });
    },
    onHeld: async () => {
      // Somebody else says it, so that the run has to find it.
      if (hasMessage) await comeLater(other.conversation(id));
      end({ id, outcome: "held", appends: holding.passed.appends });
      held.resolve("held");
    },
  });
  const player = playerOf(place, store, id, holding);
  const begin = async (): Promise<{ readonly status: string } | null> => {
    if (what === "resume") return player.resume();
    if (place.isWarm) await player.warmUp();
    return player.run();
  };
  const playing = begin();
  const ended = playing.then(
    (result) => result?.status ?? "none",
    (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
  );
  const outcome = await Promise.race([ended, held.promise]);
  if (outcome !== "held") end({ id, outcome, appends: holding.passed.appends });
}

let left = 0;

/** Says how a job ended. The last one ends the process: runs that are held end with it, as if each had been killed alone. */
function end(report: z.infer<typeof reportSchema>): void {
  say(report);
  left -= 1;
  if (left > 0) return;
  // A process that is killed keeps nothing of what it compiled for the next one, unless it does so before.
  flushCompileCache();
  process.kill(process.pid, "SIGKILL");
}

function say(report: z.infer<typeof reportSchema>): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

if (import.meta.main) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { jobs, isTalking } = ordersSchema.parse(JSON.parse(line));
    const stores = new Map<string, Stores>();
    for (const { place } of jobs) {
      if (stores.has(place.url)) continue;
      stores.set(place.url, { store: await openWorld(place), other: await openWorld(place) });
    }
    left = jobs.length;
    await Promise.all(
      jobs.map(async (job) => {
        const opened = stores.get(job.place.url);
        if (opened !== undefined) await play(opened, isTalking, job);
      }),
    );
  }
}
