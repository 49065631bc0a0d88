import type { JsonValue } from "../../base/json.ts";
import { type Anchor, type AnchorId, anchorName } from "../../domain/anchor.ts";
import type { BoundDigest } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { StoredContexts } from "../../projections/server-contexts/known-contexts.ts";
import type {
  Invalidation,
  ScopeInvalidation,
  ServerContext,
  ServerContextsView,
  ServerObject,
  StreamRevision,
  Unusable,
} from "../../projections/server-contexts/server-contexts.ts";
import type { NameList } from "./names.ts";

/**
 * New facts about server contexts, in rows. Each is written once, for any number of snapshots. `texts` holds texts that many rows
 * repeat.
 */
export type ServerContextRows = {
  /** The list before this one. */
  readonly before: string | null;
  /** How many contexts these facts and those before contain. */
  known: number;
  /** How many anchors of unanswered requests they contain. */
  unanswered: number;
  /** The lists of names that these facts add to earlier ones. */
  readonly names: NameList[];
  readonly texts: string[];
  readonly contexts: ContextRow[];
  readonly others: OtherFact[];
};

type ContextRow = readonly [
  responseId: string,
  /** `true` if it is the response itself. */
  anchor: Anchor | true | null,
  inferenceId: string,
  stream: number,
  revision: number,
  at: string,
  scope: number,
  settingsDigest: number,
  turn: string,
  /** Empty if it equals `turn`. */
  held: string,
  inputLength: number,
  length: number,
  /** `true` if it is the response of the row before; only the id if it is another response. */
  parent: true | null | string | readonly [kind: string, id: string],
  unusable: Unusable,
  tokens: number | null,
  bound: BoundDigest | null,
];

type OtherFact =
  /** Settings are read from where they were declared. */
  | readonly ["settings", digest: string, place: StreamRevision]
  | readonly ["invalidated", anchor: string, Invalidation]
  | readonly ["scope-invalidated", scope: string, ScopeInvalidation]
  | readonly ["unanswered", anchor: string, place: StreamRevision]
  | readonly ["learned", scope: string, capability: string, value: JsonValue]
  /** All objects: the newest row replaces earlier ones. */
  | readonly ["objects", objects: readonly (readonly [scope: string, ServerObject])[], cut: readonly string[]]
  | readonly ["quarantined", blockIds: readonly string[]];

export const noFacts = (
  before: string | null,
  { known, unanswered }: Pick<ServerContextRows, "known" | "unanswered">,
): ServerContextRows => ({
  before,
  known,
  unanswered,
  names: [],
  texts: [],
  contexts: [],
  others: [],
});
export const hasFacts = ({ names, contexts, others }: ServerContextRows): boolean =>
  names.length + contexts.length + others.length > 0;

/** Adds the facts of an event that the fold has applied. */
export function noteFacts(
  facts: ServerContextRows,
  { event, stream, revision }: RecordedEvent,
  view: ServerContextsView,
): void {
  noteContexts(facts, view);
  noteUnanswered(facts, view);
  if (objectEvents.has(event.type)) noteObjects(facts, view, event.type === "AnchorInvalidated");
  switch (event.type) {
    case "SettingsDeclared":
      facts.others.push(["settings", event.data.digest, { stream, revision }]);
      return;
    case "AnchorInvalidated": {
      const { scope, anchor, reason } = event.data;
      const { length: contexts } = view.contexts;
      if (anchor !== null) facts.others.push(["invalidated", anchorName(event.data), { reason, revision }]);
      else facts.others.push(["scope-invalidated", scope, { reason, revision, contexts }]);
      return;
    }
    case "CapabilityLearned": {
      const { scope, value } = event.data;
      facts.others.push(["learned", scope, learnedName(event.data), value]);
      return;
    }
    case "ReasoningQuarantined":
      facts.others.push(["quarantined", event.data.blockIds]);
      return;
    default:
  }
}

/** Events that may change what is known about objects. */
const objectEvents: ReadonlySet<string> = new Set([
  ...["ConversationStarted", "ServerConversationChanged", "AnchorInvalidated"],
  ...["InferenceRequested", "InferenceFailed", "ResponseReceived", "EventSkipped"],
]);

/** @param mayBeLast - Record an empty list, too: earlier facts may contain an object that is now gone. */
function noteObjects(
  { others }: ServerContextRows,
  { objects, cutObjects }: ServerContextsView,
  mayBeLast = false,
): void {
  const known = others.findIndex(([type]) => type === "objects");
  if (known < 0 && objects.size + cutObjects.size === 0 && !mayBeLast) return;
  const fact = ["objects", [...objects], [...cutObjects]] as const;
  if (known < 0) others.push(fact);
  else others[known] = fact;
}

/** Everything that a view holds, as the first facts of a fork: what its ancestors learned. */
export function noteInherited(facts: ServerContextRows, view: ServerContextsView): void {
  noteContexts(facts, view);
  noteUnanswered(facts, view);
  for (const [digest, place] of view.declared) facts.others.push(["settings", digest, place]);
  for (const [anchor, invalidation] of view.invalidResponses) facts.others.push(["invalidated", anchor, invalidation]);
  for (const [scope, invalidation] of view.invalidScopes) facts.others.push(["scope-invalidated", scope, invalidation]);
  for (const [scope, learned] of view.learned)
    for (const [name, value] of learned) facts.others.push(["learned", scope, name, value]);
  noteObjects(facts, view);
  if (view.quarantined.size > 0) facts.others.push(["quarantined", [...view.quarantined]]);
}

