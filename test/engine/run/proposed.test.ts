import { expect, test } from "vitest";
import * as z from "zod";
import { commit } from "../../../src/conversation/commit.ts";

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import type { AroundAppend } from "../../support/appends.ts";
import { beforeRequest, createScene, dieAt, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

/** A layer that changes every Turn on its way in, so that a run proposes edits all the time. */
const mark = defineMiddleware(
  { name: "mark", version: "1.0.0" },
  (next) => (turn) => next(turn.map((block) => (block.text.endsWith("!") ? block : block.withText(`${block.text}!`)))),
);

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({}),
  idempotent: true,
  execute: () => "found",
});

/** The conversation as a process sees it that has the log only. */
async function asLogged(events: EventStore) {
  await using store = new TurnlogStore({ ...events, close: async () => undefined });
  const conversation = store.conversation("cnv_workshop");
  return { turn: (await conversation.turn()).digest, run: (await conversation.at(-1)).run?.id ?? null };
}

test.each(["before it was written", "after it was written"])(
  "a run whose append fails %s continues from its log, in the same process",
  async (when) => {
    const events = createMemoryStore();
    let isDown = true;
    const around: AroundAppend = async (prepared, append) => {
      if (!isDown || !prepared.envelopes.some(({ type }) => type === "ToolFinished")) return append();
      if (when === "after it was written") await append();
      throw new StoreUnavailableError("down");
    };
    const { conversation, engine } = createWorkshop({ events, around });
    const provider = scripted([calling(["look-up", "{}"]), "done"]);
    const config = { provider, tools: [lookUp], middleware: [mark] };
    await conversation.append("hello");
    expect(await rejectionOf(conversation.run(engine(config)))).toMatchObject({ code: "store-unavailable" });
    isDown = false;
    const left = await asLogged(events);
    expect((await conversation.turn()).digest).toBe(left.turn);
    const result = await conversation.run(engine(config));
    expect(result).toMatchObject({ text: "done", resumed: true });
    expect(await asLogged(events)).toEqual({ turn: (await result.turn()).digest, run: null });
    expect(dataOf(await eventsOf(conversation), "ToolFinished")).toHaveLength(1);
  },
);

test("a run whose append failed is given up as its log has it, and not as it had proposed", async () => {
  const events = createMemoryStore();
  let isDown = true;
  const { conversation, engine } = createWorkshop({
    events,
    around: async (prepared, append) => {
      if (isDown && prepared.envelopes.some(({ type }) => type === "ToolFinished"))
        throw new StoreUnavailableError("down");
      return append();
    },
  });
  const provider = scripted([calling(["look-up", "{}"]), "done"]);
  await conversation.append("hello");
  const failed = rejectionOf(conversation.run(engine({ provider, tools: [lookUp], middleware: [mark] })));
  expect(await failed).toMatchObject({ code: "store-unavailable" });
  isDown = false;
  expect(await conversation.abandon()).not.toBeNull();
  expect(dataOf(await eventsOf(conversation), "ToolFinished").map(({ outcome }) => outcome)).toEqual(["in-doubt"]);
  expect(await asLogged(events)).toEqual({ turn: (await conversation.turn()).digest, run: null });
});

test("a run that is taken up has one set of Turns from then on: the conversation's are those that its layers hold", async () => {
  const held: Turn[] = [];
  const hold = layer("hold", async (turn, next) => {
    const result = await next(turn);
    held.push(result);
    return result;
  });
  const scene = createScene([calling(["look-up", "{}"]), "done"], { tools: [lookUp], middleware: [hold] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1));
  const { conversation, engine } = scene.process();
  const result = await conversation.run(engine);
  expect(result).toMatchObject({ text: "done", resumed: true });
  expect(await result.turn()).toBe(held.at(-1));
});

test("what others append to a conversation while it is answered is applied beside the run, and nothing is read again", async () => {
  const events = createMemoryStore();
  let read = 0;
  const counting: EventStore = {
    ...events,
    async *readStream(stream, options) {
      for await (const envelope of events.readStream(stream, options)) {
        read += 1;
        yield envelope;
      }
    },
  };
  const { conversation, engine } = createWorkshop({ events: counting });
  await using elsewhere = new TurnlogStore(events);
  const other = elsewhere.conversation("cnv_workshop");
  for (let n = 0; n < 50; n += 1) await conversation.append(`message ${n}`);
  const meanwhile = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.object({}),
    async execute() {
      read = 0;
      for (let n = 0; n < 10; n += 1) {
        await other.append(`meanwhile ${n}`);
        await other.relabel({ labels: { [`label-${n}`]: "" } });
        await conversation.append(`here ${n}`);
      }
      return "found";
    },
  });
  const provider = scripted([calling(["look-up", "{}"]), "done"]);
  const result = await conversation.run(engine({ provider, tools: [meanwhile], middleware: [mark] }));
  expect(result.text).toBe("done");
  // A fold that began again would read more than 50 events each time.
  expect(read).toBeLessThanOrEqual(40);
  const { blocks } = await result.turn();
  expect(blocks.filter(({ text }) => /^(meanwhile|here) \d$/.test(text))).toHaveLength(20);
  expect(await asLogged(events)).toEqual({ turn: (await result.turn()).digest, run: null });
});

test("an owner whose run another process took sees what the log has of it, and none of what it proposed", async () => {
  const events = createMemoryStore();
  const { conversation, engine } = createWorkshop({ events });
  await using elsewhere = new TurnlogStore(events);
  const other = elsewhere.conversation("cnv_workshop");
  const owner = { processId: "prc_other", bootId: "b", host: "h", pid: 1, startedAt: "t", pidNamespace: "n" };
  const taken = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.object({}),
    async execute() {
      const { run } = await other.at(-1);
      const data = { epoch: 1, owner, stack: [] };
      const resumed = { type: "RunResumed", version: 1, data } as const;
      await other[commit]([{ event: resumed, actor: { kind: "recovery" }, runId: run?.id ?? "", frame: "0" }]);
      return "found";
    },
  });
  await conversation.append("hello");
  const provider = scripted([calling(["look-up", "{}"]), "done"]);
  const failed = rejectionOf(conversation.run(engine({ provider, tools: [taken], middleware: [mark] })));
  expect(await failed).toMatchObject({ code: "run-taken-over" });
  expect(await conversation.abandon({ takeover: true })).not.toBeNull();
  expect(await asLogged(events)).toEqual({ turn: (await conversation.turn()).digest, run: null });
  // The result that the owner still had is not in the log.
  const finished = dataOf(await eventsOf(conversation), "ToolFinished");
  expect(finished.map(({ outcome }) => outcome)).toEqual(["in-doubt"]);
});
