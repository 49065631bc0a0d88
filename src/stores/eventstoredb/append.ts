import { checkBounds } from "../../log/codec/bounds.ts";
import { firstRevision, isSameHead, resolveHeadMismatch } from "../../log/codec/idempotent-append.ts";
import { headOf } from "../../log/codec/prepare.ts";
import {
  type AppendResult,
  type Head,
  type PreparedAppend,
  StoreCorruptedError,
  type StoredEnvelope,
} from "../../log/ports/event-store.ts";
import { serverEventOf } from "./envelope.ts";
import { createRetryPolicy, Failure } from "./failure.ts";
import type { AppendAnswer } from "./messages.ts";
import { ownEnvelope } from "./read.ts";
import type { Session } from "./session.ts";
import { checkSettings, type OwnRange, readOwnStream } from "./stream.ts";

export type Appends = {
  append(prepared: PreparedAppend): Promise<AppendResult>;
  /** Resolves when every append that was called is answered. */
  settled(): Promise<void>;
};

/**
 * Appends at explicit revisions. The server compares revisions and event ids only, so what it cannot compare is compared
 * here: the head's digest before an append, the digests of events whose ids are there already.
 */
export function createAppends(session: Session): Appends {
  const { address, connection, heads, names, translate } = session;
  const queueByStream = new Map<string, Promise<unknown>>();
  // Appends outlive `close`: what was called before it is still written and answered.
  const { signal } = new AbortController();

  async function read(
    stream: string,
    range: Partial<OwnRange> & Pick<OwnRange, "from" | "count">,
  ): Promise<StoredEnvelope[]> {
    const envelopes: StoredEnvelope[] = [];
    for await (const events of readOwnStream(session, stream, { direction: "forwards", ...range }, signal))
      for (const event of events) envelopes.push(ownEnvelope(event, stream));
    return envelopes;
  }

  async function readHead(stream: string): Promise<StoredEnvelope | null> {
    const [newest] = await read(stream, { from: "end", direction: "backwards", count: 1 });
    return newest ?? null;
  }

  /** What a stream that is not at the expected head means for an append. */
  async function mismatch(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, envelopes } = prepared;
    // In this order: what the head shows, what is read after it shows too.
    const newest = await readHead(stream);
    const present = await read(stream, { from: firstRevision(prepared), count: envelopes.length });
    heads.remember(stream, newest && headOf([newest]));
    return resolveHeadMismatch(prepared, newest && headOf([newest]), present);
  }

  /** The first look at a stream in this process. */
  async function look(stream: string): Promise<Head | null> {
    const [newest] = await Promise.all([readHead(stream), checkSettings(session, stream, signal)]);
    return newest && headOf([newest]);
  }

  async function appendNone({ stream, expectedHead: expected }: PreparedAppend): Promise<AppendResult> {
    const newest = await readHead(stream);
    const actual = newest && headOf([newest]);
    return newest === null || actual === null || !isSameHead(expected, actual)
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  async function appendNow(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, expectedHead: expected, envelopes } = prepared;
    if (envelopes.length === 0) return appendNone(prepared);
    const known = heads.head(stream);
    if (!isSameHead(known === undefined ? await look(stream) : known, expected)) {
      const result = await mismatch(prepared);
      if (!isConflictWith(result, expected)) return result;
    }
    const retry = createRetryPolicy({ forMs: address.timeoutMs });
    for (;;) {
      const { answer, isRepeat } = await send(prepared);
      if (answer.status === "appended") return answered(prepared, answer, isRepeat);
      const { current } = answer;
      heads.limit(stream, current);
      const result = await mismatch(prepared);
      const isReadable = result.status === "appended" || (result.actual?.revision ?? -1) >= current;
      if (isReadable && !isConflictWith(result, expected)) return result;
      // The server compares with what it has written; that may become readable, or be lost with its leader. So it is asked anew.
      await retry.wait(new Failure("passing", `revision ${current} of ${stream} is there, and cannot be read yet`));
    }
  }

  async function answered(
    prepared: PreparedAppend,
    { revision, position }: Appended,
    isRepeat: boolean,
  ): Promise<AppendResult> {
    const { stream, envelopes } = prepared;
    const head = headOf(envelopes);
    if (head?.revision !== revision) {
      throw new StoreCorruptedError(
        `${stream} went on at revision ${revision} instead of ${head?.revision ?? "none"}: it was deleted by another program; restore it from a copy`,
      );
    }
    heads.acknowledge(stream, revision, position);
    // The answer to a repeat is about ids only, and may be without its place.
    if (isRepeat || position === null) return mismatch(prepared);
    heads.remember(stream, head);
    return { status: "appended", head, position };
  }

  /** Sends the same bytes at the same revision again, until the outcome is known or the time is up. */
  async function send({ stream, expectedHead: expected, envelopes }: PreparedAppend): Promise<Sent> {
    const retry = createRetryPolicy({ forMs: address.timeoutMs });
    const events = envelopes.map(serverEventOf);
    for (let isRepeat = false; ; isRepeat = true) {
      const request = connection.messages.append(
        names.toServer(stream),
        expected === null ? null : expected.revision,
        events,
      );
      try {
        return { answer: await connection.appends.send(request, address.silenceMs.append), isRepeat };
      } catch (error) {
        await retry.wait(error);
      }
    }
  }

  /** One at a time for each stream: the next one's head is known when the one before is answered. */
  async function append(prepared: PreparedAppend): Promise<AppendResult> {
    checkBounds(prepared);
    const { stream } = prepared;
    const before = queueByStream.get(stream) ?? Promise.resolve();
    const answered = before.then(() => appendNow(prepared));
    const settled = answered.catch(() => undefined);
    queueByStream.set(stream, settled);
    try {
      return await answered;
    } catch (error) {
      // What is there now is not known.
      heads.forget(stream);
      throw translate(error, { action: "append", stream });
    } finally {
      if (queueByStream.get(stream) === settled) queueByStream.delete(stream);
    }
  }

  return {
    append,
    async settled() {
      while (queueByStream.size > 0) await Promise.all(queueByStream.values());
    },
  };
}

type Sent = { readonly answer: AppendAnswer; readonly isRepeat: boolean };
type Appended = Extract<AppendAnswer, { readonly status: "appended" }>;

/** A conflict that names the head that was expected says nothing: it comes of an index that is behind. */
const isConflictWith = (result: AppendResult, expected: Head | null): boolean =>
  result.status === "conflict" && isSameHead(result.actual, expected);
