import { anything, optionsOf } from "../base/options.ts";
import type { BlockNames } from "../domain/block-names.ts";
import { type ConversationEvent, isRequest, isRunEnd } from "../domain/events/event.ts";
import type { InferenceFailedData, NextProvider, RouterChoice } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import { plan } from "../engine/planning/plan.ts";
import type { PlanRequest } from "../engine/planning/plan-request.ts";
import { CheckedFold, firstOtherDigest, type Mismatch } from "../engine/recorded/checked-fold.ts";
import type { Codecs } from "../engine/recorded/recorded-request.ts";
import { firstBreak } from "../log/codec/envelope.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { placeOf } from "../log/codec/place.ts";
import { namesOf } from "../log/codec/stream-names.ts";
import { readHistory } from "../log/history/lineage.ts";
import { existingRevision } from "../log/history/revision.ts";
import { foldAround, isSkippedAsFound } from "../log/history/skipped-events.ts";
import type { StoredEnvelope } from "../log/ports/event-store.ts";
import { ConversationDamagedError } from "../projections/damage.ts";
import { differenceAt, type ReplayDifference } from "./difference.ts";
import { checkReplay, type RecordedConversation } from "./replay-options.ts";

export type FoldReplayOptions = {
  /** The codecs that encode recorded requests again, by name. Default: those of the conversation's store. */
  readonly codecs?: Codecs;
  /** The last revision of its own stream; a negative one counts from the end. */
  readonly to?: number;
  /** Called for every replayed event, with the number of events so far. */
  readonly onProgress?: (events: number) => void;
};

const replayOptions = optionsOf<FoldReplayOptions>({ codecs: anything, to: anything, onProgress: anything });

/** The result of a fold replay, and the first place where it diverges from the log. */
export type FoldReplay = {
  readonly stream: string;
  /** The last revision that was replayed. */
  readonly to: number;
  /** Events of the whole lineage. */
  readonly events: number;
  /** Turns whose digests were compared: at the start of runs, after layers, and at the end of runs. */
  readonly turns: number;
  /** Requests that were planned, shaped and encoded again. */
  readonly requests: number;
  readonly difference: ReplayDifference | null;
};

/**
 * Replays a conversation without any of the code that made it: folds its events, and plans, shapes and encodes every
 * request again from what was known before it. Compares everything recorded that can be computed.
 *
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 * @throws {ConversationDamagedError} at an event that cannot be read, including one of an unknown type or version.
 * @throws {TurnlogError} `unknown-codec` if another provider's codec encoded a request: pass it as `openStore(url, { codecs })`.
 */
export async function replayFolds(
  conversation: RecordedConversation,
  options: FoldReplayOptions = {},
): Promise<FoldReplay> {
  checkReplay("replayFolds", conversation, options, replayOptions);
  const { log: reader } = conversation;
  const stream = conversationStream(conversation.id);
  const { codecs = conversation.codecs, to: wanted = -1, onProgress } = options;
  const to = await existingRevision(reader.store, stream, wanted);
  const changed = await firstChanged(reader, stream, to);
  const names = await namesOf(reader.store, stream);
  let folds = new FoldComparison(stream, { codecs, names });
  try {
    await foldAround(reader, async (skipped) => {
      folds = new FoldComparison(stream, { codecs, names });
      for await (const recorded of readHistory(reader, stream, { to, skipped })) {
        folds.take(recorded);
        onProgress?.(folds.events);
        if (folds.difference !== null) return;
      }
    });
  } catch (error) {
    // A failed fold has already reported the place. If an event was overwritten, the chain has, too, and the text may not even be JSON.
    const isNamed = folds.difference !== null || changed !== null;
    if (!isNamed || !(error instanceof ConversationDamagedError)) throw error;
  }
  const { events, turns, requests } = folds;
  return { stream, to, events, turns, requests, difference: earlier(folds.difference, changed, stream) };
}

/** The first event that differs from what was written, by the hash chain: no other digest covers all of it. */
async function firstChanged(reader: EventReader, stream: string, to: number): Promise<ReplayDifference | null> {
  const isKnown = (envelope: StoredEnvelope): Promise<boolean> => isSkippedAsFound(reader, envelope);
  const broken = await firstBreak(reader.store, stream, { to, isKnown });
  if (broken === null) return null;
  const found = { field: "digest", recorded: broken.envelope.digest, replayed: null };
  return differenceAt(placeOf(broken.envelope), found, broken.reason);
}

