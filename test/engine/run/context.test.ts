import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { messageOf } from "../../../src/base/error-message.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware, type Layer, type LayerContext } from "../../../src/engine/ports/middleware.ts";
import { type Tool, type ToolContext, tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf } from "../../support/workshop.ts";

type Session = { readonly user: string; readonly seen: string[] };

const whoAmI = tool({
  name: "who-am-i",
  description: "Tells the user's name.",
  inputSchema: z.object({}),
  idempotent: true,
  execute: (_, { context }: ToolContext<Session>) => context.user,
});
const greet = defineMiddleware({ name: "greet", version: "1.0.0" }, (next) => (turn, ctx: LayerContext<Session>) => {
  ctx.context.seen.push(ctx.context.user);
  ctx.instructions(`Talk to ${ctx.context.user}.`);
  return next(turn);
});

function createWorld() {
  const store = new TurnlogStore(createMemoryStore());
  const provider = scripted([calling(["who-am-i", "{}"]), "You are Ann.", "Still Ann."]);
  const engine = createEngine({ provider, tools: [whoAmI], middleware: [greet] });
  return { store, provider, engine, conversation: store.conversation("cnv_context") };
}

const session = (): Session => ({ user: "Ann", seen: [] });

test("layers and tools get what the caller gives the run, and the log has nothing of it", async () => {
  const { conversation, engine, provider } = createWorld();
  const context = session();
  await conversation.append("Who am I?");
  await conversation.run(engine, { context });
  expect(context.seen).toEqual(["Ann", "Ann"]);
  expect(provider.requests[1]?.["instructions"]).toBe("Talk to Ann.");
  const [started] = (await eventsOf(conversation)).filter(({ event }) => event.type === "RunStarted");
  expect(started?.event.data).toMatchObject({ options: { hasContext: true } });
  expect(JSON.stringify(started)).not.toContain("seen");
});

test("a run that was cut off wants its context again, and says so before anything is done", async () => {
  const { conversation, engine, provider } = createWorld();
  await conversation.append("Who am I?");
  for await (const stop of conversation.step(engine, { context: session() }))
    if (stop.kind === "inference" && provider.requests.length === 1 && stop.phase === "before") break;
  const before = await eventsOf(conversation);
  const { options } = engine;
  const untyped: Engine = { options, [Symbol.asyncDispose]: () => Promise.resolve() };
  for (const missing of [() => conversation.resume(untyped), () => conversation.run(untyped)]) {
    const error = await rejectionOf(missing());
    expect(error).toMatchObject({ code: "context-missing" });
    expect(messageOf(error)).toMatch(
      /^run run_\S+ began with a context, which is not in the log: to resume it, give the context/,
    );
  }
  expect(await eventsOf(conversation)).toEqual(before);
  expect(await conversation.resume(engine, { context: session() })).toMatchObject({ text: "You are Ann." });
});

test("replays take the context again, and say so where it is missing", async () => {
  const { conversation, engine } = createWorld();
  await conversation.append("Who am I?");
  await conversation.run(engine, { context: session() });
  expect((await reexecute(conversation, engine, { context: session() })).difference).toBeNull();
  expect((await reexecute(conversation, engine, { context: { user: "Bob", seen: [] } })).difference).toMatchObject({
    layer: "greet",
  });
  const again = await whatIf(conversation, engine, { context: session() });
  expect(again.steps.every(({ isSame }) => isSame)).toBe(true);
  const missing = { code: "context-missing" };
  expect(await rejectionOf(reexecute(conversation, engine))).toMatchObject(missing);
  expect(await rejectionOf(whatIf(conversation, engine))).toMatchObject(missing);
});

test("the engine's type asks its runs for the context that its layers and tools want", () => {
  const { conversation, engine } = createWorld();
  expectTypeOf(whoAmI).toEqualTypeOf<Tool<Record<string, never>, string, Session>>();
  expectTypeOf(greet).toEqualTypeOf<Layer<Session>>();
  expectTypeOf(engine).toEqualTypeOf<Engine<Session>>();
  const run = () => {
    // @ts-expect-error: a context is wanted.
    void conversation.run(engine);
    // @ts-expect-error: and it is a session.
    void conversation.run(engine, { context: { user: 3 } });
    // @ts-expect-error: also where a run is resumed.
    void conversation.resume(engine, {});
    void conversation.run(createEngine({ provider: scripted([]) }));
  };
  expectTypeOf(run).returns.toBeVoid();
  const mixed = createEngine({
    provider: scripted([]),
    middleware: [greet, defineMiddleware({ name: "idle", version: "1.0.0" }, (next) => next)],
  });
  expectTypeOf(mixed).toEqualTypeOf<Engine<Session>>();
});
