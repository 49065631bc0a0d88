import { expect, test } from "vitest";
import * as z from "zod";
import { user } from "../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import type { Provider } from "../../src/engine/ports/provider.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { rebuildRequest } from "../../src/engine/recorded/recorded-request.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { saveCounterfactual, whatIf } from "../../src/replay/counterfactual.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

let outside = 0;

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({}),
  execute() {
    outside += 1;
    return "found";
  },
});

/** Breaks every chain: it says something at the beginning, and takes it back. */
const noisy = defineMiddleware({ name: "noisy", version: "1.0.0" }, (next) => async (turn, ctx) => {
  const note = user(`Note ${ctx.random()}.`);
  const result = await next(turn.insert(0, note));
  const [first] = result.blocks;
  return first === undefined ? result : result.remove(first);
});

const fetching = defineMiddleware({ name: "fetching", version: "1.0.0" }, (next) => async (turn, ctx) => {
  const found = await ctx.effect("fetch", () => {
    outside += 1;
    return "fetched";
  });
  return next(turn.append(user(`It was ${JSON.stringify(found)}.`)));
});

const twice = defineMiddleware({ name: "twice", version: "1.0.0" }, (next) => async (turn) => {
  const result = await next(turn);
  return next(result.append(user("Sure?")));
});

const answers = [{ calls: [{ name: "look-up", arguments: "{}" }] }, "It is found.", "Still there."];

/** A provider whose members stand on its class. */
class OfAClass implements Provider {
  readonly #inner: Provider;

  constructor(inner: Provider) {
    this.#inner = inner;
  }

  get name(): string {
    return this.#inner.name;
  }
  get scope(): string {
    return this.#inner.scope;
  }
  get codec(): Provider["codec"] {
    return this.#inner.codec;
  }
  get capabilities(): Provider["capabilities"] {
    return this.#inner.capabilities;
  }
  get transport(): Provider["transport"] {
    return this.#inner.transport;
  }
  get settings(): Provider["settings"] {
    return this.#inner.settings;
  }
  infer(...request: Parameters<Provider["infer"]>): ReturnType<Provider["infer"]> {
    return this.#inner.infer(...request);
  }
}

/** A conversation of two runs with these layers, and what other stacks would have made of it. */
async function played(middleware: readonly Layer[], made: (provider: Provider) => Provider = (same) => same) {
  const { conversation, store, engine } = createWorkshop();
  const provider = scripted(answers);
  const endpoint = made(provider);
  const stack = (layers: readonly Layer[]): EngineConfig => ({
    ...{ provider: endpoint, tools: [lookUp], middleware: layers },
  });
  for (const question of ["Find it.", "And now?"]) {
    await conversation.append(question);
    await conversation.run(engine(stack(middleware)));
  }
  const { length } = provider.requests;
  const before = { outside, requests: length, events: await eventsOf(conversation) };
  const ask = async (layers: readonly Layer[], without: string | null = null, bodies = false) => {
    const answer = await whatIf(conversation, createEngine(stack(layers)), { without, bodies });
    const after = { outside, requests: provider.requests.length, events: await eventsOf(conversation) };
    expect(after, "a counterfactual touches nothing").toEqual(before);
    return answer;
  };
  return { conversation, store, ask };
}

test("tells each step's plan before and then: without the layer that breaks them, chains hold", async () => {
  const { ask } = await played([noisy]);
  const { steps, unknown, turn } = await ask([noisy], "noisy");
  expect(unknown).toBeNull();
  expect(steps.map(({ recorded }) => recorded?.strategy)).toEqual(["full", "full", "full"]);
  expect(steps.map(({ otherwise }) => otherwise?.strategy)).toEqual(["full", "chained", "chained"]);
  expect(steps.map(({ isSame }) => isSame)).toEqual([false, false, false]);
  expect(steps[1]?.recorded?.edits).toEqual([
    { layer: "noisy", direction: "response", operations: ["remove"] },
    { layer: "noisy", direction: "request", operations: ["insert"] },
  ]);
  expect(steps[1]?.otherwise?.edits).toEqual([]);
  expect(steps[2]?.otherwise?.anchor).toMatch(/^resp_/);
  const bytes = steps.map(({ recorded, otherwise }) => (recorded?.bytes ?? 0) > (otherwise?.bytes ?? 0));
  expect(bytes).toEqual([true, true, true]);
  expect(turn.blocks.map(({ text }) => text)).toEqual([
    "Find it.",
    "{}",
    "found",
    "It is found.",
    "And now?",
    "Still there.",
  ]);
});

