import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { authorizedStore } from "../../../src/log/access/authorized-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted-answer.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop, rejectionOf, type Workshop } from "../../support/workshop.ts";

/** A provider whose answers report these tokens, one after another. */
function reporting(model: string, answers: readonly ScriptedAnswer[], ...usages: readonly JsonObject[]): Provider {
  const provider = scripted(answers);
  let asked = 0;
  return {
    ...provider,
    settings: { model },
    async infer(request) {
      const usage = usages[asked] ?? {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 10,
      };
      asked += 1;
      const { response } = await provider.infer(request);
      return { response: { ...response, usage } };
    },
  };
}

const read = (cached: number): JsonObject => ({
  ...{ input_tokens: 100, output_tokens: 10 },
  input_tokens_details: { cached_tokens: cached },
});

async function talk({ store, engine }: Workshop, id: string, provider: Provider): Promise<void> {
  const conversation = store.conversation(id);
  await conversation.append("hello");
  await conversation.run(engine({ provider }));
}

const names = (rows: readonly { readonly name: string; readonly requests: number }[]): Record<string, number> =>
  Object.fromEntries(rows.map(({ name, requests }) => [name, requests]));

describe("what caused a cost", () => {
  /** A conversation whose tool asks a subagent, behind a layer that asks something of its own; and another one. */
  async function world() {
    const workshop = createWorkshop();
    const { store, engine, conversation } = workshop;
    const inner = engine({ provider: reporting("m-small", ["found"]) });
    const research = tool({
      ...{ name: "research", description: "Asks a subagent.", inputSchema: z.object({}) },
      async execute(_, ctx) {
        const child = await conversation.child("researcher", ctx);
        await child.append("look it up");
        return (await child.run(inner)).text;
      },
    });
    const curious = defineMiddleware({ name: "curious", version: "1.0.0" }, (next) => async (turn, ctx) => {
      if (turn.blocks.length === 1) await ctx.infer({ input: "which language is this?" });
      return next(turn);
    });
    const provider = reporting("m-big", ["English", { calls: [{ name: "research", arguments: {} }] }, "done"]);
    await conversation.relabel({ labels: { user: "ann" } });
    await conversation.append("go");
    const { runId } = await conversation.run(engine({ provider, tools: [research], middleware: [curious] }));
    await talk(workshop, "cnv_other", reporting("m-big", ["Hello."]));
    return { store, conversation, runId };
  }

  test("is the conversation that opened the subagent's, and that one's label and run", async () => {
    const { store, conversation, runId } = await world();
    expect(names((await store.bill({ by: "conversation" })).rows)).toEqual({ [conversation.id]: 4, cnv_other: 1 });
    const byLabel = await store.bill({ by: "label:user" });
    expect(names(byLabel.rows)).toEqual({ ann: 4 });
    expect(byLabel.rest.requests).toBe(1);
    const byRun = await store.bill({ by: "run" });
    expect(names(byRun.rows)).toMatchObject({ [runId]: 4 });
    expect(byRun.total.requests).toBe(5);
    expect(names((await store.bill()).rows)).toEqual({ "m-big": 4, "m-small": 1 });
  });

  test("is on the bill of a named conversation with all that it caused", async () => {
    const { store, conversation } = await world();
    const bill = await store.bill({ conversations: [conversation.id], by: "conversation" });
    expect(names(bill.rows)).toEqual({ [conversation.id]: 4 });
    expect(bill.total.tokens).toEqual({ uncached: 400, read: 0, written: 0, output: 40, reasoning: 0 });
  });

  test("is the subagent's own conversation if that alone is named", async () => {
    const { store } = await world();
    const ids: string[] = [];
    for await (const id of store.conversations()) ids.push(id);
    const [child = ""] = ids.filter((id) => !/other|workshop/.test(id));
    const bill = await store.bill({ conversations: [child], by: "conversation" });
    expect(names(bill.rows)).toEqual({ [child]: 1 });
  });
});

