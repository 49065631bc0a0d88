import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { authorizedStore } from "../../../src/log/access/authorized-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop, eventsOf, rejectionOf, type Workshop, type WorkshopOptions } from "../../support/workshop.ts";

const usage = (input: number, read: number): JsonObject => ({
  ...{ input_tokens: input, output_tokens: 10, input_tokens_details: { cached_tokens: read } },
});

const instructions = "Be kind. ".repeat(300);

/** A provider whose answers report these tokens of input, and of cached input. */
function reporting(...told: readonly (readonly [number, number])[]): Provider {
  const provider = scripted(() => "Hello.");
  let asked = 0;
  return {
    ...provider,
    settings: { model: "m-1", instructions },
    async infer(request) {
      const { response } = await provider.infer(request);
      const [input, read] = told[asked++] ?? [0, 0];
      return { response: { ...response, usage: usage(input, read) } };
    },
  };
}

async function talkIn(workshop: Workshop, id: string, ...told: readonly (readonly [number, number])[]) {
  const talk = workshop.store.conversation(id);
  const provider = reporting(...told);
  for (const _ of told) {
    workshop.clock.now += 60_000;
    await talk.append("Hello.");
    await talk.run(workshop.engine({ provider, mode: "stateless" }));
  }
  return talk;
}

const requestsOf = async (talk: Conversation): Promise<readonly number[]> =>
  (await eventsOf(talk)).filter(({ event }) => event.type === "InferenceRequested").map(({ revision }) => revision);

const answersOf = async (talk: Conversation): Promise<readonly number[]> =>
  (await eventsOf(talk)).filter(({ event }) => event.type === "ResponseReceived").map(({ revision }) => revision);

test("usage that contradicts itself is untold: nothing of it is compared, lost or priced", async () => {
  const workshop = createWorkshop();
  const talk = await talkIn(workshop, "cnv_odd", [1_000, 0], [1_100, 5_000], [1_200, 0]);
  const [, odd, next] = await requestsOf(talk);
  const nothing = { tokens: null, lost: null, price: null };
  expect((await talk.why(odd)).cache).toMatchObject({ cause: "untold", foreseen: "read", ...nothing });
  // The request after it is compared with the prompt, whose tokens are not known.
  const { cache } = await talk.why(next);
  expect(cache.lost?.tokens ?? 0).toBeLessThanOrEqual(1_200);
  const report = await workshop.store.cache();
  expect(report).toMatchObject({ tokens: { input: 2_200, read: 0 }, unknown: { untold: 1 } });
  expect((await workshop.store.bill()).total.untold).toMatchObject({ contradictory: 1 });
});

test("a damaged answer stops why at it, and the sums count what can be read; a skipped one told nothing", async () => {
  const { events, damage } = createDamagingStore();
  const workshop = createWorkshop({ events });
  const talk = await talkIn(workshop, "cnv_torn", [1_000, 0], [1_100, 0]);
  await talkIn(workshop, "cnv_whole", [500, 0]);
  const [first, last] = await requestsOf(talk);
  const [, answer = 0] = await answersOf(talk);
  damage("conversation-cnv_torn", answer, damages["a type that nobody knows"]);
  const { store } = workshop;
  const fresh = new TurnlogStore(events);
  expect(await rejectionOf(fresh.conversation("cnv_torn").why(last))).toMatchObject({ code: "conversation-damaged" });
  expect((await fresh.conversation("cnv_torn").why(first)).cache).toMatchObject({ cause: "first" });
  expect(await fresh.cache()).toMatchObject({ tokens: { input: 1_500 }, damaged: 1, skipped: 0 });
  await store.conversation("cnv_torn").skipEvent(answer, "half written", { allThatFollow: true });
  expect((await store.conversation("cnv_torn").why(last)).cache).toMatchObject({ cause: "untold", tokens: null });
  expect(await store.cache()).toMatchObject({
    tokens: { input: 1_500 },
    damaged: 0,
    skipped: 1,
    unknown: { untold: 1 },
  });
});

