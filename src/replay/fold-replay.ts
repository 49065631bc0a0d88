import type { OptionNames } from "../base/options.ts";
import { utf8Length } from "../base/utf8.ts";
import { hasOwnDigest } from "../domain/block-json.ts";
import { blocksIn } from "../domain/events/blocks-in.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { plan } from "../engine/planning/plan.ts";
import {
  type Codecs,
  checkRecordedRequest,
  inputTurn,
  rebuildRequest,
  recordedRequest,
} from "../engine/planning/recorded-request.ts";
import { settingsDigest } from "../engine/planning/request-settings.ts";
import { checkEnvelope } from "../log/codec/envelope.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { readHistory } from "../log/history/lineage.ts";
import { existingRevision } from "../log/history/revision.ts";
import { foldAround } from "../log/history/skipped-events.ts";
import type { EventStore, Head } from "../log/ports/event-store.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import { ConversationDamagedError } from "../projections/damage.ts";
import { differenceAt, firstDifference, type ReplayDifference } from "./difference.ts";
import { checkReplay } from "./replay-options.ts";

export type FoldReplayOptions = {
  readonly codecs: Codecs;
  /** The last revision of its own stream; counted from the end when negative. */
  readonly to?: number;
  /** Told of every event that was replayed: how many there are by then. */
  readonly onProgress?: (events: number) => void;
};

const optionNames: OptionNames<FoldReplayOptions> = { codecs: true, to: true, onProgress: true };

/** What a fold replay has looked at, and the first place where it parts from the log. */
export type FoldReplay = {
  readonly stream: string;
  /** The last revision that was replayed. */
  readonly to: number;
  /** Events of the whole lineage. */
  readonly events: number;
  /** Turns whose digests were compared: what runs began with, what layers handed on, what runs ended with. */
  readonly turns: number;
  /** Requests that were planned, shaped and encoded again. */
  readonly requests: number;
  readonly difference: ReplayDifference | null;
};

/**
 * Replays a conversation without any of the code that made it: folds its events, and plans, shapes and encodes every
 * request again on what was known before it. Everything recorded that can be computed is computed and compared.
 *
 * @throws {RevisionNotFoundError} when there is no such revision.
 * @throws {ConversationDamagedError} at an event that cannot be read: an unknown type or version among them.
 * @throws {UnknownCodecError} when a request was encoded by a codec that is not among `codecs`.
 */
export async function replayFolds(
  reader: EventReader,
  stream: string,
  options: FoldReplayOptions,
): Promise<FoldReplay> {
  checkReplay("replayFolds", reader, options, optionNames);
  const { codecs, to: wanted = -1, onProgress } = options;
  const to = await existingRevision(reader.store, stream, wanted);
  const changed = await firstChanged(reader.store, stream, to);
  const folds = new FoldComparison(stream, codecs);
  try {
    await foldAround(reader, async (skipped) => {
      folds.clear();
      for await (const { recorded } of readHistory(reader, stream, { to, skipped })) {
        folds.take(recorded);
        onProgress?.(folds.events);
        if (folds.difference !== null) return;
      }
    });
  } catch (error) {
    // A fold that fails has said where; and what was written over may not even be JSON: the chain has named it.
    const isNamed = folds.difference !== null || changed !== null;
    if (!isNamed || !(error instanceof ConversationDamagedError)) throw error;
  }
  const { events, turns, requests } = folds;
  return { stream, to, events, turns, requests, difference: earlier(folds.difference, changed, stream) };
}

/** The first event that is not what was written there, by the hash chain: some of what it says no other digest covers. */
async function firstChanged(store: EventStore, stream: string, to: number): Promise<ReplayDifference | null> {
  let head: Head | null = null;
  for await (const envelope of store.readStream(stream, { limit: to + 1 })) {
    const checked = checkEnvelope(head, envelope);
    if (!checked.ok) {
      const { revision, frame = null, actor, digest } = envelope;
      const found = { field: "digest", recorded: digest, replayed: null };
      return differenceAt({ stream, revision, frame, actor }, found, checked.error.reason);
    }
    head = checked.value;
  }
  return null;
}

/** Of one event the member that differs says more than the chain does. */
function earlier(
  folded: ReplayDifference | null,
  changed: ReplayDifference | null,
  own: string,
): ReplayDifference | null {
  if (folded === null || changed === null) return folded ?? changed;
  const isFirst = folded.stream !== own || (folded.revision ?? 0) <= (changed.revision ?? 0);
  return isFirst ? folded : changed;
}