describe("since when a bill counts", () => {
  async function days() {
    const workshop = createWorkshop();
    const provider = reporting(
      "m",
      Array.from({ length: 6 }, () => "Hello."),
    );
    for (const [day, hour] of [
      [1, 9],
      [2, 8],
      [2, 20],
    ] as const) {
      workshop.clock.now = Date.UTC(2026, 2, day, hour);
      await talk(workshop, `cnv_${day}-${hour}`, provider);
      await talk(workshop, "cnv_long", provider);
    }
    return workshop.store;
  }

  test.each([
    ["2026-03-01", 6],
    ["2026-03-02", 4],
    ["2026-03-02T12:00:00Z", 2],
    ["2026-03-02T08:00:00Z", 4],
    ["2026-03-03", 0],
  ])("from %s on there are %i requests, whatever the rows keep", async (since, requests) => {
    const store = await days();
    for (const by of ["day", "run", "conversation"] as const) {
      const bill = await store.bill({ by, since });
      expect([bill.since, bill.total.requests]).toEqual([new Date(since).toISOString(), requests]);
      expect(bill.rows.reduce((sum, row) => sum + row.requests, 0)).toBe(requests);
    }
  });

  test("days are listed in their order", async () => {
    const { rows } = await (await days()).bill({ by: "day" });
    expect(rows.map(({ name }) => name)).toEqual(["2026-03-01", "2026-03-02"]);
  });
});

test("a bill by run tells how many events it reads, although its rows have seen all of them", async () => {
  const workshop = createWorkshop();
  await talk(workshop, "cnv_long", reporting("m", ["hello"]));
  const { store } = workshop;
  for (let n = 0; n < 1_000; n += 1) await store.conversation("cnv_long").relabel({ title: `title ${n}` });
  await store.bill();
  const told: number[] = [];
  const onProgress = (events: number): void => void told.push(events);
  await store.bill({ onProgress });
  const before = told.at(-1) ?? 0;
  await store.bill({ by: "run", onProgress });
  expect((told.at(-1) ?? 0) - before).toBeGreaterThanOrEqual(900);
});

test("money is that of the price file, and told money wins where the provider told some", async () => {
  const { file } = temporaryFolder();
  const entry = { litellm_provider: "openai", input_cost_per_token: 5e-6, output_cost_per_token: 3e-5 };
  const priced = { ...entry, cache_read_input_token_cost: 5e-7 };
  writeFileSync(file("prices.json"), JSON.stringify({ "m-1": priced, "m-2": entry }));
  const workshop = createWorkshop();
  const told = { ...read(60), cost: 0.025265, cost_details: {}, is_byok: false };
  await talk(workshop, "cnv_1", reporting("m-1", ["Hello."], read(60)));
  await talk(workshop, "cnv_2", reporting("m-1", ["Hello."], told));
  await talk(workshop, "cnv_3", reporting("m-2", ["Hello."], read(60)));
  await talk(workshop, "cnv_4", reporting("m-3", ["Hello."], read(0)));
  const bill = await workshop.store.bill({ prices: file("prices.json"), priceAs: { other: "m-1" } });
  // 40 x 5 + 60 x 0.5 + 10 x 30, in millionths.
  const price = "0.00053";
  const without = { tier: null, why: "no-price" };
  expect(bill.rows.map(({ name, money, notPriced }) => ({ name, money, notPriced }))).toEqual([
    { name: "m-1", money: { total: "0.025795", told: "0.025265", priced: "0.00106" }, notPriced: [] },
    {
      ...{ name: "m-2", money: { total: "0.0005", told: null, priced: "0.0005" } },
      notPriced: [{ ...without, model: "m-2", class: "read", tokens: 60 }],
    },
    {
      ...{ name: "m-3", money: { total: null, told: null, priced: "0" } },
      notPriced: [
        { model: "m-3", tier: null, class: "output", why: "no-entry", tokens: 10 },
        { model: "m-3", tier: null, class: "uncached", why: "no-entry", tokens: 100 },
      ],
    },
  ]);
  expect(bill.total.money).toEqual({ total: "0.026295", told: "0.025265", priced: "0.00156" });
  expect(bill.prices).toMatchObject({
    ...{ file: file("prices.json"), format: "litellm" },
    entries: [{ model: "m-1", endpoint: "scripted prefix=", entry: "m-1" }, { model: "m-2" }],
  });
  const [one] = (await workshop.store.bill({ conversations: ["cnv_1"], prices: file("prices.json") })).rows;
  expect(one?.money.total).toBe(price);
  // Without a file, there is the told money alone.
  expect((await workshop.store.bill()).total.money).toEqual({ total: "0.025265", told: "0.025265", priced: null });
});