test.each<[string, (provider: Provider) => Provider]>([
  ["of plain members", (provider) => provider],
  ["of a class", (provider) => new OfAClass(provider)],
])("is the recording itself where the stack is the same, with a provider %s", async (_what, made) => {
  const { ask, conversation } = await played([noisy, fetching], made);
  const { steps, unknown, turn } = await ask([noisy, fetching]);
  expect(unknown).toBeNull();
  expect(steps.map(({ isSame }) => isSame)).toEqual([true, true, true]);
  expect(turn.digest).toBe((await conversation.turn()).digest);
});

test("names the run that the other stack fails, and the layer that threw, also after the last request", async () => {
  const { ask } = await played([noisy]);
  expect(await ask([noisy])).toMatchObject({ failures: [] });
  let calls = 0;
  const spoilt = defineMiddleware({ name: "spoilt", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(turn);
    calls += 1;
    if (calls === 3) throw new TypeError("result.name is not there");
    return result;
  });
  const { steps, failures } = await ask([noisy, spoilt]);
  expect(steps.map(({ isSame }) => isSame)).toEqual([true, true, true]);
  const runId = steps[2]?.runId;
  expect(failures).toEqual([{ runId, kind: "layer-failed", message: "result.name is not there", layer: "spoilt" }]);
});

test("gives the layers below one that is left out what they got, and nothing of its own", async () => {
  const { ask } = await played([noisy, fetching]);
  const { unknown, turn } = await ask([noisy, fetching], "noisy");
  expect(unknown).toBeNull();
  expect(turn.blocks.filter(({ text }) => text === 'It was "fetched".').length).toBe(3);
});

test("gives a step that was never made the oldest unused answer, and ends where none is left", async () => {
  const { ask } = await played([]);
  const { steps, unknown, turn } = await ask([twice]);
  expect(steps.map(({ recorded }) => recorded?.frame ?? null)).toEqual(["0.0", "0.1", null]);
  expect(unknown).toMatchObject({ what: "what the model answers", frame: "0.1.0" });
  expect(turn.blocks.at(0)?.text).toBe("Find it.");
});

test("ends where a layer asks what the recording never saw", async () => {
  const { ask } = await played([]);
  expect((await ask([fetching])).unknown).toMatchObject({ what: "what the effect gives", frame: "0.0" });
});

test("lists steps that the other stack does not make", async () => {
  const { conversation, engine } = createWorkshop();
  const provider = scripted(["Yes.", "Very."]);
  await conversation.append("Is it?");
  await conversation.run(engine({ provider, middleware: [twice] }));
  const other = createEngine({ provider, middleware: [twice] });
  const answer = await whatIf(conversation, other, { without: "twice" });
  expect(answer.steps.map(({ recorded, otherwise }) => [recorded?.frame, otherwise?.frame])).toEqual([
    ["0.0", "0.0"],
    ["0.1", undefined],
  ]);
  expect(answer.turn.blocks.map(({ text }) => text)).toEqual(["Is it?", "Yes."]);
});

