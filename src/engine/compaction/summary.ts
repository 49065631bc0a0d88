import { TurnlogError } from "../../base/turnlog-error.ts";
import { user } from "../../domain/make-block.ts";
import type { Turn } from "../../domain/turn.ts";
import type { AsideAnswer, AsideRequest } from "../ports/aside.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { NamedTurn } from "../session/pass.ts";
import type { RunSession } from "../session/session.ts";
import { type CompactedPlace, recordCompaction } from "./record-compaction.ts";
import { type Droppable, droppedBlocks, summarisable, summaryBlock, withoutStretch } from "./shorten.ts";

/** Asks the model outside the conversation, for the engine; `at` is a Turn of the run that the question may be recorded against. */
export type AskModel = (at: NamedTurn, asked: AsideRequest<unknown>) => Promise<AsideAnswer<unknown>>;

/** A step of a run whose Turn may be summarised. */
export type SummaryStep = {
  readonly frame: string;
  readonly turn: Turn;
  readonly scope: CallScope;
  /** The run passes this function, because requests belong to a higher floor. */
  readonly ask: AskModel;
};

/**
 * Replaces the oldest exchanges with a summary, once in a run: otherwise a layer that calls `next` until there is an answer would
 * summarise for ever. For a run that asks for no answer.
 *
 * @throws {ProviderError} if the provider rejected the request or failed.
 * @throws {TurnlogError} `no-summary` if there is nothing to summarise, if the model gave no complete summary, and at the second
 *   call.
 */
export function summarisingOnce(session: RunSession): (step: SummaryStep) => Promise<Turn> {
  let hasSummary = false;
  return async (step) => {
    if (hasSummary)
      throw new TurnlogError("no-summary", "a layer called next twice, but this run asks for one summary only");
    const shorter = await withSummary(session, step);
    hasSummary = true;
    return shorter;
  };
}

async function withSummary(session: RunSession, step: SummaryStep): Promise<Turn> {
  await session.run.fold.readAll();
  const { keep } = session.engine.compact;
  const stretch = summarisable(step.turn, keep);
  if (stretch === null) throw noSummary(`the layers pass on nothing to summarise but the newest ${keep} exchanges`);
  const shorter = await summarised(session, { ...step, direction: "request" }, stretch);
  if (shorter === null) throw noSummary("the model gave no summary, or an incomplete one");
  const place = { frame: step.frame, direction: "response" } as const;
  return recordCompaction(session, place, { turn: shorter, compaction: { how: "summarise", because: "asked" } });
}

const noSummary = (what: string): TurnlogError => new TurnlogError("no-summary", `${what}: the Turn stays as it is`);

/** Replaces a stretch with a summary; null if the model gave none, or an incomplete one. */
export async function summarised(
  session: RunSession,
  { turn, frame, direction, ask }: SummaryStep & Pick<CompactedPlace, "direction">,
  stretch: Droppable,
): Promise<Turn | null> {
  const { summary = {} } = session.engine.compact;
  const input = turn.with([...droppedBlocks(turn, stretch), user(summaryRequest)]);
  const name = direction === "request" ? (`given/${frame}` as const) : (`result/${frame}` as const);
  const { text, isComplete } = await ask({ name, turn }, { ...summary, input });
  return text === "" || !isComplete ? null : withoutStretch(turn, stretch, [summaryBlock(text, stretch)]);
}

const summaryRequest =
  "Summarise the conversation above, so that it can go on without it: what was asked and decided, what was found out, which tools " +
  "were used and what came of them, names, numbers and identifiers as they were written, and what is still to be done. Answer with " +
  "the summary only.";
