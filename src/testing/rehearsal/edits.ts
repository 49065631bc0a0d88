import type { Turn } from "../../domain/turn.ts";
import { type Draw, drawFrom } from "./draw.ts";
import { blockOf, type Entry, type MadeEntry, messageOf, type Part } from "./entries.ts";

/** Which edits are drawn: persistent ones, insertions for one request, or both. */
export type EditChoice = "all" | "persistent" | "once";

/** A change of a list, by indexes, so that it applies to the source document and to a Turn. */
export type Change =
  | { readonly type: "replace"; readonly index: number; readonly text: string }
  | { readonly type: "remove"; readonly index: number }
  | { readonly type: "insert"; readonly index: number; readonly entries: readonly MadeEntry[]; readonly key: string }
  | { readonly type: "move"; readonly index: number; readonly to: number };

/** One edit before one request. */
export type DrawnEdit = { readonly change: Change; readonly isOnce: boolean };

export type EditOptions = {
  readonly seed: string;
  /** The probability of an edit before a request. */
  readonly editRate: number;
  readonly edits: EditChoice;
};

/** Draws the edit before a request, if any, from (seed, conversation, request number) alone. */
export function drawEdit(
  entries: readonly Entry[],
  at: { readonly conversation: string; readonly request: number },
  { seed, editRate, edits }: EditOptions,
): DrawnEdit | null {
  const draw = drawFrom(seed, at.conversation, at.request);
  if (!draw.chance(editRate)) return null;
  const kind =
    edits === "once" ? "once" : draw.pick<Kind>(edits === "all" ? [...persistentKinds, "once"] : persistentKinds);
  return { change: changeOf(kind, entries, draw), isOnce: kind === "once" };
}

/** The source document after a change. An edited entry no longer belongs to its answer. */
export function changeEntries(entries: readonly Entry[], change: Change): readonly Entry[] {
  switch (change.type) {
    case "replace":
      return entries.map((entry, index) => (index === change.index ? withText(entry, change.text) : entry));
    case "remove":
      return entries.toSpliced(change.index, 1);
    case "insert":
      return entries.toSpliced(change.index, 0, ...change.entries);
    case "move": {
      const moved = entries.slice(change.index, change.index + 1);
      return entries.toSpliced(change.index, 1).toSpliced(change.to, 0, ...moved);
    }
  }
}

/** The same change, made with the methods that layers use. */
export function editTurn(turn: Turn, change: Change): Turn {
  if (change.type === "insert") {
    const { key, index } = change;
    return change.entries.reduce((into, entry, n) => into.insertOnce(`${key} ${n}`, blockOf(entry), index + n), turn);
  }
  const block = turn.at(change.index);
  if (block === undefined) throw new Error(`the Turn has no block ${change.index}: it is not what the document says`);
  switch (change.type) {
    case "replace":
      return turn.replace(block, block.withText(change.text));
    case "remove":
      return turn.remove(block);
    case "move":
      return turn.move(block, change.to);
  }
}

const persistentKinds = ["edit", "remove", "insert", "move", "replace-system"] as const;
type Kind = (typeof persistentKinds)[number] | "once";

function changeOf(kind: Kind, entries: readonly Entry[], draw: Draw): Change {
  const nonce = draw.nonce();
  const { index, gap, to } = placesIn(entries, draw);
  const instead = insertion(nonce, gap, [messageOf("user", nonce)]);
  switch (kind) {
    case "edit":
      return { type: "replace", index, text: editedText(entries[index], `(edited: ${nonce})`) };
    case "remove":
      // A request cannot be empty, so the last entry stays.
      return entries.length === 1 ? instead : { type: "remove", index };
    case "insert":
      return insertion(nonce, gap, inserted(draw, nonce));
    case "move":
      return to === null ? instead : { type: "move", index, to };
    case "replace-system": {
      const system = entries.findIndex(isSystem);
      const text = editedText(entries[system], `Policy ${nonce} holds from now on.`);
      return system < 0 ? insertion(nonce, 0, [messageOf("system", text)]) : { type: "replace", index: system, text };
    }
    case "once":
      return insertion(nonce, gap, [messageOf(draw.pick(["user", "system", "developer"]), `Only now: ${nonce}.`)]);
  }
}

/**
 * The place of an edit: anywhere after the system prompt, which has its own kind of edit. `to` is another place than
 * `index`; null if there is none.
 */
function placesIn(entries: readonly Entry[], draw: Draw) {
  const { length } = entries;
  const [first] = entries;
  const from = length > 1 && first !== undefined && isSystem(first) ? 1 : 0;
  const index = from + draw.below(length - from);
  const gap = from + draw.below(length - from + 1);
  const other = from + draw.below(length - from - 1);
  const to = length - from < 2 ? null : other + (other < index ? 0 : 1);
  return { index, gap, to };
}

const isSystem = (entry: Entry): boolean => entry.kind === "message" && entry.role === "system";

const insertion = (key: string, index: number, entries: readonly MadeEntry[]): Change => ({
  type: "insert",
  index,
  entries,
  key,
});

function inserted(draw: Draw, nonce: string): readonly MadeEntry[] {
  const words = `A layer adds this (${nonce}).`;
  const call = {
    kind: "call",
    callId: `call_${nonce}`,
    name: "look_up",
    arguments: JSON.stringify({ nonce }),
  } as const;
  const result = { kind: "result", callId: call.callId, output: words } as const;
  return draw.pick<readonly MadeEntry[]>([
    [messageOf("user", words)],
    [messageOf("system", words)],
    [messageOf("assistant", words)],
    [call, result],
  ]);
}

/** The text of an entry with a note in front: an edit keeps most of the text, and so its size. */
function editedText(entry: Entry | undefined, note: string): string {
  switch (entry?.kind) {
    case "message":
      return [note, ...entry.parts.map((part) => ("text" in part ? part.text : ""))].join(" ");
    case "call":
      return `{"note": ${JSON.stringify(note)}, "before": ${JSON.stringify(entry.arguments)}}`;
    case "result":
      return [note, entry.output].flat().join(" ");
    default:
      return note;
  }
}

function withText(entry: Entry, text: string): Entry {
  const { place: _, ...free } = entry;
  switch (free.kind) {
    case "message":
      return { ...free, parts: retold(free.parts, text) };
    case "call":
      return { ...free, arguments: text };
    case "result":
      return { ...free, output: text };
    case "reasoning":
      return { ...free, text };
  }
}

/** Replaces the first text, and removes the others; images, files and audio stay. */
function retold(parts: readonly Part[], text: string): readonly Part[] {
  const isSaid = ({ type }: Part): boolean => type === "text" || type === "refusal";
  const first = Math.max(0, parts.findIndex(isSaid));
  return [...parts.slice(0, first), { type: "text", text }, ...parts.slice(first).filter((part) => !isSaid(part))];
}
