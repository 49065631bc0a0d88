import type { Entry, EntryPlace, Part, Role } from "./entries.ts";

/** One item that the model should read, in the judge's form. */
export type Expected =
  | {
      readonly kind: "text" | "refusal";
      readonly role: Role;
      readonly text: string;
      /** For a system message at the beginning of the Turn, which a provider may take as instructions: its number, from 0. */
      readonly leads?: number;
    }
  | { readonly kind: "image"; readonly role: Role; readonly source: string; readonly detail?: string }
  | { readonly kind: "file"; readonly role: Role; readonly source: string; readonly filename?: string }
  | {
      readonly kind: "audio";
      readonly role: Role;
      readonly audio: { readonly data: string; readonly format: string };
    }
  | { readonly kind: "call"; readonly name: string; readonly arguments: string }
  /** `call`: the index, from 0, of the call among all calls. */
  | { readonly kind: "result"; readonly call: number; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string };

/** The output that a request has for a call without a result (rule: Planning and shaping). */
const abortedOutput = "aborted";

/** What the model must read for a list of entries. */
export function expectedOf(entries: readonly Entry[], wire: EntryRules = {}): readonly Expected[] {
  const leading = leadingSystem(entries);
  return legalEntries(entries, wire).flatMap((legal) => {
    const leads = leading.indexOf(legal.entry);
    const read = readingOf(legal);
    return leads < 0 ? read : read.map((each) => (each.kind === "text" ? { ...each, leads } : each));
  });
}

/** The system messages that may be instructions: those at the beginning, with text only, unless there is nothing else. */
export function leadingSystem(entries: readonly Entry[]): readonly Entry[] {
  const end = entries.findIndex((entry) => !isSystem(entry) || entry.parts.some(({ type }) => type !== "text"));
  return entries.slice(0, Math.max(end, 0));
}

const isSystem = (entry: Entry): entry is Extract<Entry, { readonly kind: "message" }> =>
  entry.kind === "message" && (entry.role === "system" || entry.role === "developer");

/** The texts that a provider takes as instructions, one per message, and the rest of the conversation. */
export function instructionsIn(expected: readonly Expected[]) {
  const isTaken = (each: Expected): boolean => each.kind === "text" && each.leads !== undefined;
  const texts: string[] = [];
  for (const each of expected)
    if (each.kind === "text" && each.leads !== undefined) texts[each.leads] = (texts[each.leads] ?? "") + each.text;
  return { texts: texts.filter((text) => text !== ""), rest: expected.filter((each) => !isTaken(each)) };
}

/** What a wire requires of entries. */
export type EntryRules = {
  /** All results of an answer's calls must be together: after one of them, open calls are answered before anything else. */
  readonly resultsStandTogether?: boolean | undefined;
  /** Whether it accepts the entry at all. Default: everything. */
  readonly takes?: ((entry: Entry) => boolean) | undefined;
};

/** An entry of a legal request. */
export type LegalEntry = {
  readonly entry: Entry;
  /** For a call or a result: the index, from 0, of the call among all calls. */
  readonly call: number | null;
};

/**
 * The entries of a legal request for a list of entries, by the rules of planning and shaping, written independently: the judge shares
 * no code with the shaping that it judges.
 *
 * Reasoning is read if its answer is complete and unchanged. An open call is answered before the next entry outside its
 * group, and at the end. A later result becomes one message of the user; a result without a call of its id is omitted.
 */
