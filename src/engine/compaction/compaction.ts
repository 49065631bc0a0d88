/**
 * Compaction: when the engine shortens a Turn, and how.
 *
 *     before a request    its endpoint has counted `beforeRequest` tokens of the Turn              this file
 *     after a run         an answer calls nothing, and `afterRun` tokens were counted by then      this file
 *     after a refusal     the endpoint refused the request because it is too long                  this file
 *     asked by a caller   between two runs, without a model                                        without-model.ts
 *     asked by a caller   between two runs, by a summary, in a run that does nothing else          summary.ts
 *     asked by a caller   between two runs, what a server made of the Turn takes its place         server-window.ts
 *
 * `shorten.ts` decides what may be cut or dropped from a Turn, and is pure. `record-compaction.ts` records the shorter Turn: within
 * a run as the engine's edits (`TurnEdited`), between two runs as `TurnCompacted`. The conversation continues with it, and earlier
 * revisions keep what was there. The policy is an option of the engine (engine/options/compact-policy.ts). `RunStarted` holds it, so
 * that a resumed run decides by its log alone.
 */
import { TurnlogError } from "../../base/turnlog-error.ts";
import { openCalls } from "../../domain/calls.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import { endsPaused } from "../options/tool-loop.ts";
import { type CountedTurn, countedIn } from "../planning/contexts.ts";
import { splitTurn } from "../planning/instruction-blocks.ts";
import type { ContextLookup } from "../planning/plan-request.ts";
import { broughtBy } from "../ports/middleware.ts";
import { ProviderError } from "../ports/provider-error.ts";
import type { RunSession } from "../session/session.ts";
import { type CompactedPlace, recordCompaction } from "./record-compaction.ts";
import { droppableIn, summarisable, truncateResults, withoutStretch } from "./shorten.ts";
import { type SummaryStep, summarised } from "./summary.ts";

/** A step of a run whose Turn may be shortened. */
type StepPlace = SummaryStep & {
  /** The contexts that servers are known to hold, with their token counts. */
  readonly contexts: () => ContextLookup;
};

/** The Turn of a step, shortened before its request if the run's policy asks for it. */
export function compactBefore(session: RunSession, step: StepPlace): Promise<Turn> {
  const limit = session.engine.compact.beforeRequest;
  return compact(session, { ...step, direction: "request", because: "before-request", limit });
}

/** The Turn with the answer of a step, shortened if the run's policy asks for it and the model has nothing left to read. */
export async function compactAfter(session: RunSession, step: StepPlace & { readonly answered: Turn }): Promise<Turn> {
  const { turn: outgoing, answered } = step;
  const brought = broughtBy(outgoing, answered);
  // The model still has to read the results of its calls, with everything that led to them; a paused answer is continued.
  if (!session.run.fold.isWhole || openCalls(brought).length > 0 || endsPaused(answered, brought)) return answered;
  const limit = session.engine.compact.afterRun;
  return compact(session, { ...step, turn: answered, direction: "response", because: "after-run", limit });
}

/** A shorter Turn that replaces a step's, and how it was shortened. */
export type Shorter = { readonly turn: Turn; readonly compaction: Compaction };

/**
 * The shortened Turn of a step whose request was rejected as too long: its tool results are cut, or else (if the policy drops
 * exchanges) its oldest exchanges dropped. Null if the request failed for another reason, if nothing can be shortened, and if the
 * policy forbids it.
 */
export async function shorterAfter(
  session: RunSession,
  { kind, outcome }: ProviderError,
  outgoing: Turn,
): Promise<Shorter | null> {
  if (kind !== "context-length-exceeded" || outcome !== "rejected") return null;
  const { onTooLong, how, keep, maxResultLength } = session.engine.compact;
  if (onTooLong === "fail") return null;
  await session.run.fold.readAll();
  const cut = truncateResults(outgoing, { maxLength: maxResultLength });
  if (cut !== outgoing) return { turn: cut, compaction: { how: "truncate-results", because: "too-long" } };
  const stretch = how.includes("drop-exchanges") ? droppableIn(outgoing, keep) : null;
  if (stretch === null) return null;
  return { turn: withoutStretch(outgoing, stretch), compaction: { how: "drop-exchanges", because: "too-long" } };
}

/** When and where a Turn may be shortened. */
type Occasion = StepPlace &
  CompactedPlace & {
    readonly because: "before-request" | "after-run";
    /** The limit of counted tokens; absent if there is none. */
    readonly limit: number | undefined;
  };

/** Decided by the log alone (the endpoints' counts, and the policy that the run began with), so that a resumed run decides alike. */
async function compact(session: RunSession, occasion: Occasion): Promise<Turn> {
  const { limit, turn, because } = occasion;
  if (limit === undefined) return turn;
  const counted = await countedTurn(session, occasion);
  if (counted === null || counted.tokens < limit) return turn;
  await session.run.fold.readAll();
  for (const how of session.engine.compact.how) {
    const shorter = await shortened(session, occasion, { how, counted });
    if (shorter === turn) continue;
    const compaction: Compaction = { how, because, tokens: counted.tokens, limit };
    return recordCompaction(session, occasion, { turn: shorter, compaction });
  }
  return turn;
}

/** The endpoint's token count of a Turn, and the number of blocks that it covers. */
async function countedTurn(session: RunSession, { turn, contexts }: StepPlace): Promise<CountedTurn | null> {
  const { provider } = session.engine;
  const count = (): CountedTurn | null => {
    const { input, count: said } = splitTurn(session.run.fold.view, turn, provider);
    const counted = countedIn(input, contexts(), provider.scope);
    return counted === null ? null : { ...counted, length: counted.length + said };
  };
  try {
    return count();
  } catch (error) {
    if (!(error instanceof TurnlogError && error.code === "content-not-read")) throw error;
    await session.run.fold.readAll();
    return count();
  }
}

type Asked = { readonly how: string; readonly counted: CountedTurn };

async function shortened(session: RunSession, occasion: Occasion, { how, counted }: Asked): Promise<Turn> {
  const { turn, scope } = occasion;
  const { keep, maxResultLength } = session.engine.compact;
  // The next request asks about blocks that the model has not read yet, so these are not cut.
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
