import { worstOf } from "./chains.ts";
import { parentOf } from "./origin.ts";
import type { LogGroup, OverviewDocument, StripRequest } from "./page-documents.ts";
import type { Reel } from "./reel.ts";
import type { Step } from "./step.ts";
import { firstFrom } from "./step-at.ts";

/** What the page of a conversation needs first: its strip, and its log by messages. */
export function overviewDocument(reel: Reel): OverviewDocument {
  const { view, steps, rows, layers, head, damage } = reel;
  return {
    conversation: reel.id,
    title: view.title,
    labels: view.labels,
    parent: parentOf(view.origin),
    events: rows.length,
    digest: head?.digest ?? "",
    runs: rows.filter(({ type }) => type === "RunStarted").length,
    isOpen: view.client.run !== null,
    layers: [...layers].map(([name, isOwn]) => ({ name, isOwn })),
    groups: groupsOf(reel),
    requests: steps.map(stripRequest),
    damage,
  };
}

export const stripRequest = ({ revision, at, verdict, data, heldBytes, outcome, model }: Step): StripRequest => ({
  ...{ revision, heldBytes, bytes: data.requestBytes, model },
  verdict: outcome?.isFailure === true ? "failed" : verdict,
  tokens: outcome?.tokens ?? null,
  ms: outcome === null ? null : Math.max(0, Date.parse(outcome.at) - Date.parse(at)),
});

function groupsOf({ groups, steps }: Reel): readonly LogGroup[] {
  return groups.map(({ from, to, words, state }) => {
    const own = steps.slice(firstFrom(steps, from), firstFrom(steps, to + 1));
    return { from, to, words, state, worst: worstOf(own.map((step) => stripRequest(step).verdict)) };
  });
}
