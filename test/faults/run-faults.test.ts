import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import type { AppendResult, PreparedAppend } from "../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../src/log/ports/store-errors.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, eventsOf, freshStore, storeKinds, type Workshop } from "../support/workshop.ts";

type Moment = "before" | "after";
type Fault = {
  /** The append that fails, from 1. */
  readonly at: number;
  readonly moment: Moment;
  /** Once, so that a repeat goes through, or for good. */
  readonly lasts: "once" | "for good";
};

const add = tool({
  name: "add",
  description: "Adds.",
  inputSchema: z.object({ left: z.number(), right: z.number() }),
  execute: ({ left, right }) => left + right,
});

const shout = defineMiddleware(
  { name: "shout", version: "1.0.0" },
  (next) => (turn) =>
    next(turn.map((block) => (block.kind === "user" ? block.withText(block.text.toUpperCase()) : block))),
);

/** One conversation with tools, edits and two runs, of which one append fails. */
async function play(kind: (typeof storeKinds)[number], fault: Fault) {
  const faulty = createFault(fault);
  const events = await freshStore(kind);
  const workshop = createWorkshop({ events, around: faulty.around });
  const provider = scripted(({ requestNumber }) =>
    requestNumber === 0
      ? { calls: [2, 3].map((left) => ({ name: "add", arguments: { left, right: 2 } })) }
      : { text: `answer ${requestNumber}` },
  );
  const engine = workshop.engine({ provider, tools: [add], middleware: [shout] });
  const acknowledged: string[] = [];
  const errors: unknown[] = [];
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
      acknowledged.push(what);
    } catch (error) {
      errors.push(error);
    }
  };
  for (const text of ["one", "two"]) {
    await attempt(`append ${text}`, () => workshop.conversation.append(text, { key: text }));
    await attempt(`run ${text}`, () => workshop.conversation.run(engine));
  }
  return { ...workshop, events, engine, acknowledged, errors, hasFired: faulty.hasFired };
}

function createFault({ at, moment, lasts }: Fault) {
  let appends = 0;
  let failing: PreparedAppend | null = null;
  let hasFired = false;
  return {
    hasFired: () => hasFired,
    around: async (prepared: PreparedAppend, append: () => Promise<AppendResult>): Promise<AppendResult> => {
      const isRepeat = failing === prepared;
      if (!isRepeat) appends += 1;
      if (appends !== at || (isRepeat && lasts === "once")) return append();
      failing = prepared;
      hasFired = true;
      if (moment === "after") await append();
      throw new StoreUnavailableError("the store's own trouble");
    },
  };
}

/** Every reader sees every event once and in order: also a process that sees the store for the first time. */
async function checkLog({
  conversation,
  events,
}: Pick<Workshop, "conversation"> & { readonly events: Workshop["watched"] | TurnlogStore["events"] }): Promise<void> {
  const recorded = await eventsOf(conversation);
  expect(recorded.map(({ revision }) => revision)).toEqual(recorded.map((_, index) => index));
  expect(new Set(recorded.map(({ id }) => id)).size).toBe(recorded.length);
  const afresh = new TurnlogStore(events).conversation(conversation.id);
  expect((await afresh.turn()).digest).toBe((await conversation.turn()).digest);
}

const cases = storeKinds.flatMap((kind) =>
  (["before", "after"] as const).flatMap((moment) =>
    (["once", "for good"] as const).map((lasts) => [kind, moment, lasts] as const),
  ),
);

test.each(cases)(
  "on %s, an append that fails %s it took effect, %s, loses nothing and repeats nothing",
  async (kind, moment, lasts) => {
    let at = 1;
    for (; ; at += 1) {
      const played = await play(kind, { at, moment, lasts });
      if (!played.hasFired()) break;
      const label = `fault at append ${at}`;
      if (lasts === "once") expect(played.errors, label).toEqual([]);
      // A failed append of a message is told to its caller; of a run, to who runs it.
      for (const error of played.errors)
        expect(codeOf(error), label).toMatch(/^(store-unavailable|empty-conversation)$/);
      const turn = await (await goOn(played)).turn();
      await checkLog(played);
      const said = turn.blocks.filter(({ kind: each }) => each === "user").map(({ text }) => text.toLowerCase());
      expect(said.filter((text) => text !== "more").toSorted(), label).toEqual(["one", "two"]);
      checkPairs(turn.blocks, label);
    }
    expect(at).toBeGreaterThan(6);
  },
);

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);

/** The same messages are sent again, as a careful client does, and one more. */
async function goOn({ conversation, engine }: Pick<Awaited<ReturnType<typeof play>>, "conversation" | "engine">) {
  for (const text of ["one", "two"]) await conversation.append(text, { key: text });
  await conversation.append("more");
  let result = await conversation.run(engine);
  if (result.status === "parked") {
    // The run continued when the store came back, and it is unknown whether its tool had run.
    for (const { blockId } of result.waitingFor) await conversation.settle(blockId, { how: "abandon" });
    result = await conversation.run(engine);
  }
  expect(result.status).toBe("completed");
  return result;
}

/** Every call has one result, after it. */
function checkPairs(blocks: readonly { readonly kind: string; readonly callId: string | null }[], label: string): void {
  const calls = blocks.filter(({ kind }) => kind === "tool_call").map(({ callId }) => callId);
  const results = blocks.filter(({ kind }) => kind === "tool_result").map(({ callId }) => callId);
  expect(results.toSorted(), label).toEqual(calls.toSorted());
}