/** Folds events one by one, and compares each with what those before it give. */
class FoldComparison {
  readonly #stream: string;
  readonly #codecs: Codecs;
  #view: ConversationView;
  /** Whether the server has refused to continue, in the step that is being made: from then on it is sent everything. */
  #isRefused = false;
  events = 0;
  turns = 0;
  requests = 0;
  difference: ReplayDifference | null = null;

  constructor(stream: string, codecs: Codecs) {
    this.#stream = stream;
    this.#codecs = codecs;
    this.#view = conversationView.initial(stream);
  }

  /** Begins anew. */
  clear(): void {
    this.#view = conversationView.initial(this.#stream);
    this.#isRefused = false;
    this.events = 0;
    this.turns = 0;
    this.requests = 0;
    this.difference = null;
  }

  take(recorded: RecordedEvent): void {
    const { event } = recorded;
    const block = blocksIn(event).find((json) => !hasOwnDigest(json));
    if (block !== undefined) {
      const found = { field: "block.digest", recorded: block.digest, replayed: null };
      this.difference = differenceAt(recorded, found, `block ${block.id} is not what its digest names`);
      return;
    }
    if (!this.#fold(recorded)) return;
    this.events += 1;
    if (isTurnCompared(event)) this.turns += 1;
    if (event.type === "AnchorInvalidated" && recorded.runId !== null) this.#isRefused = true;
    if (event.type === "SettingsDeclared") {
      const { digest, settings } = event.data;
      const found = firstDifference(digest, settingsDigest(settings), "digest");
      this.difference = found === null ? null : differenceAt(recorded, found);
    }
    if (event.type !== "InferenceRequested") return;
    if (event.data.attempt === 0) this.#isRefused = false;
    this.requests += 1;
    this.difference = this.#compareRequest(recorded, event.data);
  }

  #fold(recorded: RecordedEvent): boolean {
    try {
      this.#view = conversationView.apply(this.#view, recorded);
      return true;
    } catch (error) {
      const cause = error instanceof ConversationDamagedError ? error.cause : error;
      const message = cause instanceof Error ? cause.message : String(cause);
      const found = { field: foldedField(recorded.event), recorded: null, replayed: null };
      this.difference = differenceAt(recorded, found, message);
      // Unless an operator skipped the event, this is where the replay ends.
      if (error instanceof ConversationDamagedError) throw error;
      return false;
    }
  }

  #compareRequest(recorded: RecordedEvent, request: InferenceRequestedData): ReplayDifference | null {
    const view = this.#view;
    const { settingsDigest: digest, input, requestDigest, requestBytes } = request;
    const settings = view.server.settings.get(digest);
    const declared = firstDifference(
      digest,
      settings === undefined ? null : settingsDigest(settings),
      "settingsDigest",
    );
    if (declared !== null) return differenceAt(recorded, declared);
    const asked = recordedRequest(view, recorded, this.#codecs);
    const decision = plan(this.#isRefused ? { ...asked, full: "refused" } : asked);
    const decided = firstDifference(request.decision, decision, "decision");
    if (decided !== null) return differenceAt(recorded, decided);
    const rebuilt = rebuildRequest(view, recorded, this.#codecs);
    const { bodyText, held, digest: bodyDigest } = rebuilt;
    const found =
      firstDifference(input.blocks, inputTurn(view, recorded).length, "input.blocks") ??
      firstDifference(input.turn, inputTurn(view, recorded).digest, "input.turn") ??
      firstDifference(input.held, held, "input.held") ??
      firstDifference(requestDigest, bodyDigest, "requestDigest") ??
      firstDifference(requestBytes, utf8Length(bodyText), "requestBytes");
    if (found !== null) return differenceAt(recorded, found);
    const problem = checkRecordedRequest(view, recorded, rebuilt);
    const other = { field: "input", recorded: null, replayed: null };
    return problem === null ? null : differenceAt(recorded, other, problem);
  }
}

const isTurnCompared = ({ type }: ConversationEvent): boolean =>
  ["RunStarted", "TurnEdited", "TurnReverted", "InferenceRequested"].includes(type) || isEnd(type);

const isEnd = (type: ConversationEvent["type"]): boolean =>
  type === "RunCompleted" || type === "RunFailed" || type === "RunCancelled";

/** The member that a fold compares the Turn with. */
function foldedField({ type }: ConversationEvent): string {
  if (type === "RunStarted") return "base";
  if (type === "InferenceRequested") return "input.turn";
  return isEnd(type) || type === "TurnEdited" || type === "TurnReverted" ? "after" : "event";
}
