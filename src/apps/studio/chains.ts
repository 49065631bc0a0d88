import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { Verdict } from "./page-documents.ts";
import { verdictOf } from "./step.ts";

/** Worst last: of several requests that share a cell, the worst counts. */
const byBadness: readonly Verdict[] = ["aside", "chained", "first", "whole", "rebased", "full", "failed"];

const badness = (verdict: Verdict): number => byBadness.indexOf(verdict);

export function worstOf(verdicts: readonly Verdict[]): Verdict | null {
  return verdicts.reduce<Verdict | null>(
    (worst, each) => (worst === null || badness(each) > badness(worst) ? each : worst),
    null,
  );
}

const letters: Readonly<Record<Verdict, string>> = {
  ...{ first: "f", chained: "c", rebased: "r", full: "x", whole: "w", aside: "c", failed: "x" },
};

/** How many cells a row of the list has. */
const mostCells = 24;

/** The chain of a conversation in a few letters; reads its requests only. */
export async function chainOf(events: EventStore, id: ConversationId): Promise<string> {
  const verdicts: Verdict[] = [];
  for await (const envelope of events.readStream(conversationStream(id))) {
    if (envelope.type !== "InferenceRequested") continue;
    const recorded = await tryToRead(events, envelope);
    if (recorded instanceof Error || recorded.event.type !== "InferenceRequested") continue;
    verdicts.push(verdictOf(recorded.event.data.decision));
  }
  return inCells(verdicts);
}

function inCells(verdicts: readonly Verdict[]): string {
  const cells = Math.min(mostCells, verdicts.length);
  return Array.from({ length: cells }, (_, cell) => {
    const from = Math.floor((cell * verdicts.length) / cells);
    const to = Math.floor(((cell + 1) * verdicts.length) / cells);
    return letters[worstOf(verdicts.slice(from, to)) ?? "chained"];
  }).join("");
}
