import { sha256Hex } from "../../base/sha256.ts";
import { chainDigest, firstPrevious } from "../../log/codec/envelope.ts";
import { createEventIds } from "../../log/codec/ids.ts";
import type { AppendResult, Envelope, EventStore, Head, PreparedAppend } from "../../log/ports/event-store.ts";

export type PreparedOptions = {
  readonly stream?: string;
  readonly expected?: Head | null;
  /** The data of each event. Default: `count` events with their number. */
  readonly data?: readonly string[];
  readonly count?: number;
  readonly extra?: Partial<Envelope>;
};

const newEventId = createEventIds();
let streams = 0;

/** A stream that no other test of this process writes. */
export function newStream(): string {
  streams += 1;
  return `conversation-cnv_${streams.toString().padStart(6, "0")}`;
}

/** An append as a writer prepares it, with a valid chain. */
export function prepared(options: PreparedOptions = {}): PreparedAppend {
  const { stream = newStream(), expected = null, count = 1, extra = {} } = options;
  const data = options.data ?? Array.from({ length: count }, (_, index) => `{"n":${index}}`);
  let previous = expected?.digest ?? firstPrevious(stream);
  const envelopes = data.map((text, index): Envelope => {
    const hashed = {
      id: newEventId(),
      stream,
      revision: (expected?.revision ?? -1) + 1 + index,
      type: "Noted",
      version: 1,
      at: "2026-01-01T00:00:00.000Z",
      actor: { kind: "app" } as const,
      encoding: "json" as const,
      dataDigest: sha256Hex(text),
      ...extra,
    };
    previous = chainDigest(previous, hashed);
    return { ...hashed, data: text, digest: previous };
  });
  return { stream, expectedHead: expected, envelopes };
}

export async function appendPrepared(
  store: EventStore,
  options: PreparedOptions,
): Promise<{ readonly sent: PreparedAppend; readonly result: AppendResult }> {
  const sent = prepared(options);
  return { sent, result: await store.append(sent) };
}

/** The head of a stream whose newest events are these. */
export function headAfter({ envelopes }: PreparedAppend): Head {
  const last = envelopes.at(-1);
  if (last === undefined) throw new Error("an append of no events makes no head");
  return { revision: last.revision, digest: last.digest };
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** JSON text of about this many bytes. */
export const jsonText = (bytes: number): string => JSON.stringify({ text: "x".repeat(bytes) });

/** An event before a store assigned its position. */
export function withoutPosition<T extends { readonly position: string }>(event: T): Omit<T, "position"> {
  const copy: Omit<T, "position"> & { position?: string } = { ...event };
  delete copy.position;
  return copy;
}