export function legalEntries(
  entries: readonly Entry[],
  { resultsStandTogether = false, takes = () => true }: EntryRules = {},
): readonly LegalEntry[] {
  const legal: LegalEntry[] = [];
  const taken = entries.filter(takes);
  const whole = wholeAnswers(entries, takes);
  let open: OpenCall[] = [];
  let late: OpenCall[] = [];
  let calls = 0;
  let group: Group = null;
  const abort = (): void => {
    const results = open.map(({ callId, call }) => ({ entry: aborted(callId), call }));
    legal.push(...results);
    late.push(...open);
    open = [];
  };
  for (const entry of taken) {
    if (entry.kind === "reasoning" && !(entry.place !== undefined && whole.has(entry.place.answer))) continue;
    if (entry.kind === "result") {
      const answered = open.findLast(({ callId }) => callId === entry.callId);
      if (answered === undefined) {
        const call = late.findLast(({ callId }) => callId === entry.callId);
        if (call === undefined) continue;
        late = late.filter((each) => each !== call);
        abort();
        group = null;
        legal.push({ entry: lateMessage(entry, call), call: null });
        continue;
      }
      open = open.filter((call) => call !== answered);
      legal.push({ entry, call: answered.call });
      // Ungrouped entries are together only if nothing comes between them.
      if (resultsStandTogether || group === "ungrouped") group = null;
      continue;
    }
    const own = groupOf(entry);
    if (own === null || own !== group) abort();
    group = own;
    legal.push({ entry, call: entry.kind === "call" ? calls : null });
    if (entry.kind === "call") {
      open.push({ callId: entry.callId, call: calls, name: entry.name, arguments: entry.arguments });
      calls += 1;
    }
  }
  abort();
  return legal;
}

const aborted = (callId: string): Entry => ({ kind: "result", callId, output: abortedOutput });

/** The user message for a result that comes too late: which call it was for, and its output. */
function lateMessage(
  { output }: Extract<Entry, { readonly kind: "result" }>,
  { name, arguments: given }: Pick<OpenCall, "name" | "arguments">,
): Entry {
  const shown = given.length > 1_000 ? `${given.slice(0, 1_000)}…` : given;
  const about = `[Result of your earlier call ${name}(${shown}), which was not there before:]`;
  const texts = typeof output === "string" ? [`${about}\n${output}`] : [about, ...output];
  return { kind: "message", role: "user", parts: texts.map((text) => ({ type: "text", text })) };
}

type OpenCall = {
  readonly callId: string;
  readonly call: number;
  readonly name: string;
  readonly arguments: string;
};

/** An answer, by its number; `ungrouped` for entries of a model outside any answer; null for all others. */
type Group = number | "ungrouped" | null;

function groupOf(entry: Entry): Group {
  if (entry.place !== undefined) return entry.place.answer;
  return entry.kind === "message" && entry.role !== "assistant" ? null : "ungrouped";
}

/** The answers whose entries are all together, in order and unchanged; an entry that is not accepted interrupts its answer. */
function wholeAnswers(entries: readonly Entry[], takes: (entry: Entry) => boolean): ReadonlySet<number> {
  const whole = new Set<number>();
  let before: EntryPlace | undefined;
  for (const entry of entries) {
    const place = takes(entry) ? entry.place : undefined;
    const follows =
      place?.index === 0 || (place?.answer === before?.answer && place?.index === (before?.index ?? 0) + 1);
    before = follows ? place : undefined;
    if (before !== undefined && before.index === before.size - 1) whole.add(before.answer);
  }
  return whole;
}

function readingOf({ entry, call }: LegalEntry): readonly Expected[] {
  switch (entry.kind) {
    case "result":
      return [entry.output].flat().map((text) => ({ kind: "result", call: call ?? 0, text }));
    case "message":
      return entry.parts.map((part) => partReading(entry.role, part));
    case "call":
      return [{ kind: "call", name: entry.name, arguments: entry.arguments }];
    case "reasoning":
      return [{ kind: "reasoning", text: entry.text }];
  }
}

function partReading(role: Role, part: Part): Expected {
  switch (part.type) {
    case "text":
    case "refusal":
      return { kind: part.type, role, text: part.text };
    case "audio":
      return { kind: "audio", role, audio: { data: part.data, format: part.format } };
    case "image": {
      const { source, detail } = part;
      return { kind: "image", role, source, ...(detail === undefined ? {} : { detail }) };
    }
    case "file": {
      const { source, filename } = part;
      return { kind: "file", role, source, ...(filename === undefined ? {} : { filename }) };
    }
  }
}
