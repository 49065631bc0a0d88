import { sha256Hex } from "../../base/sha256.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { conversationOfStream } from "../../domain/ids.ts";

/** Which conversations to compare. */
export type ChosenConversations = {
  /** These; by default all of the store. */
  readonly conversations?: readonly string[];
  /** Only those that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Only those with an event from this time on: a `Date`, or ISO text. */
  readonly since?: Date | string;
  /** Only so many, chosen by the hashes of their ids: the same ones every time, as long as they are there. */
  readonly sample?: number;
};

/** The ids of the chosen conversations. Only a sample is held in memory. */
export async function* chosenConversations(
  store: TurnlogStore,
  { sample, ...chosen }: ChosenConversations,
): AsyncGenerator<string> {
  if (sample === undefined) {
    yield* idsOf(store, chosen);
    return;
  }
  let kept: (readonly [hash: string, id: string])[] = [];
  for await (const id of idsOf(store, chosen)) {
    kept.push([sha256Hex(id), id]);
    if (kept.length >= 2 * sample + 1_000) kept = smallest(kept, sample);
  }
  for (const [, id] of smallest(kept, sample)) yield id;
}

const smallest = <T extends readonly [string, string]>(all: readonly T[], count: number): T[] =>
  all.toSorted(([left], [right]) => (left < right ? -1 : 1)).slice(0, count);

const pageSize = 500;

async function* idsOf(
  store: TurnlogStore,
  { conversations, labels, since }: Omit<ChosenConversations, "sample">,
): AsyncGenerator<string> {
  if (labels === undefined && since === undefined) {
    if (conversations !== undefined) {
      yield* conversations;
      return;
    }
    for await (const { stream } of store.events.heads("conversation-")) {
      const id = conversationOfStream(stream);
      if (id !== null) yield id;
    }
    return;
  }
  const wanted = conversations === undefined ? null : new Set(conversations);
  const filter = {
    limit: pageSize,
    withHidden: true,
    ...(labels && { labels }),
    ...(since !== undefined && { since }),
  };
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.list(after === undefined ? filter : { ...filter, after });
    for (const { id } of page.conversations) if (wanted === null || wanted.has(id)) yield id;
    after = page.next;
  }
}
