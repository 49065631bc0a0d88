import { droppableIn, truncateResults, withoutStretch } from "../../domain/compaction.ts";
import type { Turn } from "../../domain/turn.ts";
import { recordCompaction } from "../session/compaction.ts";
import type { RunSession } from "../session/session.ts";

/**
 * The Turn of a step whose request was refused because it is too long, made shorter: with its tool results cut, else (where the
 * policy leaves exchanges out) without the oldest. Null where there is nothing to make shorter, or the policy says not to.
 */
export async function shrink(session: RunSession, frame: string, outgoing: Turn): Promise<Turn | null> {
  const { onTooLong, how, keep, maxResultLength } = session.engine.compact;
  if (onTooLong === "fail") return null;
  await session.readAll();
  const place = { frame, direction: "request" } as const;
  const cut = truncateResults(outgoing, { maxLength: maxResultLength });
  if (cut !== outgoing) {
    const compaction = { how: "truncate-results", because: "too-long" };
    return recordCompaction(session, place, { turn: cut, compaction });
  }
  const stretch = how.includes("drop-exchanges") ? droppableIn(outgoing, keep) : null;
  if (stretch === null) return null;
  const compaction = { how: "drop-exchanges", because: "too-long" };
  return recordCompaction(session, place, { turn: withoutStretch(outgoing, stretch), compaction });
}
