import { checkBounds } from "../../log/codec/bounds.ts";
import { firstRevision, headOf, isSameHead, resolveHeadMismatch } from "../../log/codec/idempotent-append.ts";
import type { AppendResult, Head, PreparedAppend, StoredEnvelope } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { serverEventOf } from "./envelope.ts";
import { EsdbFailure } from "./failure.ts";
import type { AppendAnswer } from "./messages.ts";
import { forPart, type Patience } from "./patience.ts";
import { ownEnvelope } from "./read.ts";
import type { Session } from "./session.ts";
import { checkStreamSettings, type OwnRange, readOwnStream } from "./stream.ts";

export type Appends = {
  append(prepared: PreparedAppend): Promise<AppendResult>;
  /** Resolves when every append has its result. */
  settled(): Promise<void>;
};

/**
 * Appends at explicit revisions. The server compares only revisions and event ids, so this code compares the rest:
 * the head's digest before an append, and the digests of events whose ids are already there.
 */
export function createAppends(session: Session): Appends {
  const { address, connection, heads, names, sameStore, translate } = session;
  const queueByStream = new Map<string, Promise<unknown>>();
  // Appends outlast `close`: those called before are still written and still resolve.
  const { signal } = new AbortController();

  async function read(
    stream: string,
    range: Partial<OwnRange> & Pick<OwnRange, "from" | "count">,
    patience: Patience,
  ): Promise<StoredEnvelope[]> {
    const envelopes: StoredEnvelope[] = [];
    const reading = { patience: forPart(patience), signal };
    for await (const events of readOwnStream(session, stream, { direction: "forwards", ...range }, reading))
      for (const event of events) envelopes.push(ownEnvelope(event, stream));
    return envelopes;
  }

  async function readHead(stream: string, patience: Patience): Promise<StoredEnvelope | null> {
    const [newest] = await read(stream, { from: "end", direction: "backwards", count: 1 }, patience);
    return newest ?? null;
  }

  /** The result of an append to a stream that is not at the expected head. */
  async function mismatch(prepared: PreparedAppend, patience: Patience): Promise<AppendResult> {
    const { stream, envelopes } = prepared;
    // In this order, because a later read shows everything that the head shows.
    const newest = await readHead(stream, patience);
    const present = await read(stream, { from: firstRevision(prepared), count: envelopes.length }, patience);
    heads.remember(stream, newest && headOf([newest]));
    return resolveHeadMismatch(prepared, newest && headOf([newest]), present);
  }

  async function appendNone({ stream, expectedHead: expected }: PreparedAppend): Promise<AppendResult> {
    const newest = await readHead(stream, session.patience());
    const actual = newest && headOf([newest]);
    return newest === null || actual === null || !isSameHead(expected, actual)
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  async function appendNow(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, expectedHead: expected, envelopes } = prepared;
    if (envelopes.length === 0) return appendNone(prepared);
    const patience = session.patience();
    const known = heads.head(stream);
    const isKnown = known !== undefined;
    if (!isSameHead(isKnown ? known : await firstLook(stream, patience), expected)) {
      const result = await mismatch(prepared, patience);
      if (!isConflictWith(result, expected)) return result;
    }
    for (;;) {
      const { answer, isRepeat } = await send(prepared, { patience, isKnown });
      if (answer.status === "appended") return answered(prepared, answer, { isRepeat, patience });
      const { current } = answer;
      if (current < heads.reached(stream)) {
        await patience.wait(new EsdbFailure("behind", `revision ${heads.reached(stream)} of ${stream} is gone`));
        continue;
      }
      const result = await mismatch(prepared, patience);
      const isReadable = result.status === "appended" || (result.actual?.revision ?? -1) >= current;
      if (isReadable && !isConflictWith(result, expected)) return result;
      // The server compares with what it has written, which may become readable, or be lost with its leader. So ask again.
      await patience.wait(
        new EsdbFailure("passing", `revision ${current} of ${stream} exists, but cannot be read yet`),
      );
    }
  }

  /** Reads the head of a stream on first use, after checking that the stream may be written. */
  async function firstLook(stream: string, patience: Patience): Promise<Head | null> {
    const reading = { patience: forPart(patience), signal };
    const [newest] = await Promise.all([readHead(stream, patience), checkStreamSettings(session, stream, reading)]);
    // Reads wait for each other, which is not the server's fault.
    patience.restore();
    return newest && headOf([newest]);
  }

  async function answered(
    prepared: PreparedAppend,
    { revision, position }: Appended,
    { isRepeat, patience }: { readonly isRepeat: boolean; readonly patience: Patience },
  ): Promise<AppendResult> {
    const { stream, envelopes } = prepared;
    const head = headOf(envelopes);
    if (head?.revision !== revision) {
      throw new StoreCorruptedError(
        `${stream} continued at revision ${revision} instead of ${head?.revision ?? "none"}: another program deleted it; restore it from a copy`,
      );
    }
    heads.acknowledge(stream, revision, position);
    if (position !== null) sameStore.note(envelopes.map(({ id }) => ({ id, position })).at(-1));
    // The answer to a repeat compares only ids, and may lack a position.
    if (isRepeat || position === null) return mismatch(prepared, patience);
    heads.remember(stream, head);
    return { status: "appended", head, position };
  }

  /**
   * Sends the same bytes at the same revision until the outcome is known or the time is up. A server silently accepts an append
   * to a stream that another program has deleted or truncated, so this is checked in parallel.
   */
  async function send(
    prepared: PreparedAppend,
    { patience, isKnown }: { readonly patience: Patience; readonly isKnown: boolean },
  ): Promise<Sent> {
    const { stream, expectedHead: expected, envelopes } = prepared;
    const events = envelopes.map(serverEventOf);
    for (let isRepeat = false; ; isRepeat = true) {
      const request = connection.messages.append(
        names.toServer(stream),
        expected === null ? null : expected.revision,
        events,
      );
      try {
        await sameStore.confirm(patience, signal);
        const silenceMs = Math.min(address.silenceMs.append, patience.leftMs());
        const [answer] = await Promise.all([
          connection.appends.send(request, silenceMs),
          isKnown ? checkStreamSettings(session, stream, { patience: forPart(patience), signal }) : null,
        ]);
        return { answer, isRepeat };
      } catch (error) {
        await patience.wait(error);
      }
    }
  }

  /** One append at a time per stream: the head for the next one is known when the one before has its result. */
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
      // The current head is unknown.
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

/** A conflict whose actual head is the expected one has no meaning: the server's index was behind. */
const isConflictWith = (result: AppendResult, expected: Head | null): boolean =>
  result.status === "conflict" && isSameHead(result.actual, expected);
