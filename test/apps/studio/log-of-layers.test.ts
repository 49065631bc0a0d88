import { expect, test } from "vitest";
import type { FindDocument, LogPage, TimeDocument } from "../../../src/apps/studio/page-documents.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

/** A run of a layer that edits, and of one that gives instructions and asks the outside. */
async function recorded() {
  const here = await studioHere("memory:");
  const shout = defineMiddleware(
    { name: "shout", version: "1.0.0" },
    (next) => (turn) => next(turn.map((block) => block.withText(block.text.toUpperCase()))),
  );
  const brief = defineMiddleware({ name: "brief", version: "1.0.0" }, (next) => async (turn, ctx) => {
    ctx.instructions("Be brief.");
    await ctx.effect("look", () => "seen");
    return next(turn);
  });
  const talk = here.store.conversation("talk");
  await talk.append("Hello.");
  await talk.run(createEngine({ provider: scripted(["Hi."]), middleware: [brief, shout] }));
  const { rows } = await here.get<LogPage>("/api/c/talk/log?from=0&n=100");
  return Object.assign(here, { rows });
}

test("a row of the log names the layer that made it, with its place in the stack", async () => {
  await using here = await recorded();
  const own = here.rows.filter(({ sign }) => sign === "layer");
  expect(own.map(({ type, layer, layerNumber, words }) => [type, layer, layerNumber, words])).toEqual([
    ["EffectStarted", "brief", 1, "brief"],
    ["EffectFinished", "brief", 1, "brief"],
    ["TurnEdited", "shout", 2, "shout"],
    ["SettingsDeclared", "brief", 1, "brief"],
  ]);
  expect(own.find(({ type }) => type === "EffectStarted")?.detail).toBe("look began");
});

test("the next edit of a layer is an edit, and the times of a run have no line without a name", async () => {
  await using here = await recorded();
  const edits = here.rows.filter(({ type, sign }) => type === "TurnEdited" && sign === "layer");
  const { revision } = await here.get<FindDocument>("/api/c/talk/find/0?what=edit&direction=1");
  expect(revision).toBe(edits[0]?.revision);
  const { spans } = await here.get<TimeDocument>("/api/c/talk/time/1");
  expect(spans.map(({ sign, name }) => `${sign} ${name.split(" ")[0]}`)).toEqual([
    ...edits.filter(({ value }) => value === "on").map(() => "layer shout"),
    "request scripted",
    ...edits.filter(({ value }) => value === "back").map(() => "layer shout"),
  ]);
});
