import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { externalTool } from "../../../src/engine/ports/tool.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { ann, refunds } from "../../support/run/approvals.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf } from "../../support/workshop.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;

/** What an approval says of a person, each where only it says so. */
const secrets = {
  reason: "Ms. Rosebud asked",
  schema: "the PIN 7302",
  input: "Kane Street 9",
  message: "ask Mr. Leland",
};

/** A conversation whose call was asked about, edited and run, before the model answered. */
async function decided() {
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  const { tool: refund } = refunds({
    inputSchema: z.object({ amount: z.number(), to: z.string().optional().describe(secrets.schema) }),
    needsApproval: secrets.reason,
    execute: ({ amount }: { readonly amount: number }) => `refunded ${amount}`,
  });
  const provider = scripted([calling(["refund", '{"amount":5}']), "It is done.", "You are welcome."]);
  const engine = createEngine({ provider, tools: [refund] });
  const conversation = store.conversation("talk");
  await conversation.append("Refund it.");
  const { waitingFor } = await conversation.run(engine);
  const asked = (await conversation.head())?.revision ?? 0;
  for (const { blockId } of waitingFor)
    await conversation.approve(blockId, {
      actor: ann,
      input: { amount: 4, to: secrets.input },
      message: secrets.message,
    });
  await conversation.run(engine);
  return { events, store, engine, asked };
}

test.each(Object.keys(secrets) as (keyof typeof secrets)[])(
  "an approval whose %s was erased goes on being folded, says so in its place, and keeps who decided how",
  async (which) => {
    const { events, store, engine, asked } = await decided();
    const before = await store.conversation("talk").turn();
    const plan = await store.planErasure({ texts: [secrets[which]] });
    await store.erase(plan, why);

    // Another process reads it from its first event.
    const talk = new TurnlogStore(events).conversation("talk");
    expect((await talk.turn()).blocks.map(({ id }) => id)).toEqual(before.blocks.map(({ id }) => id));
    const recorded = await eventsOf(talk);
    expect(JSON.stringify(recorded)).not.toContain(secrets[which]);
    const [request, decision] = ["ApprovalRequested", "ApprovalDecided"].map(
      (type) => recorded.find(({ event }) => event.type === type)?.event.data,
    );
    // The contents of one event are erased together. Who decided how about which call stays, and so does the other event.
    const ofRequest = which === "reason" || which === "schema";
    const reason = ofRequest ? "[erased]" : secrets.reason;
    expect(request).toMatchObject({ name: "refund", reason });
    expect(request !== undefined && "inputSchema" in request).toBe(!ofRequest);
    expect(decision).toMatchObject({
      ...{ how: "edit", input: ofRequest ? { to: secrets.input } : "[erased]" },
      message: ofRequest ? secrets.message : "[erased]",
    });
    expect(recorded.find(({ event }) => event.type === "ApprovalDecided")?.actor).toEqual(ann);

    // The time when it waited can be looked at, and the conversation continues.
    const { run } = await (await talk.at(asked)).load();
    expect(run?.waitingFor).toMatchObject([
      { kind: "approval", name: "refund", input: { amount: 5 }, reason, ...(ofRequest ? { inputSchema: null } : {}) },
    ]);
    await talk.append("Thank you.");
    expect((await talk.run(engine)).text).toBe("You are welcome.");
    const problems: string[] = [];
    for await (const { problem } of verifyStore(events, { codecs }))
      if (problem !== null) problems.push(problem.message);
    expect(problems).toEqual([]);
  },
);

test("an approval that waits keeps its contents: the erasure is refused until the run is given up", async () => {
  const { tool: refund } = refunds({ needsApproval: secrets.reason });
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation("talk");
  await conversation.append("Refund it.");
  const engine = createEngine({ provider: scripted([calling(["refund", '{"amount":5}']), "Well."]), tools: [refund] });
  await conversation.run(engine);
  const target = { texts: [secrets.reason] };
  const erase = async () => store.erase(await store.planErasure(target), why);
  await expect(erase()).rejects.toMatchObject({ code: "erasure-refused" });
  await conversation.abandon();
  await erase();
  expect(JSON.stringify(await eventsOf(conversation))).not.toContain(secrets.reason);
});

test("the reason of a call that waited for a result is erased from every place that shows it", async () => {
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  const locate = externalTool({
    ...{ name: "locate", description: "x", inputSchema: z.object({}) },
    reason: "the phone of Ms. Rosebud says it",
  });
  const engine = createEngine({ provider: scripted([calling(["locate", "{}"]), "Found."]), tools: [locate] });
  const conversation = store.conversation("talk");
  await conversation.append("Where is she?");
  const { waitingFor } = await conversation.run(engine);
  const asked = (await conversation.head())?.revision ?? 0;
  for (const { blockId } of waitingFor) await conversation.settle(blockId, { how: "result", output: "at home" });
  await conversation.run(engine);
  await store.erase(await store.planErasure({ texts: ["Ms. Rosebud"] }), why);

  const talk = new TurnlogStore(events).conversation("talk");
  expect(JSON.stringify(await eventsOf(talk))).not.toContain("Rosebud");
  const { run } = await (await talk.at(asked)).load();
  expect(run?.waitingFor).toMatchObject([{ kind: "external", name: "locate", reason: "[erased]" }]);
  expect((await talk.turn()).blocks.map(({ text }) => text)).toEqual(["Where is she?", "{}", "at home", "Found."]);
});
