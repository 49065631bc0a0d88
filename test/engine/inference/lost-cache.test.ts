import { expect, test } from "vitest";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop } from "../../support/workshop.ts";

const shout = defineMiddleware(
  { name: "shout", version: "1.0.0" },
  (next) => (turn) => next(turn.map((block) => (block.text === "one" ? block.withText("ONE") : block))),
);

/** The parts of a run whose layer changes the first of three messages, the second of which is long; and the warnings. */
async function partsOf(config: Partial<EngineConfig>, { idleMs = 60_000, model = "m-1" } = {}) {
  const { conversation, clock, engine } = createWorkshop();
  const answers = scripted(() => "yes");
  const provider = { ...answers, settings: { model: "m-1" } };
  await conversation.append(["one", "word ".repeat(20_000)]);
  await conversation.run(engine({ provider }));
  clock.now += idleMs;
  await conversation.append("three");
  const warnings: string[] = [];
  const note = ({ message }: Error): unknown => warnings.push(message);
  process.on("warning", note);
  const parts: RunPart[] = [];
  for await (const part of conversation.stream(engine({ provider: { ...provider, settings: { model } }, ...config })))
    parts.push(part);
  await new Promise(setImmediate);
  process.off("warning", note);
  const types = parts.map(({ type }) => type);
  return { types, lost: parts.filter((part) => part.type === "cache-lost"), warnings };
}

test("a request that loses much of its prompt cache is reported before it is sent, with the layer that did it", async () => {
  const { types, lost, warnings } = await partsOf({ middleware: [shout] });
  expect(lost).toMatchObject([{ frame: "0.0", actor: { kind: "middleware", name: "shout" }, settings: [] }]);
  expect(lost[0]?.tokens).toBeGreaterThan(24_000);
  expect(types.indexOf("cache-lost")).toBeLessThan(types.indexOf("request-start"));
  expect(warnings).toEqual([
    expect.stringMatching(
      /^the layer 'shout' changed what was sent before, so a request pays for about 2\d{4} tokens again/,
    ),
  ]);
});

test.each<[string, Partial<EngineConfig>, object?]>([
  ["a request that only adds to the one before", {}],
  ["a loss below the limit", { middleware: [shout], cacheLost: { tokens: 50_000 } }],
  ["a loss that nobody wants to hear of", { middleware: [shout], cacheLost: null }],
  ["a prompt that no cache holds any more", { middleware: [shout] }, { idleMs: 3 * 24 * 3_600_000 }],
])("%s is not reported", async (_, config, options) => {
  expect(await partsOf(config, options)).toMatchObject({ lost: [], warnings: [] });
});

test("changed settings are reported without a warning", async () => {
  const { lost, warnings } = await partsOf({}, { model: "m-2" });
  expect(lost).toMatchObject([{ actor: null, settings: ["model"] }]);
  expect(warnings).toEqual([]);
});

test.each<[unknown, RegExp]>([
  [{ token: 1 }, /cacheLost has no option 'token': did you mean 'tokens'\?/],
  [{ tokens: -1 }, /^createEngine: cacheLost\.tokens/],
  [{}, /^createEngine: cacheLost\.tokens/],
])("createEngine refuses cacheLost %j", (cacheLost, message) => {
  const config = { provider: scripted([]), cacheLost } as EngineConfig;
  expect(() => createWorkshop().engine(config)).toThrow(message);
});
