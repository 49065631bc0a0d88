import { type JsonValue, parseJson } from "../../base/json.ts";
import { printableJson } from "../../base/printable.ts";
import { catDocument } from "../../documents/conversations.ts";
import { conversationStream } from "../../domain/ids.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { joinLines } from "../../log/codec/lines.ts";
import { asReading, readEvent } from "../../log/codec/recorded.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { envelopeAt, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { NotFoundError } from "../exit-codes.ts";
import { findPlace } from "../find.ts";

type Options = { readonly full?: boolean };

/** One event as it is stored. */
export const cat = commandCode({
  document: catDocument,

  async *run(context, { arguments: [place = ""], options: { full = false } }: CommandInput<Options>) {
    await using store = await context.openStore("read");
    const { conversation, revision } = await findPlace(store, place);
    const stream = conversationStream(conversation.id);
    const envelope = await envelopeAt(store.events, stream, revision);
    if (envelope === null)
      throw new NotFoundError(`the store no longer holds revision ${revision} of ${conversation.id}`);
    const previous = revision === 0 ? null : await envelopeAt(store.events, stream, revision - 1);
    const { data: _, ...rest } = envelope;
    const { problem: unread, event } = await reading(store.events, envelope);
    const checked = checkEnvelope(previous, envelope);
    const problem = unread ?? (checked.ok ? null : checked.error.reason);
    const told = full && event !== null ? event : stored(envelope);
    yield { conversation: conversation.id, ...rest, previousDigest: previous?.digest ?? null, problem, data: told };
  },

  render(document, { print }) {
    print(printableJson(JSON.stringify(document, null, 2)));
  },
});

/** The data as the store holds it, with externally stored texts by reference, its lines put together; a text if it cannot be read. */
function stored({ encoding, data }: StoredEnvelope): JsonValue {
  try {
    return encoding === "lines" ? joinLines(data) : parseJson(data);
  } catch {
    return data;
  }
}

/** The event with everything stored beside it, or why it cannot be read. */
async function reading(store: EventStore, envelope: StoredEnvelope) {
  try {
    const { event } = await readEvent(store, envelope);
    const whole: JsonValue = parseJson(JSON.stringify(event.data));
    return { problem: null, event: whole };
  } catch (error) {
    return { problem: asReading(error).message, event: null };
  }
}
