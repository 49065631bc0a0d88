import { worstOf } from "./chains.ts";
import { parentOf } from "./origin.ts";
import {
  type LogGroup,
  type OverviewDocument,
  type PackedRequest,
  type StripRequest,
  verdicts,
} from "./page-documents.ts";
import type { Reel } from "./reel.ts";
import type { Step } from "./step.ts";
import { firstFrom } from "./step-at.ts";

/** What a page has already. */
export type Known = { readonly groups: number; readonly requests: number };

/** What the page of a conversation needs first: its strip, and its log by messages. */
export function overviewDocument(reel: Reel, known: Known): OverviewDocument {
  const { view, steps, rows, layers, head, damage, runs } = reel;
  return {
    conversation: reel.id,
    title: view.title,
    labels: view.labels,
    parent: parentOf(view.origin),
    events: rows.length,
    digest: head?.digest ?? "",
    runs,
    isOpen: view.client.run !== null,
    layers: [...layers].map(([name, isOwn]) => ({ name, isOwn })),
    groups: { from: known.groups, items: groupsOf(reel, known.groups) },
    requests: { from: known.requests, items: steps.slice(known.requests).map((step) => packed(stripRequest(step))) },
    damage,
  };
}

const packed = ({ revision, verdict, bytes, heldBytes, ms, tokens }: StripRequest): PackedRequest => [
  ...([revision, verdicts.indexOf(verdict), bytes, heldBytes, ms ?? -1] as const),
  ...([tokens?.input ?? -1, tokens?.output ?? -1, tokens?.read ?? -1, tokens?.again ?? -1] as const),
];

export const stripRequest = ({ revision, at, verdict, data, heldBytes, outcome }: Step): StripRequest => ({
  ...{ revision, heldBytes, bytes: data.requestBytes },
  verdict: outcome?.isFailure === true ? "failed" : verdict,
  tokens: outcome?.tokens ?? null,
  ms: outcome === null ? null : Math.max(0, Date.parse(outcome.at) - Date.parse(at)),
});

function groupsOf({ groups, steps }: Reel, known: number): readonly LogGroup[] {
  return groups.slice(known).map(({ from, to, words, state }) => {
    const own = steps.slice(firstFrom(steps, from), firstFrom(steps, to + 1));
    return { from, to, words, state, worst: worstOf(own.map((step) => stripRequest(step).verdict)) };
  });
}