test("a model call within an answer is in the row of its own model, and the answer once in the total", async () => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const counts = {
    ...{ input: 300, cacheRead: 20, output: 30, served: "opus" },
    iterations: [
      { type: "message", input: 200, cacheRead: 20, output: 20 },
      { type: "advisor_message", model: "haiku", input: 100, output: 10 },
    ],
  };
  const workshop = createWorkshop();
  const provider = reporting("opus", ["Hello."], usage);
  const { codec } = provider;
  const advised = {
    ...provider,
    codec: {
      ...codec,
      readAnswer: (...given: Parameters<typeof codec.readAnswer>) => ({
        ...codec.readAnswer(...given),
        usage: { inputTokens: 300, outputTokens: 30, counts, reported: usage },
      }),
    },
  };
  await talk(workshop, "cnv_1", advised);
  const { rows, total } = await workshop.store.bill();
  expect(rows.map(({ name, requests, tokens: { uncached, output } }) => [name, requests, uncached, output])).toEqual([
    ["opus", 1, 180, 20],
    ["haiku", 0, 100, 10],
  ]);
  expect(total).toMatchObject({ requests: 1, tokens: { uncached: 280, read: 20, output: 30 }, untold: { cache: 100 } });
});

describe("a caller who may not read all conversations", () => {
  async function mine() {
    const events = createMemoryStore();
    const workshop = createWorkshop({ events });
    await talk(workshop, "cnv_mine", reporting("m", ["Hello."], read(40)));
    await talk(workshop, "cnv_yours", reporting("m", ["Hello."]));
    const authorize = ({ stream }: { readonly stream: string }): boolean => stream === "conversation-cnv_mine";
    return { whole: workshop.store, own: new TurnlogStore(authorizedStore(events, authorize)) };
  }

  test("gets the bill of those that it names, from their events", async () => {
    const { whole, own } = await mine();
    const conversations = ["cnv_mine"];
    expect(await own.bill({ conversations })).toEqual(await whole.bill({ conversations }));
  });

  test("is refused all others", async () => {
    const { own } = await mine();
    expect(await rejectionOf(own.bill())).toMatchObject({ code: "access-denied" });
    expect(await rejectionOf(own.bill({ conversations: ["cnv_mine", "cnv_yours"] }))).toMatchObject({
      code: "access-denied",
    });
  });
});

describe("a bill is refused", () => {
  const store = new TurnlogStore(createMemoryStore());

  test.each<[string, object, string]>([
    ["by something unknown", { by: "colour" }, "bill: by is 'colour': give 'model', 'conversation'"],
    ["by a label without a name", { by: "label:" }, "bill: by is 'label:'"],
    ["since no time", { since: "soon" }, "bill: since is no time"],
    ["with an unknown option", { prices: "p.json", price: 1 }, "price"],
    [
      "with entries of no file",
      { priceAs: { a: "b" } },
      "bill: priceAs names entries of a price file: give prices too",
    ],
    [
      "of conversations that are no list",
      { conversations: "cnv_1" },
      "bill: conversations is a text: give a list of ids",
    ],
  ])("%s", async (_, options, message) => {
    const error = await rejectionOf(store.bill(options));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(message);
  });

  test("of a conversation that does not exist", async () => {
    expect(await rejectionOf(store.bill({ conversations: ["cnv_none"] }))).toMatchObject({ code: "not-found" });
  });

  test("with a file that is not there", async () => {
    expect(await rejectionOf(store.bill({ prices: "./no-such-file.json" }))).toMatchObject({ code: "ENOENT" });
  });
});