test("of a conversation that was erased nothing is counted but that it was", async () => {
  const events = createMemoryStore();
  const workshop = createWorkshop({ events });
  await talkIn(workshop, "cnv_gone", [1_000, 0]);
  await talkIn(workshop, "cnv_kept", [500, 0]);
  const store = new TurnlogStore(events);
  await store.erase(await store.planErasure({ conversations: ["cnv_gone"] }), { by: "dpo", ground: "asked" });
  expect(await store.cache()).toMatchObject({ requests: 1, tokens: { input: 500 }, erased: 1 });
  const kept = await talkIn(workshop, "cnv_next", [800, 0]);
  // The use of the prefix went with the conversation.
  expect((await kept.why()).cache.against?.stream).toBe("conversation-cnv_kept");
});

test("nothing is concluded from requests of a codec that is not available, or of which nothing is known", async () => {
  const own: WorkshopOptions["codecs"] = [{ ...scripted([]).codec, name: "of-a-program/1", family: "of-a-program" }];
  const events = createMemoryStore();
  const workshop = createWorkshop({ events, codecs: own });
  const talk = workshop.store.conversation("cnv_own");
  const provider = { ...reporting([1_000, 0], [1_100, 0]), codec: own[0] ?? expect.fail("no codec") };
  for (const said of ["one", "two"]) {
    await talk.append(said);
    await talk.run(workshop.engine({ provider, mode: "stateless" }));
  }
  const nothing = { cause: "unknown", foreseen: "unknown", author: null, lost: null };
  expect((await talk.why()).cache).toMatchObject(nothing);
  expect((await new TurnlogStore(events).conversation("cnv_own").why()).cache).toMatchObject(nothing);
  expect(await workshop.store.cache()).toMatchObject({ misses: [], unknown: { unknown: 2 }, tokens: { lost: 0 } });
});

test("a caller who may not read other rows gets named conversations from their events, and no other's prefix", async () => {
  const events = createMemoryStore();
  const workshop = createWorkshop({ events });
  await talkIn(workshop, "cnv_yours", [1_000, 0]);
  const talk = await talkIn(workshop, "cnv_mine", [1_000, 900], [1_100, 0]);
  const [first] = await requestsOf(talk);
  const mine = ({ stream }: { readonly stream: string }): boolean => stream === "conversation-cnv_mine";
  const own = new TurnlogStore(authorizedStore(events, mine));
  const conversations = ["cnv_mine"];
  expect(await own.cache({ conversations })).toEqual(await workshop.store.cache({ conversations }));
  expect(await rejectionOf(own.cache())).toMatchObject({ code: "access-denied" });
  expect((await own.conversation("cnv_mine").why(first)).cache).toMatchObject({
    ...{ cause: "more-than-known", foreseen: "first", against: null },
  });
  expect((await talk.why(first)).cache).toMatchObject({ cause: "read", against: { stream: "conversation-cnv_yours" } });
});

test.each<[string, JsonObject]>([
  ["a negative price", { input_cost_per_token: 4e-6, cache_read_input_token_cost: -1 }],
  ["no price of reads", { input_cost_per_token: 4e-6 }],
  ["a price in words", { input_cost_per_token: "cheap", cache_read_input_token_cost: 1e-6 }],
])("a miss by a file with %s has no price, and the tokens are listed", async (_, entry) => {
  const { file } = temporaryFolder();
  const others = { other: { litellm_provider: "openai", input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 } };
  writeFileSync(file("p.json"), JSON.stringify({ ...others, "m-1": { litellm_provider: "openai", ...entry } }));
  const workshop = createWorkshop();
  const talk = await talkIn(workshop, "cnv_missed", [1_000, 0], [1_100, 0]);
  const prices = file("p.json");
  const { cache } = await talk.why(undefined, { prices });
  expect(cache.lost?.tokens).toBe(1_000);
  expect(cache.price).toMatchObject({ usd: null, entry: "m-1" });
  expect(cache.price?.notPriced.map(({ why }) => why)).toContain("no-price");
  expect(await workshop.store.cache({ prices })).toMatchObject({
    ...{ money: null, misses: [{ lost: 1_000, money: null, notPriced: 1_000 }] },
  });
});
