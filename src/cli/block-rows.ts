import { conversationOfStream } from "../domain/ids.ts";
import { actorLabel } from "../projections/wording.ts";
import type { ChangeDocument } from "./documents/parts.ts";
import type { Cell, Style } from "./screen.ts";

type ShownBlock = {
  readonly index: number;
  /** What it is, in a word or two. */
  readonly label: string;
  readonly changed: ChangeDocument | null;
  readonly begins: string;
};

/** One line for each block: place, kind, who last changed it, how it begins. */
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

/** `@120`; of a fork's ancestor `cnv_8f3k…@120`. */
export const eventPlace = (
  { stream, revision }: { readonly stream: string; readonly revision: number },
  own: string,
): string => (stream === own ? `@${revision}` : `${conversationOfStream(stream) ?? stream}@${revision}`);

/** `cnv_8f3k…@120`, as commands take it again. */
export const placeName = (conversation: string, revision: number): string => `${conversation}@${revision}`;

/** `2026-09-01 12:30:45` */
export const dateAndTime = (at: string): string => at.slice(0, 19).replace("T", " ");
