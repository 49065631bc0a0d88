import { TurnlogError } from "../../base/turnlog-error.ts";
import {
  type Droppable,
  droppableIn,
  droppedBlocks,
  truncateResults,
  withoutStretch,
} from "../../domain/compaction.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import { assistant, user } from "../../domain/make-block.ts";
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
  const { turn } = occasion;
  const { keep, maxResultLength } = session.engine.compact;
  // What the model has not read yet it is asked about now.
  if (how === "truncate-results") return truncateResults(turn, { maxLength: maxResultLength, before: counted.length });
  const stretch = droppableIn(turn, keep);
  if (stretch === null) return turn;
  return how === "summarise" ? summarised(session, occasion, stretch) : withoutStretch(turn, stretch);
}

/** A summary in the place of a stretch; the Turn as it is where the model gives none. */
async function summarised(session: RunSession, occasion: Occasion, stretch: Droppable): Promise<Turn> {
  const { turn, frame, scope, onStep } = occasion;
  const { summary = {} } = session.engine.compact;
  const input = turn.with([...droppedBlocks(turn, stretch), user(summaryRequest)]);
  try {
    const call = { frame, given: turn, scope, actor: engineActor };
    const { text, isComplete } = await inferAside(session, call, { asked: { ...summary, input }, onStep });
    if (text === "" || !isComplete) return turn;
    const said = `Summary of what came before:\n\n${text}`;
    // The model's own notes on its work; of whole exchanges, what it was told.
    return withoutStretch(turn, stretch, [stretch.of === "steps" ? assistant(said) : user(said)]);
  } catch (error) {
    scope.throwIfEnded();
    if (error instanceof ProviderError) return turn;
    throw error;
  }
}

const summaryRequest =
  "Summarise the conversation above, so that it can go on without it: what was asked and decided, what was found out, which tools " +
  "were used and what came of them, names, numbers and identifiers as they were written, and what is still to be done. Answer with " +
  "the summary only.";
