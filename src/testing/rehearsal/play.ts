import { utf8Length } from "../../base/utf8.ts";
import { commit } from "../../conversation/commit.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import { blockAppending } from "../../domain/events/blocks-in.ts";
import { isHole } from "../../domain/events/recorded.ts";
import { conversationStream, keyedBlockId } from "../../domain/ids.ts";
import type { Mode } from "../../engine/options/chain-policy.ts";
import type { Engine } from "../../engine/options/engine.ts";
import { RunFailedError } from "../../engine/session/errors.ts";
import { conversationView } from "../../projections/views/conversation-view.ts";
import { type Cast, drawPlayer, type Player } from "./cast.ts";
import type { ChatDocument } from "./chat-format.ts";
import { drawFrom } from "./draw.ts";
import { changeEntries, drawEdit, type EditOptions } from "./edits.ts";
import { blockOf, type Entry } from "./entries.ts";
import type { Play } from "./exchanges.ts";
import { expectedOf } from "./expected.ts";
import { withoutElsewhere } from "./read-otherwise.ts";
import type { Stage } from "./stage.ts";

/** Counts over all conversations of a rehearsal. */
export type RehearsalCounts = ReturnType<typeof noCounts>;

export const noCounts = () => ({
  /** How often a request was sent in another mode than the one before it. */
  switches: 0,
  /** How often a request went to another provider than the one before it. */
  handoffs: 0,
  /** Bodies of requests for answers, including rejected ones. */
  requests: 0,
  chained: 0,
  rebased: 0,
  full: 0,
  /** Requests of warm-ups, which ask for no answer. */
  warmUps: 0,
  /** Other requests about conversation objects: creating, listing, deleting items. */
  objectCalls: 0,
  coherent: 0,
  /** Requests that the model read differently, or that were rejected, missing, superfluous or not judged. */
  incoherent: 0,
  events: 0,
  bytesSent: 0,
});

/** One request that was wrong. */
export type Incoherence = {
  readonly conversation: string;
  /** Counted from 0 within the conversation. */
  readonly request: number;
  readonly what: string;
};

export type Playing = {
  readonly cast: Cast;
  readonly conversation: Conversation;
  readonly document: ChatDocument;
  readonly play: Play;
  readonly stage: Stage;
  readonly counts: RehearsalCounts;
  readonly edits: EditOptions;
  readonly warmUpRate: number;
  readonly signal: AbortSignal;
  readonly onIncoherence: (incoherence: Incoherence) => void;
};

/**
 * Plays one conversation: appends what the document says, edits, runs the engine, and judges each request against the document with
 * the same edits. A failed run ends the conversation: the remaining requests count as missing.
 */
export async function playConversation(playing: Playing): Promise<void> {
  const { conversation, document, play, stage, cast, counts, edits } = playing;
  stage.view = conversationView.initial(conversation.id);
  stage.stream = conversationStream(conversation.id);
  let next = 0;
  let mode: Mode | undefined;
  let [player] = cast;
  const answeredBy: Player[] = [];
  /** The entries last sent and answered, for a warm-up to send again. */
  let held: readonly Entry[] = [];
  let entries: readonly Entry[] = [];
  try {
    const data = { origin: { type: "new" }, title: document.id } as const;
    await conversation[commit]([
      { event: { type: "ConversationStarted", version: 1, data }, actor: { kind: "app", name: "rehearse" } },
    ]);
    for (const [request, { appended, answer }] of play.exchanges.entries()) {
      await append(conversation, appended, `request ${request}`);
      entries = [...entries, ...appended];
      const edit = drawEdit(entries, { conversation: document.id, request }, edits);
      const outgoing = edit === null ? entries : changeEntries(entries, edit.change);
      stage.edit = edit;
      const before = player;
      player = drawPlayer(cast, { seed: edits.seed, conversation: document.id, request }, before);
      if (player !== before) counts.handoffs += 1;
      const drawn = drawMode(playing, player, request);
      if (request > 0 && drawn !== mode) counts.switches += 1;
      mode = drawn;
      const unwarmed = await warmUp(playing, player, { request, outgoing: held, answeredBy });
      next = await foldFrom(next, playing);
      const failure = await ask(playing, player.engine, mode);
      answeredBy.push(player);
      const wrong = failure ?? unwarmed ?? verdict(playing, player, { request, outgoing, answeredBy });
      if (wrong === null) counts.coherent += 1;
      else report(playing, request, wrong);
      if (failure !== null) {
        for (let missing = request + 1; missing < play.exchanges.length; missing += 1)
          report(playing, missing, "it was not sent: the conversation had failed");
        return;
      }
      const answered = recordOf(answer, player);
      held = [...outgoing, ...answered];
      entries = [...(edit?.isOnce === true ? entries : outgoing), ...answered];
    }
    await append(conversation, play.rest, "rest");
  } finally {
    await foldFrom(next, playing);
    for (const { server } of cast) {
      counts.requests += server.requests.length;
      counts.objectCalls += server.calls.length;
      counts.warmUps += server.warmUps.length;
      for (const { bodyText } of [...server.requests, ...server.warmUps, ...server.calls])
        counts.bytesSent += utf8Length(bodyText);
    }
  }
}

