import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { describeActor } from "../domain/actor.ts";
import { conversationStream } from "../domain/ids.ts";
import { type EventReading, readEach } from "../log/codec/recorded.ts";
import { type ForkPoint, forksOf } from "../log/history/lineage.ts";
import { ConversationDamagedError } from "../projections/damage.ts";
import { transcript, type Utterance } from "../projections/transcript.ts";
import { excerpt, printable } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";
import { eventPlace } from "./open-place.ts";

type Range = { readonly from: number; readonly to: number };

/** What was said, whole; what cannot be read is named on stderr, and the rest goes on. */
export async function printTranscript(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  { from, to }: Range,
): Promise<void> {
  const own = conversationStream(conversation.id);
  let view = transcript.initial(own);
  for await (const reading of readLineage(context, store, { stream: own, revision: to })) {
    if (reading.isRead) view = transcript.apply(view, reading.recorded);
    else context.note(`${eventPlace(reading.envelope, own)} cannot be read: ${excerpt(reading.error.message, 160)}`);
  }
  // What was said before a fork began comes first, where the whole is asked for.
  const utterances = view.utterances.filter(({ stream, revision }) => (stream === own ? revision >= from : from === 0));
  if (context.isJson) {
    context.printJson({ conversation: conversation.id, utterances });
    return;
  }
  context.print(context.style.bold(conversation.id));
  for (const utterance of utterances) printUtterance(context, utterance, own);
}

type End = Pick<ForkPoint, "stream" | "revision">;

/** The events of a conversation up to one, its ancestors' before its own. */
async function* readLineage(context: CliContext, store: TurnlogStore, end: End): AsyncIterable<EventReading> {
  for (const { stream, revision } of [...(await ancestors(context, store, end.stream)), end]) {
    yield* readEach(store.events, store.events.readStream(stream, { limit: revision + 1 }));
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

function printUtterance({ print, style }: CliContext, utterance: Utterance, own: string): void {
  const { kind, name, text, actor } = utterance;
  const who = name === null ? kind : `${kind} ${name}`;
  const place = eventPlace(utterance, own);
  print(`\n${style.bold(printable(who))} ${style.dim(`${place} by ${printable(describeActor(actor))}`)}`);
  print(printable(text));
}
