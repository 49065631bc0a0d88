import type { CopiedStream } from "../carry/copy.ts";
import { counted, grouped } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";

/** Says what became of each conversation: of a copy, and of a bundle that was imported. */
export function reportCopies(context: CliContext, streams: readonly CopiedStream[], done: "copied" | "imported"): void {
  const conversations = streams.flatMap(({ conversation, head, copied }) =>
    conversation === null ? [] : [{ id: conversation, ...head, events: copied }],
  );
  const blobs = streams.length - conversations.length;
  const events = streams.reduce((sum, { copied }) => sum + copied, 0);
  if (context.isJson) {
    context.printJson({ conversations, blobs, events });
    return;
  }
  const known = conversations.filter((conversation) => conversation.events === 0).length;
  const others = known === 0 ? "" : `; ${grouped(known)} there already`;
  const what = [counted(conversations.length - known, "conversation"), counted(events, "event")].join(", ");
  context.print(`${what} ${done} and verified${others}`);
}