/** Folds the events recorded since: the decisions, and what the planner knows next. */
async function foldFrom(first: number, { conversation, stage, counts }: Playing): Promise<number> {
  let next = first;
  for await (const recorded of conversation.events(first)) {
    if (isHole(recorded)) continue;
    stage.view = conversationView.apply(stage.view, recorded);
    counts.events += 1;
    const { event, revision } = recorded;
    if (event.type === "InferenceRequested") counts[event.data.decision.strategy] += 1;
    next = revision + 1;
  }
  return next;
}

async function append(conversation: Conversation, entries: readonly Entry[], key: string): Promise<void> {
  const blocks = entries.flatMap((entry) => (entry.kind === "reasoning" ? [] : [blockOf(entry)]));
  // Committed directly: a document may have results without calls, which a request leaves out.
  const events = blocks.map((block, index) =>
    blockAppending(block.withId(keyedBlockId(conversation.id, `rehearse ${key}`, index))),
  );
  await conversation[commit](events.map((event) => ({ event, actor: { kind: "user" } })));
}

/** Runs the engine and returns a run's error in one sentence. Errors of the store and aborts of the caller are thrown. */
async function ask({ conversation, signal }: Playing, engine: Engine, mode?: Mode): Promise<string | null> {
  try {
    await conversation.run(engine, { signal, again: true, ...(mode === undefined ? {} : { mode }) });
    return null;
  } catch (error) {
    if (error instanceof RunFailedError) return error.message;
    throw error;
  }
}

/** A separate draw, so that other modes change no edit. */
const drawMode = ({ document, edits }: Playing, { modes }: Player, request: number): Mode | undefined =>
  modes === null ? undefined : drawFrom("mode", edits.seed, document.id, request).pick(modes);

/** The answer as it is in the log: without reasoning if the server shows none. */
function recordOf(answer: readonly Entry[], { showsReasoning, records }: Player): readonly Entry[] {
  const shown = answer.filter(({ kind }) => showsReasoning || kind !== "reasoning").flatMap(records);
  return shown.map(({ place, ...recorded }, index): Entry => {
    return place === undefined ? recorded : { ...recorded, place: { ...place, index, size: shown.length } };
  });
}

type Sent = {
  readonly request: number;
  /** What the model must read. */
  readonly outgoing: readonly Entry[];
  readonly answeredBy: readonly Player[];
};

/** What is wrong with a request; null if nothing is. */
function verdict({ cast }: Playing, player: Player, sent: Sent): string | null {
  const made = cast.reduce((sum, { server }) => sum + server.requests.length, 0);
  if (made !== sent.request + 1) return `${made} requests were sent so far, not ${sent.request + 1}`;
  return wrongIn(player, sent);
}

/** At random, continues as another process with a warmed-up connection. Returns what is wrong with that; null if nothing is. */
async function warmUp(playing: Playing, player: Player, held: Sent): Promise<string | null> {
  const { conversation, document, edits, warmUpRate, signal } = playing;
  if (!drawFrom("warm-up", edits.seed, document.id, held.request).chance(warmUpRate)) return null;
  await player.renew();
  const before = player.server.warmUps.length;
  const { status, inferenceId, failure } = await conversation.warmUp(player.engine, { signal });
  if (status === "unavailable") return `its warm-up failed: ${failure?.message ?? "there was no connection"}`;
  const made = player.server.warmUps.length - before;
  if (made !== (inferenceId === null ? 0 : 1)) return `${made} requests were sent for a warm-up that says ${status}`;
  const wrong = made === 0 ? null : wrongIn(player, held, "warmUps");
  return wrong === null ? null : `its warm-up: ${wrong}`;
}

/** What is wrong with the newest request of a kind; null if nothing is. */
function wrongIn(player: Player, { outgoing, answeredBy }: Sent, kind?: "warmUps"): string | null {
  const { engine, server } = player;
  const sent = server[kind ?? "requests"];
  const last = sent.length - 1;
  const status = sent[last]?.status;
  if (status !== 200) return `the server answered ${status ?? "nothing"}`;
  const { resultsStandTogether } = engine.options.provider.codec;
  // Reasoning belongs to its endpoint: requests to others omit it.
  const isOwn = ({ kind, place }: Entry): boolean =>
    kind !== "reasoning" || place === undefined || answeredBy[place.answer] === player;
  // A file id is valid where the file is: at the first endpoint that answered after it.
  const isKept = (at: number): boolean => {
    const answered = outgoing.slice(at + 1).find(({ place }) => place !== undefined)?.place;
    return answered === undefined || answeredBy[answered.answer] === player;
  };
  const lost = new Set<Entry>();
  const told = outgoing.map((entry, at) => {
    const left = isKept(at) ? entry : withoutElsewhere(entry);
    if (left === null) lost.add(entry);
    return left === null ? entry : (player.takes(left) ?? left);
  });
  const takes = (entry: Entry): boolean => !lost.has(entry) && isOwn(entry) && player.takes(entry) !== null;
  const difference = server.difference(last, expectedOf(told, { resultsStandTogether, takes }), kind);
  return difference === undefined ? "it could not be judged: the server has no reading of it" : difference;
}

function report({ counts, document, onIncoherence }: Playing, request: number, what: string): void {
  counts.incoherent += 1;
  onIncoherence({ conversation: document.id, request, what });
}