/** Adds contexts that are not saved yet. */
function noteContexts(facts: ServerContextRows, { contexts }: ServerContextsView): void {
  for (const context of contexts.after(facts.known)) facts.contexts.push(rowOf(context, facts));
  facts.known = contexts.length;
}

function noteUnanswered(facts: ServerContextRows, { unanswered }: ServerContextsView): void {
  if (unanswered.size === facts.unanswered) return;
  for (const [anchor, place] of [...unanswered].slice(facts.unanswered))
    facts.others.push(["unanswered", anchor, place]);
  facts.unanswered = unanswered.size;
}

/** The text of a list of facts: one line with everything but the contexts, and one with the contexts, which is parsed on first use. */
export function factsText({ contexts, ...facts }: ServerContextRows): string {
  return `${JSON.stringify(facts)}\n${JSON.stringify(contexts)}`;
}

/** Facts as saved: the contexts are still text. */
export type SavedFacts = Omit<ServerContextRows, "contexts"> & { readonly contexts: string };

/** Undefined if the text is not a list of facts. */
export function savedFacts(text: string): SavedFacts | undefined {
  const end = text.indexOf("\n");
  try {
    // The text's name is its digest, so this code wrote it.
    const facts = JSON.parse(text.slice(0, end)) as Omit<ServerContextRows, "contexts">;
    return { ...facts, contexts: text.slice(end + 1) };
  } catch {
    return undefined;
  }
}

/** Saved contexts, numbered from `first`. */
function storedContexts({ texts, contexts }: SavedFacts, first: number, length: number): StoredContexts {
  return {
    length,
    mayHave: (word) => contexts.includes(JSON.stringify(word).slice(1, -1)),
    read() {
      const rows = JSON.parse(contexts) as readonly ContextRow[];
      return rows.map((row, n) => contextOf(row, texts, { previous: rows[n - 1]?.[0] ?? null, index: first + n }));
    },
  };
}

/** Restores facts into a view, as the fold of their events left it. Contexts and settings are not read; the view has their places. */
export function restoreFacts({ contexts, ...view }: ServerContextsView, facts: SavedFacts): void {
  const { length: first } = contexts;
  if (facts.known > first) contexts.store(storedContexts(facts, first, facts.known - first));
  for (const fact of facts.others) {
    switch (fact[0]) {
      case "settings":
        view.declared.set(fact[1], fact[2]);
        break;
      case "invalidated":
        view.invalidResponses.set(fact[1], fact[2]);
        break;
      case "scope-invalidated":
        view.invalidScopes.set(fact[1], fact[2]);
        break;
      case "unanswered":
        view.unanswered.set(fact[1], fact[2]);
        break;
      case "learned": {
        const [, scope, capability, value] = fact;
        const learned = view.learned.get(scope) ?? new Map<string, JsonValue>();
        view.learned.set(scope, learned.set(capability, value));
        break;
      }
      case "objects":
        view.objects.clear();
        for (const [scope, { exchanges, ...object }] of fact[1])
          view.objects.set(scope, { ...object, exchanges: [...exchanges] });
        for (const name of fact[2]) view.cutObjects.add(name);
        break;
      default:
        for (const id of fact[1]) view.quarantined.add(id);
    }
  }
}

function rowOf(context: ServerContext, { texts, contexts }: ServerContextRows): ContextRow {
  const numberOf = (text: string | null): number => {
    if (text === null) return -1;
    const known = texts.indexOf(text);
    return known < 0 ? texts.push(text) - 1 : known;
  };
  const { responseId, anchor, inferenceId, stream, revision, at, scope, settingsDigest, turn, held } = context;
  const { inputLength, length, unusable, tokens, bound = null } = context;
  const before = contexts.at(-1)?.[0];
  return [
    ...([responseId, isResponse(responseId, anchor) || anchor, inferenceId, numberOf(stream), revision, at] as const),
    ...([numberOf(scope), numberOf(settingsDigest)] as const),
    ...([
      turn,
      held === turn ? "" : held,
      inputLength,
      length,
      parentRow(context.parent, before),
      unusable,
      tokens,
      bound,
    ] as const),
  ];
}

function parentRow(parent: AnchorId | null, before: string | undefined): ContextRow[12] {
  if (parent === null) return null;
  const { kind, id } = parent;
  if (kind !== "response") return [kind, id];
  return id === before || id;
}

function parentOf(row: ContextRow[12], previous: string | null): AnchorId | null {
  if (row === null) return null;
  if (row === true) return previous === null ? null : { kind: "response", id: previous };
  return typeof row === "string" ? { kind: "response", id: row } : { kind: row[0], id: row[1] };
}

const isResponse = (responseId: string, anchor: Anchor | null): boolean =>
  anchor?.kind === "response" && anchor.id === responseId && anchor.lives === undefined;

type RowBefore = { readonly previous: string | null; readonly index: number };

function contextOf(row: ContextRow, texts: readonly string[], { previous, index }: RowBefore): ServerContext {
  const [responseId, anchor, inferenceId, stream, revision, at, scope, settings, turn, held, ...rest] = row;
  const [inputLength, length, parent, unusable, tokens, bound] = rest;
  return {
    ...{ responseId, inferenceId, revision, index, at, turn, inputLength, length, unusable, tokens },
    stream: texts[stream] ?? "",
    anchor: anchor === true ? { kind: "response", id: responseId } : anchor,
    scope: texts[scope] ?? "",
    settingsDigest: texts[settings] ?? "",
    held: held === "" ? turn : held,
    parent: parentOf(parent, previous),
    ...(bound === null ? {} : { bound }),
  };
}
