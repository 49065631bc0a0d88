import type { RecordedEvent } from "../../domain/events/recorded.ts";
import {
  addContext,
  type ServerContext,
  type ServerContextsView,
  type Unusable,
} from "../../projections/server-contexts.ts";

/**
 * What became true at the servers, in rows: each is written once, whatever the number of keyframes. `texts` holds what
 * many rows repeat.
 */
export type Facts = {
  /** The list before this one. */
  readonly before: string | null;
  readonly texts: string[];
  readonly contexts: ContextRow[];
  readonly others: OtherFact[];
};

type ContextRow = readonly [
  responseId: string,
  inferenceId: string,
  revision: number,
  at: string,
  scope: number,
  model: number,
  settingsDigest: number,
  turn: string,
  /** Empty where it is the same as `turn`. */
  held: string,
  inputLength: number,
  length: number,
  /** `true` where it is the response of the row before. */
  parent: string | true | null,
  unusable: Unusable,
];

type OtherFact =
  /** Settings are read where they were declared. */
  | readonly ["settings", digest: string, revision: number]
  | readonly ["invalidated", scope: string, responseId: string | null, reason: string, revision: number]
  | readonly ["learned", scope: string, capability: string, value: boolean | string]
  | readonly ["quarantined", blockIds: readonly string[]];

/** Where settings were declared, by digest. */
export type SettingsPlaces = Map<string, number>;

export const noFacts = (before: string | null): Facts => ({ before, texts: [], contexts: [], others: [] });
export const hasFacts = ({ contexts, others }: Facts): boolean => contexts.length + others.length > 0;

/** Adds what an event made true; `contexts` are the rows that the fold made of it. */
export function noteFacts(facts: Facts, { event, revision }: RecordedEvent, contexts: readonly ServerContext[]): void {
  for (const context of contexts) facts.contexts.push(rowOf(context, facts));
  switch (event.type) {
    case "SettingsDeclared":
      facts.others.push(["settings", event.data.digest, revision]);
      return;
    case "AnchorInvalidated": {
      const { scope, responseId, reason } = event.data;
      facts.others.push(["invalidated", scope, responseId, reason, revision]);
      return;
    }
    case "CapabilityLearned": {
      const { scope, capability, value } = event.data;
      facts.others.push(["learned", scope, capability, value]);
      return;
    }
    case "ReasoningQuarantined":
      facts.others.push(["quarantined", event.data.blockIds]);
      return;
    default:
  }
}

/** Puts facts into a view, as the fold of their events did, but for the settings: of them it says where they are. */
export function restoreFacts(view: ServerContextsView, places: SettingsPlaces, facts: Facts): void {
  let previous: string | null = null;
  for (const row of facts.contexts) {
    addContext(view, contextOf(row, facts.texts, previous));
    previous = row[0];
  }
  for (const fact of facts.others) {
    switch (fact[0]) {
      case "settings":
        places.set(fact[1], fact[2]);
        break;
      case "invalidated": {
        const [, scope, responseId, reason, revision] = fact;
        if (responseId === null) view.invalidScopes.set(scope, { reason, revision });
        else view.invalidResponses.set(responseId, { reason, revision });
        break;
      }
      case "learned": {
        const [, scope, capability, value] = fact;
        const learned = view.learned.get(scope) ?? new Map<string, boolean | string>();
        view.learned.set(scope, learned.set(capability, value));
        break;
      }
      default:
        for (const id of fact[1]) view.quarantined.add(id);
    }
  }
}

function rowOf(context: ServerContext, { texts, contexts }: Facts): ContextRow {
  const numberOf = (text: string | null): number => {
    if (text === null) return -1;
    const known = texts.indexOf(text);
    return known < 0 ? texts.push(text) - 1 : known;
  };
  const { responseId, inferenceId, revision, at, scope, model, settingsDigest, turn, held } = context;
  const { inputLength, length, unusable } = context;
  const parent = context.parent !== null && context.parent === contexts.at(-1)?.[0] ? true : context.parent;
  return [
    ...([responseId, inferenceId, revision, at] as const),
    ...([numberOf(scope), numberOf(model), numberOf(settingsDigest)] as const),
    ...([turn, held === turn ? "" : held, inputLength, length, parent, unusable] as const),
  ];
}

function contextOf(row: ContextRow, texts: readonly string[], previous: string | null): ServerContext {
  return {
    responseId: row[0],
    inferenceId: row[1],
    revision: row[2],
    at: row[3],
    scope: texts[row[4]] ?? "",
    model: texts[row[5]] ?? null,
    settingsDigest: texts[row[6]] ?? "",
    turn: row[7],
    held: row[8] === "" ? row[7] : row[8],
    inputLength: row[9],
    length: row[10],
    parent: row[11] === true ? previous : row[11],
    unusable: row[12],
  };
}
