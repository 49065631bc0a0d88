import * as fc from "fast-check";
import type { ConversationEvent } from "../../../src/domain/events/event.ts";
import { assistant, user } from "../../../src/domain/make-block.ts";
import type { Envelope, EventStore, Head } from "../../../src/log/ports/event-store.ts";
import { headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import {
  appended,
  json,
  received,
  requested,
  runCompleted,
  runStarted,
  settingsDeclared,
} from "../projections/recorded-events.ts";

/** An event as a test puts it into a log, readable or not. */
export type Written = {
  readonly stream: string;
  readonly type: string;
  readonly version: number;
  readonly data: string;
  /** The same event once more. */
  readonly isTwice?: boolean;
};

export const stream = (name: string): string => `conversation-cnv_${name}`;

/** An event that can be read. */
export const sound = (name: string, { type, version, data }: ConversationEvent): Written => ({
  ...{ stream: stream(name), type, version, data: JSON.stringify(data) },
});

export const started = (name: string): Written =>
  sound(name, { type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } });

export const said = (name: string, text = "hello"): Written =>
  sound(name, appended(user(text), text.replace(/\W/g, "").slice(0, 4)));

/** Every way in which an event may be beyond a projection. */
export const beyond = (name: string): Readonly<Record<string, Written>> => ({
  "an unknown type": { stream: stream(name), type: "WishGranted", version: 1, data: "{}" },
  "a future version": { stream: stream(name), type: "BlockAppended", version: 9, data: "{}" },
  "a bad payload": { stream: stream(name), type: "BlockAppended", version: 1, data: '{"block":{"kind":"poem"}}' },
  "data that is no JSON": { stream: stream(name), type: "BlockAppended", version: 1, data: "{" },
  "a duplicate": { ...said(name), isTwice: true },
});

/** Appends events one by one, as several writers would. */
export async function write(store: EventStore, events: readonly Written[]): Promise<void> {
  for (const { stream: name, type, version, data, isTwice = false } of events) {
    const expected: Head | null = await store.head(name);
    const newest: Envelope | null = isTwice ? await newestOf(store, name) : null;
    const extra = { type, version, ...(newest === null ? {} : { id: newest.id }) };
    const sent = prepared({ stream: name, expected, data: [newest?.data ?? data], extra });
    const result = await store.append(sent);
    if (result.status === "conflict") throw new Error("somebody else writes this log");
    headAfter(sent);
  }
}

async function newestOf(store: EventStore, name: string): Promise<Envelope | null> {
  for await (const event of store.readStream(name, { direction: "backwards", limit: 1 })) return event;
  return null;
}

const names = ["one1", "two2", "three3", "four4", "five5"] as const;

/** Random logs of a few conversations, in which one event in ten is beyond any projection. */
export const writtenLog: fc.Arbitrary<readonly Written[]> = fc.array(
  fc.record({ name: fc.constantFrom(...names), kind: fc.nat(99), n: fc.nat(9) }).map(({ name, kind, n }) => {
    if (kind < 10) return Object.values(beyond(name))[n % 5] ?? started(name);
    return sound(name, eventOf(kind, String(n)));
  }),
  { minLength: 1, maxLength: 60 },
);

function eventOf(kind: number, n: string): ConversationEvent {
  if (kind < 25) return appended(user(`question ${n}`), n);
  if (kind < 35) return settingsDeclared({ model: `m-${n}` });
  if (kind < 40) return { type: "ConversationRelabelled", version: 1, data: { title: `title ${n}` } };
  if (kind < 50) return runStarted;
  if (kind < 60) return runCompleted;
  if (kind < 80) {
    const anchor = { kind: "response", id: `resp_${n}`, inferenceId: `inf_${n.padStart(16, "0")}`, length: 1 };
    return requested(n, { requestBytes: 1_000 + kind, decision: kind < 70 ? { strategy: "chained", anchor } : {} });
  }
  return received(n, [json(assistant(`answer ${n}`), n)], {
    usage: { inputTokens: kind, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0, reported: null },
  });
}
