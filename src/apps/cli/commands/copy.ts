import type * as z from "zod";
import { counted, grouped } from "../../../base/counted.ts";
import { type CopiedStream, copyConversations } from "../../../operations/transfer/copy.ts";
import { copyDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { findConversations } from "../find.ts";

/** Copies conversations from one store to another, with everything that they need; continues an interrupted copy. */
export const copy = commandCode({
  document: copyDocument,

  async *run(
    context,
    { arguments: names, options: { from, to } }: CommandInput<{ readonly from?: string; readonly to: string }>,
  ) {
    const { signal } = context;
    await using source = await context.openStore("read", { url: from });
    const conversations = await findConversations(source, names);
    await using target = await context.openStore("create", { url: to });
    const chosen = names.length === 0 ? {} : { conversations };
    const onUnrecorded = (reason: string): void => context.note(`the source store did not record the copy: ${reason}`);
    const copied = await context.progress("copying", (onProgress) =>
      copyConversations(source, target, { ...chosen, signal, onProgress, onUnrecorded }),
    );
    yield copyReport(copied);
  },

  render(report, { print }) {
    print(copyWords(report, "copied"));
  },
});

type CopyDocument = z.infer<typeof copyDocument>;

/** The outcome for each conversation. */
export function copyReport(streams: readonly CopiedStream[]): CopyDocument {
  const conversations = streams.flatMap(({ conversation, head, copied }) =>
    conversation === null ? [] : [{ id: conversation, ...head, events: copied }],
  );
  const blobs = streams.length - conversations.length;
  return { conversations, blobs, events: streams.reduce((sum, { copied }) => sum + copied, 0) };
}

export function copyWords({ conversations, events }: CopyDocument, done: "copied" | "imported"): string {
  const known = conversations.filter((conversation) => conversation.events === 0).length;
  const what = [counted(conversations.length - known, "conversation"), counted(events, "event")].join(", ");
  return `${what} ${done} and verified${knownWords(known)}`;
}

export const knownWords = (known: number): string => (known === 0 ? "" : `; ${grouped(known)} already there`);