test("the same bytes behind a context that is another are not read the same", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(["one", "two"]);
  const marking = (mark: string) =>
    defineMiddleware(
      { name: "marking", version: "1.0.0" },
      (next) => (turn) => next(turn.map((block) => (block.text === "first" ? block.withText(`first ${mark}`) : block))),
    );
  for (const said of ["first", "second"]) {
    await conversation.append(said);
    await conversation.run(workshop.engine({ provider, middleware: [marking("a")] }));
  }
  const asked = async (config: Partial<EngineConfig>) =>
    (await whatIf(conversation, createEngine({ provider, ...config }))).steps.map(({ isSame, readsSame }) => [
      isSame,
      readsSame,
    ]);
  expect(await asked({ middleware: [marking("a")] })).toEqual([
    [true, true],
    [true, true],
  ]);
  // Of the second step only what follows the first is sent: the same bytes.
  expect(await asked({ middleware: [marking("b")] })).toEqual([
    [false, false],
    [true, false],
  ]);
});

test("gives the bodies that would have been sent, where they are asked for", async () => {
  const { ask, conversation } = await played([noisy]);
  const bodies = (await ask([noisy], "noisy", true)).steps.map(({ otherwise }) => otherwise?.bodyText ?? "");
  expect(bodies.map((body) => body.includes("Note "))).toEqual([false, false, false]);
  expect(bodies[0]).toContain("Find it.");
  const same = (await ask([noisy], null, true)).steps;
  for (const { recorded, otherwise } of same) {
    const { view, event } = await (await conversation.at(recorded?.revision ?? -1)).load();
    expect(otherwise?.bodyText).toBe(rebuildRequest(view, event, codecs).bodyText);
  }
  expect((await ask([noisy])).steps.map(({ otherwise }) => otherwise?.bodyText)).toEqual([null, null, null]);
});

test("keeps what would have been as blocks by import, from which nothing is continued", async () => {
  const { ask, store } = await played([noisy]);
  const { turn } = await ask([noisy], "noisy");
  const kept = store.conversation("cnv_kept");
  await saveCounterfactual(kept, turn, "cnv_workshop@9 without noisy");
  await saveCounterfactual(kept, turn, "cnv_workshop@9 without noisy");
  const events = await eventsOf(kept);
  expect(events.map(({ actor }) => actor.kind)).toEqual(events.map(() => "import"));
  expect(events.map(({ event }) => event.type)).toEqual([
    "ConversationStarted",
    ...turn.blocks.map(() => "BlockAppended"),
  ]);
  const digestsOf = ({ blocks }: typeof turn): readonly string[] => blocks.map(({ digest }) => digest);
  expect(digestsOf(await kept.turn())).toEqual(digestsOf(turn));
  await kept.append("Go on.");
  await kept.run(createEngine({ provider: scripted(["Well."]) }));
  expect(dataOf(await eventsOf(kept), "InferenceRequested").map(({ decision }) => decision.reason)).toEqual([
    "first-request",
  ]);
});

test("goes through what a fork was forked from as well, also from the middle of a run", async () => {
  const { conversation, engine } = createWorkshop();
  const provider = scripted(["Yes.", "Very.", "Indeed.", "Truly."]);
  const config = { provider, middleware: [twice, noisy] };
  await conversation.append("Is it?");
  await conversation.run(engine(config));
  const { length } = await eventsOf(conversation);
  for (let revision = 1; revision < length; revision += 1) {
    const fork = await conversation.fork(revision);
    const answer = await whatIf(fork, createEngine(config));
    expect({ revision, unknown: answer.unknown }).toEqual({ revision, unknown: null });
    expect({ revision, same: answer.steps.every(({ isSame }) => isSame) }).toEqual({ revision, same: true });
    // Of a run that had ended nothing is left open.
    if (revision === length - 1) expect(answer.turn.digest).toBe((await fork.turn()).digest);
  }
});

test("refuses to keep it in a conversation that there is, and to leave out a layer that there is not", async () => {
  const { ask, conversation } = await played([noisy]);
  await expect(saveCounterfactual(conversation, await conversation.turn(), "x")).rejects.toMatchObject({
    code: "conversation-exists",
  });
  await expect(ask([noisy], "nobody")).rejects.toThrow(/there is no layer nobody .*: it has tool-loop, noisy/);
});