/** If both are at one event, the differing member says more than the chain. */
function earlier(
  folded: ReplayDifference | null,
  changed: ReplayDifference | null,
  own: string,
): ReplayDifference | null {
  if (folded === null || changed === null) return folded ?? changed;
  const isFirst = folded.stream !== own || (folded.revision ?? 0) <= (changed.revision ?? 0);
  return isFirst ? folded : changed;
}

/** Folds events one by one, and compares each with the result of those before it. */
class FoldComparison {
  readonly #folds: CheckedFold;
  readonly #names: BlockNames;
  /** For each frame of a run: the route of its newest request, and how that failed. */
  readonly #asked = new Map<string | null, { readonly route: string | null; failure: InferenceFailedData | null }>();
  /** The router's choice for each frame of the run, if it was recorded before the requests. */
  readonly #chosen = new Map<string | null, RouterChoice>();
  events = 0;
  turns = 0;
  requests = 0;
  difference: ReplayDifference | null = null;

  constructor(stream: string, { codecs, names }: { readonly codecs: Codecs; readonly names: BlockNames }) {
    this.#folds = new CheckedFold(stream, codecs);
    this.#names = names;
  }

  take(recorded: RecordedEvent): void {
    const { event } = recorded;
    const wrong = this.#folds.take(recorded, this.#names);
    if (wrong !== null) {
      this.#differ(recorded, wrong);
      // Unless an operator skipped the event, the replay ends here.
      if (wrong.cause instanceof ConversationDamagedError) throw wrong.cause;
      return;
    }
    this.events += 1;
    if (isTurnCompared(event)) this.turns += 1;
    const { frame } = recorded;
    if (event.type === "RunStarted") for (const ofRun of [this.#asked, this.#chosen]) ofRun.clear();
    if (event.type === "StepRouted") this.#chosen.set(frame, event.data);
    const asked = this.#asked.get(frame);
    if (event.type === "InferenceFailed" && asked !== undefined) asked.failure = event.data;
    if (!isRequest(event)) return;
    this.requests += 1;
    const route = (event.type === "InferenceRequested" ? event.data.route : undefined) ?? null;
    const { attempt } = event.data;
    // Found beside the plan, and compared by the fold.
    const { cache: _, ...decision } = event.data.decision;
    const failure = attempt > 0 ? (asked?.failure ?? null) : null;
    const next = attempt > 0 ? failure?.next : this.#chosen.get(frame);
    const isAsSaid = next === undefined || (next !== null && "route" in next && next.route === route);
    // A provider that refused to continue gets everything from then on. A refusal of one provider says nothing about others.
    const hasRefused = failure !== null && asked?.route === route && decision.reason === "refused";
    this.#asked.set(frame, { route, failure: null });
    const decide = (request: PlanRequest) => {
      const planned = plan(request);
      // Or it failed for another reason, and an earlier refusal led to the same plan.
      const isPlanned = !hasRefused || firstOtherDigest(decision, planned, "decision") === null;
      return isPlanned ? planned : plan({ ...request, full: "refused" });
    };
    const other = isAsSaid ? this.#folds.checkRequest(recorded, decide) : routeMismatch(route, next);
    if (other !== null) this.#differ(recorded, other);
  }

  /** Shows two values if there are two; otherwise words. */
  #differ(recorded: RecordedEvent, mismatch: Mismatch): void {
    this.difference = differenceAt(recorded, mismatch, mismatch.replayed === null ? mismatch.words : undefined);
  }
}

/** The event before a request names its provider. */
const routeMismatch = (route: string | null, next: NextProvider): Mismatch => ({
  ...{ field: "route", recorded: route, replayed: null },
  words: `it went to ${route ?? "the engine's own provider"}, but the events before it chose ${JSON.stringify(next)}`,
});

const isTurnCompared = (event: ConversationEvent): boolean =>
  isRunEnd(event) ||
  ["RunStarted", "TurnEdited", "TurnReverted", "TurnCompacted", "InferenceRequested"].includes(event.type);
