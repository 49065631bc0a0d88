import { expect, test } from "vitest";
import { sha256Hex, sha256OfPair } from "../../../src/base/sha256.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { emptyContext, extendContext } from "../../../src/domain/context.ts";
import { type BlockName, sha256Schema } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { decodeData } from "../../../src/log/codec/data.ts";
import type { ErasureResult, EventStore, StreamErasure } from "../../../src/log/ports/event-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { cases } from "../../support/cases.ts";

const pins = cases(20, 1_000, 100);
const why = { by: "dpo", ground: "gdpr-17" } as const;

const said = (pin: number): string => `My PIN is ${String(pin).padStart(4, "0")}.`;

/** Everything that is left of a store, in which a guess would have to be confirmed. */
async function leftIn(events: EventStore): Promise<string> {
  const left: string[] = [];
  for await (const envelope of events.readLog()) left.push(JSON.stringify(envelope));
  for await (const { stream } of events.heads()) left.push(stream, (await events.namingKey?.(stream)) ?? "");
  return left.join("\n");
}

/** The digests and names that a guess of a message gives, with each of some keys or without one. */
function guessesOf(text: string, keys: readonly string[]): readonly string[] {
  const { digest } = user(text);
  const names = [digest, ...keys.map((key) => sha256OfPair(key, digest))];
  // The first message of a conversation, as a context.
  const contexts = names.map((name) => extendContext(emptyContext, name as BlockName));
  return [...names, ...contexts, sha256Hex(text), sha256Hex(JSON.stringify(text))];
}

async function talkWith(pin: number): Promise<TurnlogStore> {
  const store = new TurnlogStore(createMemoryStore());
  const talk = store.conversation("talk");
  await talk.append(said(pin));
  await talk.run(createEngine({ provider: scripted(["Noted."]) }));
  return store;
}

/** The digest of the request that would carry a message: of a talk in which it is said again. */
async function requestDigestOf({ events }: TurnlogStore): Promise<string> {
  for await (const envelope of events.readStream("conversation-talk"))
    if (envelope.type === "InferenceRequested") return sha256Schema.parse(decodeData(envelope).data["requestDigest"]);
  throw new Error("the talk asked no model");
}

const keysOf = async ({ events }: TurnlogStore): Promise<readonly string[]> =>
  [(await events.namingKey?.("conversation-talk")) ?? ""].map((key) => key.replace("+", ""));

test("no PIN that was erased is confirmed by anything that is left, keys included", async () => {
  for (let pin = 0; pin < pins; pin += 1) {
    const store = await talkWith(pin);
    await store.erase(await store.planErasure({ texts: [said(pin)] }), why);
    const left = await leftIn(store.events);
    const guesses = [...guessesOf(said(pin), await keysOf(store)), await requestDigestOf(await talkWith(pin))];
    expect(guesses.filter((guess) => left.includes(guess))).toEqual([]);
  }
});

test("the same look confirms every PIN if the key is not renewed", async () => {
  for (let pin = 0; pin < 5; pin += 1) {
    const store = await talkWith(pin);
    const [key = ""] = await keysOf(store);
    const plan = await store.planErasure({ texts: [said(pin)] });
    const { events } = store;
    const confirmed = async (lazy: EventStore, keys: readonly string[]): Promise<boolean> => {
      await new TurnlogStore(lazy).erase(plan, why);
      const left = await leftIn(events);
      return guessesOf(said(pin), keys).some((guess) => left.includes(guess));
    };
    const erase = (erasure: StreamErasure): Promise<ErasureResult> =>
      events.erase?.({ ...erasure, lines: erasure.lines.map((each) => ({ ...each, namingKey: key })) }) ??
      Promise.reject(new Error("it erases"));
    expect(await confirmed({ ...events, erase }, await keysOf(store))).toBe(true);
  }
});

test("the same look confirms every PIN if the digest of its request is left", async () => {
  for (let pin = 0; pin < 5; pin += 1) {
    const store = await talkWith(pin);
    const guess = await requestDigestOf(await talkWith(pin));
    expect(guess).toMatch(/^[0-9a-f]{64}$/);
    const plan = await store.planErasure({ texts: [said(pin)] });
    const { events } = store;
    const requests = new Set<number>();
    for await (const { type, revision } of events.readStream("conversation-talk"))
      if (type === "InferenceRequested") requests.add(revision);
    const erase = ({ lines, ...erasure }: StreamErasure): Promise<ErasureResult> => {
      const without = lines.map((each) => ({
        ...each,
        places: each.places.filter(({ revision }) => !requests.has(revision)),
      }));
      return events.erase?.({ ...erasure, lines: without }) ?? Promise.reject(new Error("it erases"));
    };
    await new TurnlogStore({ ...events, erase }).erase(plan, why);
    expect(await leftIn(events)).toContain(guess);
  }
});

test("a block that equals one that stays has its name, also after the key was renewed", async () => {
  const store = await talkWith(7302);
  const talk = store.conversation("talk");
  await talk.append("This stays.");
  await store.erase(await store.planErasure({ texts: [said(7302)] }), why);
  const later = new TurnlogStore(store.events).conversation("talk");
  await later.append("This stays.");
  const [before, after] = (await later.turn()).blocks.slice(-2);
  expect(before?.recordedAs).toBe(after?.recordedAs);
});
