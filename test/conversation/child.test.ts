import { expect, test } from "vitest";
import { z } from "zod";
import { type ToolContext, tool } from "../../src/engine/ports/tool.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const agent = (ask: (topic: string, ctx: ToolContext) => Promise<string>) =>
  tool({
    name: "research",
    description: "Asks a subagent.",
    inputSchema: z.object({ topic: z.string() }),
    execute: ({ topic }, ctx) => ask(topic, ctx),
  });

const call = { name: "research", arguments: JSON.stringify({ topic: "Paris" }) };

test("a subagent has a conversation of its own, linked to the call that opened it", async () => {
  const workshop = createWorkshop();
  const { store, conversation } = workshop;
  const inner = workshop.scripted(["Paris is a city."]);
  const opened: string[] = [];
  const research = agent(async (topic, ctx) => {
    const child = await store.conversation(ctx.conversationId).child("researcher", ctx);
    opened.push(child.id);
    await child.append(`Tell me about ${topic}.`);
    return (await child.run(inner.engine)).text;
  });
  const outer = workshop.scripted([{ calls: [call] }, "done"], { tools: [research] });
  await conversation.append("go");
  const { turn: readTurn, runId } = await conversation.run(outer.engine);
  const turn = await readTurn();

  // Of what it said, the parent has what the tool answered, and nothing else.
  expect(turn.blocks.map(({ text }) => text)).toEqual(["go", call.arguments, "Paris is a city.", "done"]);
  expect(JSON.stringify(outer.provider.requests)).not.toContain("Tell me about");
  const child = store.conversation(opened[0]);
  expect((await child.turn()).blocks.map(({ text }) => text)).toEqual(["Tell me about Paris.", "Paris is a city."]);
  expect(JSON.stringify(inner.provider.requests)).not.toContain('"go"');
  const [started] = dataOf(await eventsOf(child), "ConversationStarted");
  const origin = { type: "child", conversationId: conversation.id, runId, blockId: turn.at(1)?.id };
  expect(started).toEqual({ origin, title: "researcher" });
});

test("the same call finds its subagent again, another call or name has another", async () => {
  const workshop = createWorkshop();
  const { store, conversation } = workshop;
  const ids: string[] = [];
  const research = agent(async (_, ctx) => {
    const parent = store.conversation(ctx.conversationId);
    for (const name of ["one", "one", "two"]) ids.push((await parent.child(name, ctx)).id);
    return "asked";
  });
  await conversation.append("go");
  await conversation.run(workshop.scripted([{ calls: [call, call] }, "done"], { tools: [research] }).engine);
  expect(ids).toHaveLength(6);
  expect(new Set(ids).size).toBe(4);
  expect(await eventsOf(store.conversation(ids[0]))).toHaveLength(1);
});
