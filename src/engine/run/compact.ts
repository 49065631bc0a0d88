import { TurnlogError } from "../../base/turnlog-error.ts";
import {
  type Droppable,
  droppedBlocks,
  summarisable,
  summaryBlock,
  truncateResults,
  withoutStretch,
} from "../../domain/compaction.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import { user } from "../../domain/make-block.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Step } from "../inference/step-request.ts";
import { contextLookup } from "../inference/step-request.ts";
import { type CountedTurn, countedIn } from "../planning/contexts.ts";
import { splitTurn } from "../planning/instruction-blocks.ts";
import type { CallScope } from "../session/call-scope.ts";
import { type CompactedPlace, recordCompaction } from "../session/compaction.ts";
import { engineActor, type RunSession } from "../session/session.ts";
import { ProviderError } from "../stack/provider.ts";
import { inferAside } from "./infer-aside.ts";

/** Where and when a Turn may be made shorter. */
type Occasion = CompactedPlace & {
  readonly because: "before-request" | "after-run";
  /** How many counted tokens are too many; absent where none are. */
  readonly limit: number | undefined;
  readonly turn: Turn;
  readonly scope: CallScope;
  readonly onStep: (step: Step) => void;
};

/**
 * The Turn, made shorter where the run's policy asks for it. What is asked is in the log alone (the counts of endpoints and the
 * policy that the run began with), so that a run that is taken up comes to the same.
 */
export async function compact(session: RunSession, occasion: Occasion): Promise<Turn> {
  const { limit, turn, because } = occasion;
  if (limit === undefined) return turn;
  const counted = await countedTurn(session, turn);
  if (counted === null || counted.tokens < limit) return turn;
  await session.readAll();
  for (const how of session.engine.compact.how) {
    const shorter = await shortened(session, occasion, { how, counted });
    if (shorter === turn) continue;
    const compaction: Compaction = { how, because, tokens: counted.tokens, limit };
    return recordCompaction(session, occasion, { turn: shorter, compaction });
  }
  return turn;
}

/** What the endpoint has counted of a Turn, and how many of its blocks that is of. */
async function countedTurn(session: RunSession, turn: Turn): Promise<CountedTurn | null> {
  const { provider } = session.engine;
  const count = (): CountedTurn | null => {
    const { input, count: said } = splitTurn(session.view(), turn, provider);
    const counted = countedIn(input, contextLookup(session), provider.scope);
    return counted === null ? null : { ...counted, length: counted.length + said };
  };
  try {
    return count();
  } catch (error) {
    if (!(error instanceof TurnlogError && error.code === "content-not-read")) throw error;
    await session.readAll();
    return count();
  }
}

type Asked = { readonly how: string; readonly counted: CountedTurn };

async function shortened(session: RunSession, occasion: Occasion, { how, counted }: Asked): Promise<Turn> {
  const { turn, scope } = occasion;
  const { keep, maxResultLength } = session.engine.compact;
  // What the model has not read yet it is asked about now.
  if (how === "truncate-results") return truncateResults(turn, { maxLength: maxResultLength, before: counted.length });
  const stretch = summarisable(turn, keep);
  if (stretch === null) return turn;
  if (how !== "summarise") return withoutStretch(turn, stretch);
  try {
    return (await summarised(session, occasion, stretch)) ?? turn;
  } catch (error) {
    scope.throwIfEnded();
    if (error instanceof ProviderError) return turn;
    throw error;
  }
}

/**
 * The one step of a run that asks for no answer: puts a summary in the place of the oldest exchanges.
 *
 * @throws {ProviderError} when the provider refused or failed.
 * @throws {TurnlogError} `no-summary` where there is nothing to summarise, and where the model gave no whole summary.
 */
export async function compactOnly(session: RunSession, step: SummaryStep): Promise<Turn> {
  await session.readAll();
  const { keep } = session.engine.compact;
  const stretch = summarisable(step.turn, keep);
  if (stretch === null)
    throw noSummary(`what the layers hand on has nothing to summarise beside the newest ${keep} exchanges`);
  const shorter = await summarised(session, { ...step, direction: "request" }, stretch);
  if (shorter === null) throw noSummary("the model gave no summary, or broke off in it");
  const place = { frame: step.frame, direction: "response" } as const;
  return recordCompaction(session, place, { turn: shorter, compaction: { how: "summarise", because: "asked" } });
}

const noSummary = (what: string): TurnlogError => new TurnlogError("no-summary", `${what}: the Turn stays as it is`);

type SummaryStep = Pick<Occasion, "frame" | "turn" | "scope" | "onStep">;
type SummaryPlace = SummaryStep & Pick<CompactedPlace, "direction">;

/** A summary in the place of a stretch; null where the model gave none, or half of one. */
async function summarised(
  session: RunSession,
  { turn, frame, direction, scope, onStep }: SummaryPlace,
  stretch: Droppable,
): Promise<Turn | null> {
  const { summary = {} } = session.engine.compact;
  const input = turn.with([...droppedBlocks(turn, stretch), user(summaryRequest)]);
  const name = direction === "request" ? (`given/${frame}` as const) : (`result/${frame}` as const);
  const call = { frame, at: { name, turn }, scope, actor: engineActor };
  const { text, isComplete } = await inferAside(session, call, { asked: { ...summary, input }, onStep });
  return text === "" || !isComplete ? null : withoutStretch(turn, stretch, [summaryBlock(text, stretch)]);
}

const summaryRequest =
  "Summarise the conversation above, so that it can go on without it: what was asked and decided, what was found out, which tools " +
  "were used and what came of them, names, numbers and identifiers as they were written, and what is still to be done. Answer with " +
  "the summary only.";
