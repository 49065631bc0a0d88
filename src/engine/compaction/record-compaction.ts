import type { RecordedWindow } from "../../domain/events/conversation-events.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import type { TurnChange } from "../../log/writer/revert.ts";
import { normalise, recordPass, reviseTurn } from "../session/pass.ts";
import { engineActor, newBlockId, type RunSession } from "../session/session.ts";

/** A Turn of the run that the engine makes shorter: what a frame of the core was given, or what it gave back. */
export type CompactedPlace = { readonly frame: string; readonly direction: "request" | "response" };

/**
 * Puts a shorter Turn in the place of one of the run's, as edits of the engine's that the log has before what is done with it. The
 * conversation goes on with it: an edit that nobody takes back is of the Turn (rule: Frames).
 */
export function recordCompaction(
  session: RunSession,
  { frame, direction }: CompactedPlace,
  { turn, compaction }: { readonly turn: Turn; readonly compaction: Compaction },
): Turn {
  const { turns } = session.run.fold;
  const target = direction === "request" ? (`given/${frame}` as const) : (`result/${frame}` as const);
  // A frame that asked for no answer has none to make shorter.
  const base = direction === "response" && turns.result(frame) === null ? (`given/${frame}` as const) : target;
  const before = turns.get(base);
  const settled = normalise(turn, before, { newId: () => newBlockId(session.run, frame) }).frozen();
  const pass = reviseTurn(settled, { name: base, turn: before }, [], turns);
  recordPass(session.run, { pass, direction, frame, actor: engineActor, compaction });
  session.run.emit({ type: "compacted", frame, compaction });
  return settled;
}

/** The same between two runs: the Turn is shorter; where a server made it so, with what that said. */
export const compacted =
  (compaction: Compaction, window?: RecordedWindow): TurnChange["event"] =>
  (data, isFirst) => {
    const told = isFirst && window !== undefined ? { window } : {};
    return { type: "TurnCompacted", version: 1, data: { ...data, compaction, ...told } };
  };
