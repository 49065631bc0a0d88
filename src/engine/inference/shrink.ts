import { droppableIn, truncateResults, withoutStretch } from "../../domain/compaction.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import type { RunSession } from "../session/session.ts";

/** A Turn that takes the place of a step's, and what was done to make it shorter. */
export type Shorter = { readonly turn: Turn; readonly compaction: Compaction };

/**
 * The Turn of a step whose request was refused because it is too long, made shorter: with its tool results cut, else (where the
 * policy leaves exchanges out) without the oldest. Null where there is nothing to make shorter, or the policy says not to.
 */
export async function shorterOf(session: RunSession, outgoing: Turn): Promise<Shorter | null> {
  const { onTooLong, how, keep, maxResultLength } = session.engine.compact;
  if (onTooLong === "fail") return null;
  await session.readAll();
  const cut = truncateResults(outgoing, { maxLength: maxResultLength });
  if (cut !== outgoing) return { turn: cut, compaction: { how: "truncate-results", because: "too-long" } };
  const stretch = how.includes("drop-exchanges") ? droppableIn(outgoing, keep) : null;
  if (stretch === null) return null;
  return { turn: withoutStretch(outgoing, stretch), compaction: { how: "drop-exchanges", because: "too-long" } };
}
