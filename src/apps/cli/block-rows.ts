import { actorLabel } from "../../analysis/descriptions/labels.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { ChangeDocument } from "../documents/parts.ts";
import type { Screen } from "./context.ts";
import type { Cell, Style } from "./screen.ts";

type ShownBlock = {
  readonly index: number;
  /** A short name of the block. */
  readonly label: string;
  readonly changed: ChangeDocument | null;
  readonly begins: string;
};

/** One line per block: place, kind, author of the last change, beginning of its text. */
export function blockRow({ index, label, changed, begins }: ShownBlock, own: string, style: Style): readonly Cell[] {
  return [
    { text: String(index).padStart(4), style: style.bold },
    label,
    { text: changed === null ? "" : changeWords(changed, own), style: style.dim },
    begins,
  ];
}

/** `shorten-results@1.2.0 @120` */
export const changeWords = (change: ChangeDocument, own: string): string =>
  `${actorLabel(change.actor)} ${eventPlace(change, own)}`;

/** `@120`; for an ancestor of a fork `cnv_8f3k…@120`. */
export const eventPlace = (
  { stream, revision }: { readonly stream: string; readonly revision: number },
  own: string,
): string => (stream === own ? `@${revision}` : `${conversationOfStream(stream) ?? stream}@${revision}`);

/** `cnv_8f3k…@120`, in a form that commands accept. */
export const placeName = (conversation: string, revision: number): string => `${conversation}@${revision}`;

/** One line that says which events were changed after they were written; nothing if none was. */
export function changedWords(
  events: readonly { readonly stream: string; readonly revision: number }[],
  own: string,
  { style, commandName }: Pick<Screen, "style" | "commandName">,
): readonly string[] {
  if (events.length === 0) return [];
  const places = events.slice(0, maxChanged).map((event) => eventPlace(event, own));
  const more = events.length > maxChanged ? ` and ${events.length - maxChanged} more` : "";
  return [style.bad(`changed since it was written: ${places.join(", ")}${more}; \`${commandName} verify\` says more`)];
}

/** The maximum number of changed events to list. */
const maxChanged = 5;
