import { expect, test } from "vitest";
import { user } from "../../src/domain/make-block.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { conditional } from "../../src/middleware/conditional.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const adding = (text: string): Layer =>
  defineMiddleware({ name: `adds-${text}`, version: "1.0.0" }, (next) => (turn) => next(turn.append(user(text))));

test("calls that meet the condition go through the layer, and all others through the alternative", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = conditional({
    name: "by-length",
    version: "1.0.0",
    when: (turn) => turn.length > 2,
    layer: adding("long"),
    otherwise: adding("short"),
  });
  const { engine } = workshop.scripted(["one", "two"], { middleware: [layer] });
  for (const said of ["a", "b"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  const texts = (await conversation.turn()).blocks.map(({ text }) => text);
  expect(texts).toEqual(["a", "short", "one", "b", "long", "two"]);
});

test("without an alternative, a call that does not meet the condition changes nothing and records no edit", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = conditional({ name: "never", version: "1.0.0", when: () => false, layer: adding("note") });
  const { engine } = workshop.scripted(["one"], { middleware: [layer] });
  await conversation.append("a");
  await conversation.run(engine);
  expect(dataOf(await eventsOf(conversation), "TurnEdited")).toEqual([]);
});

test("what the chosen layer changes is recorded under the condition's name", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = conditional({ name: "always", version: "1.0.0", when: () => true, layer: adding("note") });
  const { engine } = workshop.scripted(["one"], { middleware: [layer] });
  await conversation.append("a");
  await conversation.run(engine);
  const edited = (await eventsOf(conversation)).filter(({ event }) => event.type === "TurnEdited");
  expect(edited.map(({ actor }) => actor)).toMatchObject([{ kind: "middleware", name: "always", version: "1.0.0" }]);
});

test("a condition on the caller's context, recorded as an effect, decides alike in a re-execution with another context", async () => {
  const { conversation } = createWorkshop();
  type Guest = { readonly isGuest: boolean };
  const layer = conditional<Guest>({
    name: "guests",
    version: "1.0.0",
    when: (_, ctx) => ctx.effect("is a guest", () => ctx.context.isGuest),
    layer: adding("a guest"),
  });
  const engine = createEngine<Guest>({ provider: scripted(["one"]), middleware: [layer] });
  await conversation.append("a");
  await conversation.run(engine, { context: { isGuest: true } });
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["a", "a guest", "one"]);
  const again = await reexecute(conversation, engine, { context: { isGuest: false } });
  expect(again).toMatchObject({ runs: 1, difference: null });
});
