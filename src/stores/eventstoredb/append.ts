import { checkBounds } from "../../engine/codec/bounds.ts";
import { headOf } from "../../engine/codec/prepare.ts";
import { answerMismatch, firstRevision, isSameHead } from "../../engine/codec/repeat.ts";
import {
  type AppendResult,
  type Head,
  type PreparedAppend,
  StoreCorruptedError,
  type StoredEnvelope,
} from "../../engine/ports/event-store.ts";
import type { AppendAnswer } from "./append-channel.ts";
import { serverEventOf } from "./envelope.ts";
import { createPatience, silencesMax } from "./patience.ts";
import { positionText } from "./position.ts";
import { ownEnvelope } from "./read.ts";
import { readServerStream, type Session } from "./session.ts";
import { checkSettings } from "./stream-settings.ts";

export type Appends = {
  append(prepared: PreparedAppend): Promise<AppendResult>;
  /** Resolves when every append that was called is answered. */
  settled(): Promise<void>;
};

/** What this process knows of a stream: its head when it last looked, and that nothing of it will be cut off. */
type Known = { readonly head: Head | null };

/** Streams whose heads are remembered; of others they are read before an append. */
const knownStreamsMax = 10_000;

/**
 * Appends at explicit revisions. The server compares revisions and event ids only, so what it cannot compare is compared
 * here: the head's digest before an append, the digests of events whose ids are there already.
 */
export function createAppends(session: Session): Appends {
  const { address, connection, requests, names, translate } = session;
  const knownByStream = new Map<string, Known>();
  const queueByStream = new Map<string, Promise<unknown>>();
  // Appends outlive `close`: what was called before it is still written and answered.
  const { signal } = new AbortController();

  function remember(stream: string, head: Head | null): void {
    knownByStream.delete(stream);
    knownByStream.set(stream, { head });
    const [oldest] = knownByStream.keys();
    if (knownByStream.size > knownStreamsMax && oldest !== undefined) knownByStream.delete(oldest);
  }

  async function read(stream: string, range: Range): Promise<StoredEnvelope[]> {
    const envelopes: StoredEnvelope[] = [];
    const whole = { direction: "forwards", ...range, name: names.toServer(stream) } as const;
    for await (const events of readServerStream(session, whole, signal))
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
    const present = await read(stream, { from: firstRevision(prepared), count: envelopes.length });
    const newest = await readHead(stream);
    remember(stream, newest && headOf([newest]));
    return answerMismatch(prepared, newest && headOf([newest]), present);
  }

  /** The first look at a stream in this process. */
  async function look(stream: string): Promise<Known> {
    const [newest] = await Promise.all([readHead(stream), checkSettings(session, stream, signal)]);
    return { head: newest && headOf([newest]) };
  }

  async function appendNone({ stream, expected }: PreparedAppend): Promise<AppendResult> {
    const newest = await readHead(stream);
    const actual = newest && headOf([newest]);
    return newest === null || actual === null || !isSameHead(expected, actual)
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  async function appendNow(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, expected, envelopes } = prepared;
    const last = envelopes.at(-1);
    if (last === undefined) return appendNone(prepared);
    const known = knownByStream.get(stream) ?? (await look(stream));
    if (!isSameHead(known.head, expected)) return mismatch(prepared);
    const { answer, isRepeat } = await send(prepared);
    if (answer.status === "wrong-expected") return mismatch(prepared);
    if (answer.revision !== last.revision) {
      throw new StoreCorruptedError(
        `${stream} went on at revision ${answer.revision} instead of ${last.revision}: it was deleted by another program; restore it from a copy`,
      );
    }
    // A repeated append may be answered without its place.
    if (isRepeat || answer.position === null) return mismatch(prepared);
    const head = { revision: last.revision, digest: last.digest };
    remember(stream, head);
    return { status: "appended", head, position: positionText(answer.position) };
  }

  /** Sends the same bytes at the same revision again, until the outcome is known or the time is up. */
  async function send({ stream, expected, envelopes }: PreparedAppend): Promise<Sent> {
    const patience = createPatience({ forMs: address.timeoutMs });
    const endsAt = performance.now() + address.timeoutMs;
    const events = envelopes.map(serverEventOf);
    for (let isRepeat = false; ; isRepeat = true) {
      const request = requests.append(names.toServer(stream), expected === null ? null : expected.revision, events);
      try {
        const leftMs = Math.max(1, Math.ceil(endsAt - performance.now()));
        const limitMs = Math.min(leftMs, address.timeoutMs / silencesMax);
        return { answer: await connection.appends.send(request, limitMs), isRepeat };
      } catch (error) {
        await patience.wait(error);
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
      knownByStream.delete(stream);
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

type Range = { readonly from: number | "end"; readonly direction?: "forwards" | "backwards"; readonly count: number };

type Sent = { readonly answer: AppendAnswer; readonly isRepeat: boolean };
