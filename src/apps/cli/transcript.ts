import { transcript } from "../../analysis/descriptions/transcript.ts";
import { excerpt, printable } from "../../base/printable.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { describeActor } from "../../domain/actor.ts";
import { conversationStream } from "../../domain/ids.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { type ForkPoint, forksOf } from "../../log/history/lineage.ts";
import { lookAt, skipOf } from "../../log/history/read-events.ts";
import type { Head, StoredEnvelope } from "../../log/ports/event-store.ts";
import { skippedOf } from "../../log/snapshots/open.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { TranscriptDocument } from "../documents/conversations.ts";
import { eventPlace } from "./block-rows.ts";
import type { CliContext, Screen } from "./context.ts";

type Range = { readonly from: number; readonly to: number };

/** Everything that was said; unreadable events are named on stderr, and the rest continues. */
export async function transcriptOf(
  context: CliContext,
  store: TurnlogStore,
  { id }: Conversation,
  { from, to }: Range,
): Promise<TranscriptDocument> {
  const own = conversationStream(id);
  let view = transcript.initial(own);
  let previous: Head | null = null;
  const skipped = await skippedOf(store.log, own);
  for await (const envelope of readLineage(context, store, { stream: own, revision: to })) {
    const checked = checkEnvelope(envelope.revision === 0 ? null : previous, envelope);
    previous = { revision: envelope.revision, digest: envelope.digest };
    const skip = await skipOf(store.log, envelope, skipped);
    if (skip !== null) {
      const by = `${printable(describeActor(skip.by))}: ${excerpt(skip.reason, 160)}`;
      context.note(`${eventPlace(envelope, own)} was skipped by ${by}`);
      continue;
    }
    const reading = await lookAt(store.log, envelope);
    if (reading instanceof Error)
      context.note(`${eventPlace(envelope, own)} cannot be read: ${excerpt(reading.message, 160)}`);
    else if (!checked.ok) context.note(`${eventPlace(envelope, own)} was changed: ${checked.error.reason}`);
    if (!(reading instanceof Error)) view = transcript.apply(view, reading);
  }
  // What was said before a fork comes first, unless the range starts later.
  const utterances = view.utterances.filter(({ stream, revision }) => (stream === own ? revision >= from : from === 0));
  return { conversation: id, utterances };
}

export function renderTranscript({ conversation, utterances }: TranscriptDocument, { print, style }: Screen): void {
  print(style.bold(conversation));
  const own = conversationStream(conversation);
  for (const utterance of utterances) {
    const { kind, name, text, actor } = utterance;
    const who = name === null ? kind : `${kind} ${name}`;
    const place = `${eventPlace(utterance, own)} by ${printable(describeActor(actor))}`;
    print(`\n${style.bold(printable(who))} ${style.dim(place)}`, printable(text));
  }
}

type End = Pick<ForkPoint, "stream" | "revision">;

/** The events of a conversation up to this one, after those of its ancestors. */
async function* readLineage(context: CliContext, store: TurnlogStore, end: End): AsyncIterable<StoredEnvelope> {
  for (const { stream, revision } of [...(await ancestors(context, store, end.stream)), end]) {
    yield* store.events.readStream(stream, { limit: revision + 1 });
  }
}

async function ancestors(context: CliContext, { log }: TurnlogStore, stream: string): Promise<readonly End[]> {
  try {
    return await forksOf(log, stream);
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    context.note(`what it was forked from cannot be read: ${printable(error.message)}`);
    return [];
  }
}
