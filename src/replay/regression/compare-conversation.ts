import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import type { EngineOptions } from "../../engine/options/engine.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { forksOf } from "../../log/history/lineage.ts";
import { existingRevision } from "../../log/history/revision.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { erasedSince } from "../erased-runs.ts";
import { recordedRoutes } from "../recorded-endpoints.ts";
import { historyOf, type RecordedRun } from "../recorded-runs.ts";
import { type ComparedRun, compareRun, isAsBefore } from "./compare-run.ts";
import type { Culprit } from "./culprit.ts";
import { answersOf, type RecordedAnswer } from "./request-cost.ts";
import { type PolicyChoice, type RunSide, recordedSide, Track, type TrackSource, type UnknownReason } from "./track.ts";

/** The stacks to compare. */
export type ComparedStacks = {
  readonly now: EngineOptions;
  /** The stack to compare with; null for the recording. */
  readonly before: EngineOptions | null;
  /** The layer that `now` leaves out. */
  readonly without: string | null;
  readonly recordedPolicies: boolean;
  /** Layers of which the recording takes the place. */
  readonly asRecorded: ReadonlySet<string>;
};

/** A run, as the two made it, and the recorded answers by the revisions of their requests, for what they cost. */
export type PlayedRunPair = {
  readonly compared: ComparedRun;
  readonly before: RunSide;
  readonly now: RunSide;
  readonly answers: ReadonlyMap<number, RecordedAnswer>;
};

type Recording = { readonly id: ConversationId; readonly log: EventReader; readonly codecs: Codecs };

/** What ended a comparison before the conversation did. */
export type Broken = { readonly reason: UnknownReason; readonly requests: number; readonly message: string };

/** Compares every run of a conversation's own stream; ends with what could not be read. */
export async function* compareConversation(
  recording: Recording,
  stacks: ComparedStacks,
): AsyncGenerator<PlayedRunPair | Broken> {
  const { id, log: reader } = recording;
  const stream = conversationStream(id);
  let read = -1;
  try {
    const comparison = await Comparison.of(recording, stacks);
    const to = await existingRevision(reader.store, stream, -1);
    for await (const step of historyOf(reader, stream, to)) {
      if (step.recorded.stream === stream) read = step.recorded.revision;
      const pair = await comparison.take(step);
      if (pair !== null) yield pair;
    }
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    yield { reason, requests: await requestsAfter(reader, stream, read), message: messageOf(error) };
  }
}

/** A conversation in which a layer blocks its thread: nothing of it can be compared. */
export const blockedConversation = async (
  { id, log: reader }: Pick<Recording, "id" | "log">,
  message: string,
): Promise<Broken> => ({
  reason: "blocked",
  requests: await requestsAfter(reader, conversationStream(id), -1),
  message,
});

/** Null if the store is the cause, because then nothing can be said of any conversation. */
function reasonOf(error: unknown): UnknownReason | null {
  if (error instanceof ConversationDamagedError) return "damaged";
  if (!(error instanceof Error)) return "failed";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return ofStores.has(code) ? null : (reasonByCode.get(code) ?? "failed");
}

const ofStores: ReadonlySet<string> = new Set([
  ...["store-unavailable", "store-replaced", "store-closed", "store-too-new", "access-denied", "revision-not-found"],
]);

const reasonByCode: ReadonlyMap<string, UnknownReason> = new Map<string, UnknownReason>([
  ["conversation-erased", "erased"],
  ["unreadable-event", "damaged"],
  ["unknown-codec", "codec"],
  ["unknown-block-version", "damaged"],
  ["edit-does-not-apply", "damaged"],
  ["store-corrupted", "damaged"],
]);

async function requestsAfter({ store }: EventReader, stream: string, revision: number): Promise<number> {
  let requests = 0;
  for await (const { type } of store.readStream(stream, { from: revision + 1 }))
    if (type === "InferenceRequested") requests += 1;
  return requests;
}

type Step = { readonly recorded: RecordedEvent; readonly run: RecordedRun | null; readonly view: ConversationView };

class Comparison {
  readonly #stream: string;
  readonly #stacks: ComparedStacks;
  readonly #now: Track;
  readonly #before: Track | null;
  readonly #isErased: (run: RecordedRun) => boolean;
  readonly #codecs: Codecs;
  /** The layers that first declared settings, by digest. */
  readonly #declarers = new Map<string, string>();
  #pending: RecordedEvent[] = [];
  #earlier: Culprit | null = null;

