import type { Entry, EntryPlace, Part, Role } from "./entries.ts";

/** One thing that the model is meant to read, in the judge's words. */
export type Expected =
  | {
      readonly kind: "text" | "refusal";
      readonly role: Role;
      readonly text: string;
      /** Of a system message at the beginning of the Turn, which a provider may take as instructions: which of those it is, from 0. */
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
  /** `call`: the ordinal, from 0, of the call among all calls. */
  | { readonly kind: "result"; readonly call: number; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string };

/** What a request says where a call has no result (rule: Planning and shaping). */
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

/** The system messages that may be instructions: those at the beginning, of text alone, unless there is nothing else. */
export function leadingSystem(entries: readonly Entry[]): readonly Entry[] {
  const end = entries.findIndex((entry) => !isSystem(entry) || entry.parts.some(({ type }) => type !== "text"));
  return entries.slice(0, Math.max(end, 0));
}

const isSystem = (entry: Entry): entry is Extract<Entry, { readonly kind: "message" }> =>
  entry.kind === "message" && (entry.role === "system" || entry.role === "developer");

/** What a provider takes as instructions, a text for each message, and what is left for the conversation. */
export function instructionsIn(expected: readonly Expected[]) {
  const isTaken = (each: Expected): boolean => each.kind === "text" && each.leads !== undefined;
  const texts: string[] = [];
  for (const each of expected)
    if (each.kind === "text" && each.leads !== undefined) texts[each.leads] = (texts[each.leads] ?? "") + each.text;
  return { texts: texts.filter((text) => text !== ""), rest: expected.filter((each) => !isTaken(each)) };
}

/** What a wire takes of entries. */
export type EntryRules = {
  /** All results of an answer's calls stand together: behind one of them an open call is answered, whatever comes. */
  readonly resultsStandTogether?: boolean | undefined;
  /** Whether it takes the entry at all; everything when absent. */
  readonly takes?: ((entry: Entry) => boolean) | undefined;
};

/** An entry of a legal request. */
export type LegalEntry = {
  readonly entry: Entry;
  /** Of a call, and of a result: the ordinal, from 0, of the call among all calls. */
  readonly call: number | null;
};

/**
 * What a request says of a list of entries, by the rules of planning and shaping, written anew: the judge's side shares nothing with
 * the shaping that it judges.
 *
 * Reasoning is read where its answer stands as it was given. An open call is answered before the next entry outside its
 * group, and at the end; a result that comes after that is a message of the user, once, and one without a call of its id is not read.
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
      // What no answer groups stands together only where nothing comes between.
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

/** What the user says where the answer to a call comes when others have spoken: which call it was, and what it gave. */
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

/** An answer by its number; what only a model says and no answer groups; null for what stands alone. */
type Group = number | "ungrouped" | null;

function groupOf(entry: Entry): Group {
  if (entry.place !== undefined) return entry.place.answer;
  return entry.kind === "message" && entry.role !== "assistant" ? null : "ungrouped";
}

/** The answers whose entries all stand together, in their order, and unchanged; what is not taken stands between, too. */
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
