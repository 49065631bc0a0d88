import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import * as z from "zod";
import { holdAt } from "../faults/crash-world.ts";
import { ApprovalActor, placeSchema } from "./approval-actor.ts";

/**
 * A process that answers and decides in conversations beside the test, and is killed: `node approval-process.ts`, and its orders in a line. It
 * says `open`, and begins at the next line. A run that is to die is held at its stop; once all else is done, the process kills itself, as if
 * each of them had been killed alone.
 */
export const ordersSchema = z.object({
  place: placeSchema,
  seed: z.int(),
  jobs: z.array(z.object({ id: z.string(), actions: z.array(z.enum(["run", "decide", "die"])), stop: z.int() })),
});
export type Orders = z.infer<typeof ordersSchema>;

const say = (...words: readonly string[]): void => void writeSync(1, `${words.join(" ")}\n`);

async function play(actor: ApprovalActor, { id, actions, stop }: Orders["jobs"][number]): Promise<void> {
  for (const action of actions) {
    if (action === "decide") await actor.decide(id);
    if (action === "run") say(id, action, await actor.run(id));
    if (action !== "die") continue;
    const held = Promise.withResolvers<string>();
    const holding = holdAt(stop, { onHeld: async () => held.resolve("held") });
    say(id, action, await Promise.race([actor.run(id, holding), held.promise]));
  }
}

if (import.meta.main) {
  const told = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const { place, seed, jobs } = ordersSchema.parse(JSON.parse(String((await told.next()).value)));
  const actor = await ApprovalActor.open({ place, name: "other", seed });
  say("open");
  await told.next();
  await Promise.all(jobs.map((job) => play(actor, job)));
  // A process that is killed keeps nothing of what it compiled for the next one, unless it does so before.
  flushCompileCache();
  process.kill(process.pid, "SIGKILL");
}
