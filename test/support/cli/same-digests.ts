import { expect, onTestFinished } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { playDemo } from "../../../src/apps/cli/demo/play.ts";
import { answerAsTravelAgent } from "../../../src/apps/cli/demo/travel-agent.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { createEventIds } from "../../../src/log/codec/ids.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { conversationView } from "../../../src/projections/views/conversation-view.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { all } from "../../../src/testing/contracts/prepared.ts";
import { viewDigest } from "../view-digest.ts";

/** 1 March 2026, 12:00 UTC, and each time that it is asked a millisecond later. */
function createClock(): () => number {
  let now = 1_772_366_400_000;
  return () => {
    now += 1;
    return now;
  };
}

/** Ids that count. */
function createIds(): (prefix: string) => string {
  let drawn = 0;
  return (prefix) => {
    drawn += 1;
    return `${prefix}_${String(drawn).padStart(21, "0")}`;
  };
}

type Sources = Required<Pick<EngineConfig, "clock" | "newId">>;

/** A store of an address, and an engine's sources, that make the same of the same each time. */
async function repeatable(url: string): Promise<{ readonly store: TurnlogStore; readonly sources: Sources }> {
  const clock = createClock();
  const newEventId = createEventIds({ clock, randomUuid: () => "00000000-0000-4000-8000-000000000000" });
  // A server takes no lines, and in lines digests depend on a key.
  const encoding = "json";
  const store = await openStore(url, { clock, newEventId, newId: createIds(), encoding, viewsPath: ":memory:" });
  onTestFinished(() => store.close());
  return { store, sources: { clock, newId: createIds() } };
}

/** What every revision of every conversation comes to: the Turn's context digest, and that of the whole view. */
async function digestsOf(store: TurnlogStore): Promise<readonly string[]> {
  const digests: string[] = [];
  for await (const id of store.conversations()) {
    let view = conversationView.initial(id);
    for await (const recorded of store.conversation(id).history()) {
      view = conversationView.apply(view, recorded);
      digests.push(`${id}@${recorded.revision} ${view.client.committed.digest} ${viewDigest(view)}`);
    }
  }
  const problems = (await all(verifyStore(store.events, { codecs }))).filter(({ problem }) => problem !== null);
  expect(problems).toEqual([]);
  return digests;
}

/** Leads an address that is the same every time to a server whose port is not. */
export const leadTo =
  (baseUrl: string): typeof globalThis.fetch =>
  (address, init) =>
    fetch(new Request(address).url.replace("http://turnlog.test/v1", baseUrl), init);

/** Kinds of stores, each with what makes an empty one. */
export type StoreUrls = readonly (readonly [kind: string, open: () => Promise<string>])[];

/** Plays the same on every kind of store. */
export async function digestsByKind(
  urls: StoreUrls,
  play: (store: TurnlogStore, sources: Sources) => Promise<void>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const digests = new Map<string, readonly string[]>();
  for (const [kind, open] of urls) {
    const { store, sources } = await repeatable(await open());
    await play(store, sources);
    digests.set(kind, await digestsOf(store));
  }
  return digests;
}

/** Plays the demo. */
export async function playWholeDemo(store: TurnlogStore, sources: Sources): Promise<void> {
  await using server = await startReferenceServer({ answer: answerAsTravelAgent, seed: "demo", now: () => 0 });
  const endpoint = { baseURL: "http://turnlog.test/v1", apiKey: "demo", organization: "", project: "" };
  const provider = openaiResponses({ model: "demo", ...endpoint, fetch: leadTo(server.baseUrl) });
  const parts = await all(playDemo(store.conversation(), provider, sources));
  expect(parts.filter(({ type }) => type === "answer")).toHaveLength(5);
}