  constructor(source: TrackSource, stacks: ComparedStacks, isErased: (run: RecordedRun) => boolean) {
    const { now, before, without, recordedPolicies, asRecorded } = stacks;
    this.#stream = source.stream;
    this.#codecs = source.codecs;
    this.#stacks = stacks;
    this.#isErased = isErased;
    const policies = (other: EngineOptions | null): PolicyChoice =>
      recordedPolicies ? { kind: "recorded" } : { kind: "engine", other };
    this.#now = new Track(source, now, { policies: policies(before), without, asRecorded });
    this.#before = before === null ? null : new Track(source, before, { policies: policies(now) });
  }

  static async of({ id, log: reader, codecs }: Recording, stacks: ComparedStacks): Promise<Comparison> {
    const stream = conversationStream(id);
    const to = await existingRevision(reader.store, stream, -1);
    const isRouted = stacks.now.routing !== null || (stacks.before !== null && stacks.before.routing !== null);
    const forks = await forksOf(reader, stream);
    const source = {
      ...{ reader, stream, codecs },
      ancestors: new Map(forks.map((fork) => [fork.stream, fork.revision + 1] as const)),
      routes: isRouted ? await recordedRoutes(reader, stream, to) : new Map<string, string>(),
    };
    return new Comparison(source, stacks, await erasedSince(reader, stream));
  }

  /** The tracks, the earlier one first. */
  get #tracks(): readonly Track[] {
    return this.#before === null ? [this.#now] : [this.#before, this.#now];
  }

  async take({ recorded, run, view }: Step): Promise<PlayedRunPair | null> {
    const { event, actor, stream } = recorded;
    if (event.type === "SettingsDeclared" && actor.kind === "middleware" && !this.#declarers.has(event.data.digest))
      this.#declarers.set(event.data.digest, actor.name);
    // What the ancestors of a fork did is compared with them.
    if (stream !== this.#stream) return null;
    const isOfRun = run !== null || view.client.run !== null;
    // What was said during a run comes after it.
    if ((recorded.runId === null || !isOfRun) && event.type !== "SettingsDeclared") this.#pending.push(recorded);
    const pair = run === null || run.events[0]?.stream !== this.#stream ? null : await this.#compare(run, view);
    if (view.client.run === null || run !== null)
      for (const each of this.#pending.splice(0)) for (const track of this.#tracks) await track.follow(each);
    return pair;
  }

  async #compare(run: RecordedRun, view: ConversationView): Promise<PlayedRunPair> {
    const recorded = recordedSide(run, { settings: view.server.settings, declarers: this.#declarers });
    const sides: RunSide[] = [];
    for (const track of this.#tracks) sides.push(await this.#play(track, { run, view, recorded }));
    const [first = recorded, second] = sides;
    const [before, now] = second === undefined ? [recorded, first] : [first, second];
    const { codec } = this.#stacks.now.provider;
    const compared = compareRun(before, now, { codec, earlier: this.#earlier, recorded });
    this.#earlier ??= compared.differences[0]?.culprit ?? compared.end;
    return { compared, before, now, answers: answersOf(run, view.server.settings) };
  }

  /** Makes a run on a track, and decides from what its next run begins. */
  async #play(track: Track, { run, view, recorded }: Playing): Promise<RunSide> {
    const why = track.lost ?? this.#whyNot(run);
    if (why !== null) {
      track.skip(why);
      return unplayed(recorded, why);
    }
    try {
      const side = await track.play(run, view, recorded.trace.calls);
      track.settleRun(run, { isSame: isAsBefore(recorded, side), unknown: side.unknown });
      return side;
    } catch (error) {
      if (!(error instanceof TurnlogError) || error.code !== "context-missing") throw error;
      track.skip("context");
      const message = error.cause === undefined ? null : `the context cannot be made: ${messageOf(error.cause)}`;
      return { ...unplayed(recorded, "context"), message };
    }
  }

  #whyNot(run: RecordedRun): UnknownReason | null {
    if (this.#isErased(run)) return "erased";
    for (const { event } of run.events) {
      if (event.type !== "InferenceRequested") continue;
      if (!this.#codecs.has(event.data.encoder)) return "codec";
      // A connection ends with its process, and what it remembered of the conversation with it.
      if (event.data.decision.lives !== undefined) return "connection";
      // Another engine took over the run, at an endpoint that no engine has together with the first.
      if (event.data.route === undefined && event.data.scope !== run.started.provider.scope) return "provider";
    }
    return null;
  }
}

type Playing = { readonly run: RecordedRun; readonly view: ConversationView; readonly recorded: RunSide };

/** A run that was not made. */
const unplayed = ({ trace }: RunSide, unknown: UnknownReason): RunSide => ({
  trace: { ...trace, requests: [], end: null },
  ...{ unknown, message: null, isCut: false, turnAt: () => null },
});
