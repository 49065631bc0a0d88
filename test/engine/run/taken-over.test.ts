import { expect, test } from "vitest";
import * as z from "zod";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { endless, untilAborted } from "../../support/gates.ts";
import { elsewhere, inRun } from "../../support/run/run-elsewhere.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** Two processes on one store, which nothing but the log connects. */
function scene(): readonly [Conversation, Conversation] {
  const events = createMemoryStore();
  const [one, two] = [new TurnlogStore(events), new TurnlogStore(events)].map((store) => store.conversation("cnv_1"));
  if (one === undefined || two === undefined) throw new Error("two conversations were opened");
  return [one, two];
}

/** Takes the run that is open, as another process does that goes on with it. */
async function takeOver(conversation: Conversation): Promise<void> {
  await conversation.turn();
  const { run } = (await (await conversation.at(-1)).load()).view.client;
  if (run === null) throw new Error("no run is open");
  const data = { epoch: run.epoch + 1, owner: elsewhere, stack: [] };
  await conversation[commit]([inRun({ type: "RunResumed", version: 1, data }, run.id)]);
}

test("a tool in flight ends when another process takes the run, and nothing more is written for it", async () => {
  const [one, two] = scene();
  const begun = Promise.withResolvers<undefined>();
  const ends: unknown[] = [];
  const waits = tool({
    ...{ name: "waits", description: "Waits for ever.", inputSchema: z.object({}) },
    execute: (_, { signal }) => {
      begun.resolve(undefined);
      return untilAborted(signal).catch((reason: unknown) => {
        ends.push(reason);
        throw reason;
      });
    },
  });
  const provider = scripted([{ calls: [{ name: "waits", arguments: {} }] }]);
  await one.append("hello");
  const running = rejectionOf(one.run(createEngine({ provider, tools: [waits] })));
  await begun.promise;
  await takeOver(two);
  expect(await running).toMatchObject({ code: "run-taken-over" });
  expect(ends).toMatchObject([{ code: "run-taken-over" }]);
  expect(typesOf(await eventsOf(two)).slice(-2)).toEqual(["ToolStarted", "RunResumed"]);
});

/** A run whose model never ends its answer, once it has begun with it. */
async function answering(conversation: Conversation): Promise<{ readonly ended: Promise<unknown> }> {
  const begun = Promise.withResolvers<undefined>();
  const next = ({ type }: { readonly type: string }) => type === "text-delta" && begun.resolve(undefined);
  const engine = createEngine({ provider: endless(), observers: [{ next }] });
  const ended = rejectionOf(conversation.run(engine, { takeover: true }));
  await begun.promise;
  return { ended };
}

test("a request in flight ends when another process takes the run, and the run may come back and be cancelled", async () => {
  const [one, two] = scene();
  await one.append("hello");
  for (const _ of ["begun here", "resumed here"]) {
    const { ended } = await answering(one);
    await takeOver(two);
    expect(await ended).toMatchObject({ code: "run-taken-over" });
    expect(typesOf(await eventsOf(two)).at(-1)).toBe("RunResumed");
  }
  // That this process itself has resumed the run is no reason to leave it.
  const { ended } = await answering(one);
  expect(await two.cancel()).toMatchObject({ status: "cancelled" });
  expect(await ended).toMatchObject({ code: "run-cancelled" });
});
