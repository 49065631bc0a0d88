import { isDeepStrictEqual } from "node:util";
import type { PlannedEndpoint } from "../../../src/analysis/time-travel/past.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { Block } from "../../../src/domain/block.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import type { Random } from "./random.ts";

/** What people read at fixed revisions of conversations, by the question: the same may be asked again later. */
export type Readings = ReadonlyMap<string, { readonly ask: () => Promise<unknown>; readonly answer: unknown }>;

/** How many requests of a conversation are asked about. */
const maxRequests = 2;

/**
 * Asks each conversation of a store who made its blocks, what changed, why requests were sent as they were and what they said, and how the
 * Turn would be sent next.
 */
export async function readingsOf(
  store: TurnlogStore,
  { random, endpoint }: { readonly random: Random; readonly endpoint: PlannedEndpoint | null },
): Promise<Readings> {
  const readings = new Map<string, { readonly ask: () => Promise<unknown>; readonly answer: unknown }>();
  for await (const id of store.conversations())
    for (const [question, ask] of Object.entries(
      await questionsTo(store.conversation(id), { store, random, endpoint }),
    ))
      readings.set(`${question} of ${id}`, { ask, answer: await answerOf(ask) });
  return readings;
}

/**
 * What is different in the answers now, each with its question and its member: contents that were erased, and sizes that are estimated from
 * contents, are left out.
 */
export async function changedReadings(before: Readings, lost: Lost): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const [question, { ask, answer }] of before) {
    const now = await answerOf(ask);
    const isUnreadable = isDeepStrictEqual(answer, { error: "store-corrupted" });
    const isGone = typeof answer === "string" && (lost.hasLostSettings || lost.saysGone(answer));
    if ((isUnreadable || isGone) && isDeepStrictEqual(now, { error: "content-erased" })) continue;
    if ((lost.hasSkippedSettings || lost.hasLostSettings) && isNested(now) && isWholeTurn(now)) continue;
    if (leftOutOf(now) < leftOutOf(answer)) continue;
    changed.push(...differences(answer, now, lost).map((each) => `${question}${each}`));
  }
  return changed;
}

/** What a world has lost by erasures. */
export type Lost = {
  /** Whether a text says what was erased. */
  readonly saysGone: (text: string) => boolean;
  readonly hasLostSettings: boolean;
  /** Of settings that an operator skipped, only the name is known, and the erasure renewed the key of names. */
  readonly hasSkippedSettings: boolean;
};

/**
 * Whether a plan continues from nothing: the engine does so where it cannot tell whether settings have changed. Of a leading system message
 * with more than text, an erasure leaves a text, which goes into the instructions where the endpoint takes them there.
 */
const isWholeTurn = ({ strategy, anchor, sendFrom }: Readonly<Record<string, unknown>>): boolean =>
  strategy === "full" && anchor === null && sendFrom === 0;

/** How many blocks a plan leaves out. Where an endpoint cannot take a block, and can take its stand-in, another request is planned. */
const leftOutOf = (plan: unknown): number =>
  isNested(plan) && typeof plan["leftOut"] === "number" ? plan["leftOut"] : 0;

type Questions = Readonly<Record<string, () => Promise<unknown>>>;

async function questionsTo(
  conversation: Conversation,
  {
    store,
    random,
    endpoint,
  }: { readonly store: TurnlogStore; readonly random: Random; readonly endpoint: PlannedEndpoint | null },
): Promise<Questions> {
  const head = await store.events.head(conversationStream(conversation.id));
  if (head === null) return {};
  const last = head.revision;
  const requests: number[] = [];
  for await (const { event, revision } of conversation.events())
    if (event.type === "InferenceRequested") requests.push(revision);
  const questions: Record<string, () => Promise<unknown>> = {
    [`blame at ${last}`]: () => conversation.blame(last),
    [`diff from 0 to ${last}`]: () => conversation.diff(0, last),
  };
  if (endpoint !== null) {
    questions[`plan at ${last}`] = async () => {
      const { strategy, anchor, sendFrom, repairs } = await (await conversation.at(last)).planFor(endpoint);
      return { strategy, anchor, sendFrom, leftOut: repairs.filter(({ rule }) => rule === "omit").length };
    };
  }
  for (let n = 0; n < maxRequests && requests.length > 0; n += 1) {
    const revision = random.pick(requests);
    const from = Math.max(0, revision - 1 - random.below(8));
    questions[`why ${revision}`] = () => conversation.why(revision);
    questions[`diff from ${from} to ${revision}`] = () => conversation.diff(from, revision);
    questions[`request ${revision}`] = async () => (await conversation.request(revision)).bodyText;
  }
  return questions;
}

const answerOf = (ask: () => Promise<unknown>): Promise<unknown> =>
  ask().catch((error: unknown) => ({ error: error instanceof Error && "code" in error ? error.code : String(error) }));

/** What is read of a text and of the arguments of a call that were erased. */
const standIns: ReadonlySet<unknown> = new Set(["[erased]", "{}"]);

/** Members that are sizes of contents, or depend on them. */
const sizes = new Set(["fullBytes", "tokens", "leftOut"]);

function differences(then: unknown, now: unknown, lost: Lost): readonly string[] {
  if (then instanceof Block && now instanceof Block)
    return differences(outlineOf(then, now.isErased), outlineOf(now, now.isErased), lost);
  if (isDeepStrictEqual(then, now)) return [];
  if (typeof then === "string" && standIns.has(now) && lost.saysGone(then)) return [];
  if (!isNested(then) || !isNested(now)) return [`: ${JSON.stringify(now)} was ${JSON.stringify(then)}`];
  return [...new Set([...Object.keys(then), ...Object.keys(now)])].flatMap((name) =>
    sizes.has(name) || (lost.hasLostSettings && isUnknown(name, { then, now }))
      ? []
      : differences(then[name], now[name], lost).map((each) => `.${name}${each}`),
  );
}

const outlineOf = ({ id, kind, recordedAs, payload }: Block, isErased: boolean) => ({
  ...{ id, kind, recordedAs },
  payload: isErased ? null : payload,
});

const isNested = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !(value instanceof Map);

/** Of prompts whose settings were erased turnlog knows neither what a cache held nor whether those settings had changed. */
const isUnknown = (name: string, { then, now }: Readonly<Record<"then" | "now", Readonly<Record<string, unknown>>>>) =>
  (name === "cache" && saysUnknown(now[name])) ||
  (name === "changedSettings" && isSubset(now[name], then[name])) ||
  (name === "verdict" && saysLess(now[name], then[name]));

/** Of a context nothing tells whether settings were the reason against it; there may have been another one that is known. */
const saysLess = (now: unknown, then: unknown): boolean =>
  now === "settings-erased" ||
  (then === "settings-changed" && ["shorter", "older", "not asked for"].includes(String(now)));

const saysUnknown = (cache: unknown): boolean =>
  isNested(cache) &&
  [cache["cause"], cache["foreseen"]].every((each) => each === "unknown") &&
  ["against", "unit", "author", "divergence", "edit", "lost"].every((each) => cache[each] === null);

const isSubset = (part: unknown, of: unknown): boolean =>
  Array.isArray(part) && Array.isArray(of) && part.every((item) => of.includes(item));
