import type { Codec } from "../../engine/ports/codec.ts";
import { type Compared, type Culprit, culpritOf, type RequestPair } from "./culprit.ts";
import { firstOtherBlock, type RequestEffect, requestEffect } from "./request-effect.ts";
import type { TracedRequest } from "./run-trace.ts";
import type { RunSide, UnknownReason } from "./track.ts";

/** A request that the changed stack makes otherwise, or that only one of the two makes. */
export type RequestDifference = {
  readonly runId: string;
  readonly frame: string;
  readonly attempt: number;
  /** Of the recorded request; null if the changed stack alone makes it. */
  readonly revision: number | null;
  /** Whether the same bytes are sent. */
  readonly isSame: boolean;
  /** Whether the model reads the same Turn with the same settings. */
  readonly readsSame: boolean;
  /** How it was sent; null if only the changed stack makes it. */
  readonly before: SentAs | null;
  /** How it would be sent; null if the changed stack does not make it. */
  readonly now: SentAs | null;
  readonly effect: RequestEffect;
  readonly culprit: Culprit;
  /** What else changes the request, if several layers differ. */
  readonly others: readonly Culprit[];
};

/** How a request is sent. */
export type SentAs = {
  readonly strategy: string;
  readonly reason: string | null;
  readonly bytes: number;
  readonly requestDigest: string;
};

/** Two executions of a run, compared request by request. */
export type ComparedRun = {
  readonly runId: string;
  /** Requests of the earlier side. */
  readonly requests: number;
  readonly compared: number;
  readonly differences: readonly RequestDifference[];
  /** The places of requests that are made as before. */
  readonly unchanged: readonly string[];
  /** The culprit if the run ends otherwise, though no request of it differs. */
  readonly end: Culprit | null;
  /** Why the rest of the run is unknown, how many requests that are, and more about it for people, if there is more to say. */
  readonly unknown: {
    readonly reason: UnknownReason;
    readonly requests: number;
    readonly message: string | null;
  } | null;
};

type Comparing = {
  readonly codec: Codec;
  readonly earlier: Culprit | null;
  /** The recorded run, whatever the two are. */
  readonly recorded: RunSide;
};

/** Compares what two stacks made of a run. */
export function compareRun(before: RunSide, now: RunSide, { codec, earlier, recorded }: Comparing): ComparedRun {
  const compared: Compared = { before: before.trace, now: now.trace, codec, earlier };
  const { pairs, left, requests } = pairRequests(before, now);
  const reason = before.unknown ?? now.unknown;
  const isOpen = isOpenEnded(before, now);
  const differing = pairs.filter((pair) => !isUnchanged(pair));
  const revisions = new Map(recorded.trace.requests.map(({ key, revision }) => [key, revision]));
  const differences = differing.map((pair) => differenceOf(pair, { before, now, compared, revisions }));
  const hasOtherEnd = !isOpen && differences.length === 0 && endText(before) !== endText(now);
  return {
    ...{ runId: now.trace.runId, requests, compared: requests - left.length, differences },
    unchanged: pairs
      .filter(isUnchanged)
      .map((pair) => placeOf({ ...placeIn(pair, revisions), runId: now.trace.runId })),
    end: hasOtherEnd ? culpritOf(compared, null) : null,
    unknown:
      left.length > 0 || reason !== null
        ? { reason: reason ?? "answer", requests: left.length, message: before.message ?? now.message }
        : null,
  };
}

/** Whether both made every request the same and ended the same, as far as the recording goes. */
export function isAsBefore(before: RunSide, now: RunSide): boolean {
  const { pairs } = pairRequests(before, now);
  return pairs.every(isUnchanged) && (isOpenEnded(before, now) || endText(before) === endText(now));
}

const isOpenEnded = (before: RunSide, now: RunSide): boolean =>
  before.unknown !== null || now.unknown !== null || before.isCut || now.isCut;

type Pairs = {
  readonly pairs: readonly RequestPair[];
  /** Earlier requests with which nothing could be compared. */
  readonly left: readonly TracedRequest[];
  readonly requests: number;
};

function pairRequests(before: RunSide, now: RunSide): Pairs {
  const byKey = new Map(now.trace.requests.map((request) => [request.key, request]));
  const isOpen = isOpenEnded(before, now);
  const pairs: RequestPair[] = [];
  const left: TracedRequest[] = [];
  let requests = 0;
  for (const each of before.trace.requests) {
    const other = byKey.get(each.key) ?? null;
    byKey.delete(each.key);
    // A process ended before the answer came, and another one sent the request again.
    if (other === null && isSuperseded(before, each)) continue;
    requests += 1;
    const isOfAnotherDialect = now.unknown === "codec" && other !== null && other.encoder !== each.encoder;
    if ((other === null && isOpen) || isOfAnotherDialect) left.push(each);
    else pairs.push({ before: each, now: other });
  }
  // Where the recorded run was cut off, the log does not say what it would have asked next.
  const hasMore = !before.isCut && now.unknown !== "codec";
  for (const other of hasMore ? byKey.values() : []) pairs.push({ before: null, now: other });
  return { pairs, left, requests };
}

const isSuperseded = ({ trace }: RunSide, { inferenceId, frame, attempt }: TracedRequest): boolean =>
  trace.lost.has(inferenceId) && trace.requests.some((other) => other.frame === frame && other.attempt > attempt);

const isUnchanged = ({ before, now }: RequestPair): boolean =>
  before !== null && now !== null && isSameSent(before, now) && isSameRead(before, now);

const isSameSent = (before: TracedRequest, now: TracedRequest): boolean => before.requestDigest === now.requestDigest;

const isSameRead = (before: TracedRequest, now: TracedRequest): boolean =>
  before.context === now.context && before.settingsDigest === now.settingsDigest;

const endText = ({ trace: { end } }: RunSide): string =>
  end === null ? "" : `${end.type} ${end.kind ?? ""} ${end.after}`;

type Sides = {
  readonly before: RunSide;
  readonly now: RunSide;
  readonly compared: Compared;
  readonly revisions: ReadonlyMap<string, number | null>;
};

function differenceOf(pair: RequestPair, { before, now, compared, revisions }: Sides): RequestDifference {
  const turns = {
    before: pair.before === null ? null : before.turnAt(pair.before.frame),
    now: pair.now === null ? null : now.turnAt(pair.now.frame),
  };
  const isBoth = pair.before !== null && pair.now !== null;
  return {
    ...{ runId: now.trace.runId, ...placeIn(pair, revisions) },
    isSame: isBoth && isSameSent(pair.before, pair.now),
    readsSame: isBoth && isSameRead(pair.before, pair.now),
    ...{ before: sentAs(pair.before), now: sentAs(pair.now) },
    effect: requestEffect(pair, turns),
    culprit: { ...culpritOf(compared, pair), block: firstOtherBlock(turns) },
    others: [],
  };
}

/** Names a request in all comparisons of a conversation: by its recorded one, if there is one. */
export const placeOf = ({
  runId,
  frame,
  attempt,
  revision,
}: Pick<RequestDifference, "runId" | "frame" | "attempt" | "revision">): string =>
  revision === null ? `${runId} ${frame} ${attempt}` : `${runId} ${revision}`;

const placeIn = (
  pair: RequestPair,
  revisions: ReadonlyMap<string, number | null>,
): Pick<RequestDifference, "frame" | "attempt" | "revision"> => {
  const { frame, attempt } = pair.now ?? pair.before ?? { frame: "0", attempt: 0 };
  return { frame, attempt, revision: revisions.get(pair.before?.key ?? "") ?? null };
};

function sentAs(request: TracedRequest | null): SentAs | null {
  if (request === null) return null;
  const { strategy, reason } = request.data.decision;
  return { strategy, reason, bytes: request.bytes, requestDigest: request.requestDigest };
}
