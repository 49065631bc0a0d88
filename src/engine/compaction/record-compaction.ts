import type { RecordedWindow } from "../../domain/events/conversation-events.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import type { TurnChange } from "../../log/writer/revert.ts";
import { normalise, recordPass, reviseTurn } from "../session/pass.ts";
import { engineActor, newBlockId, type RunSession } from "../session/session.ts";

/** A Turn of the run that the engine shortens: one that a frame received, or that it returned. */
export type CompactedPlace = { readonly frame: string; readonly direction: "request" | "response" };

/**
 * Replaces a Turn of the run with a shorter one, as the engine's own edits, which are recorded before the Turn is used. The
 * conversation continues with it: an edit that no layer restores belongs to the Turn (rule: Frames).
 */
export function recordCompaction(
  session: RunSession,
  { frame, direction }: CompactedPlace,
  { turn, compaction }: { readonly turn: Turn; readonly compaction: Compaction },
): Turn {
  const { turns } = session.run.fold;
  const target = direction === "request" ? (`given/${frame}` as const) : (`result/${frame}` as const);
  // A frame without a request has no answer to shorten, only the Turn that it received.
  const base = direction === "response" && turns.result(frame) === null ? (`given/${frame}` as const) : target;
  const before = turns.get(base);
  const settled = normalise(turn, before, {
    names: session.run.names,
    newId: () => newBlockId(session.run, frame),
  }).frozen();
  const pass = reviseTurn(settled, { name: base, turn: before }, [], turns);
  recordPass(session.run, { pass, direction, frame, actor: engineActor, compaction });
  session.run.emit({ type: "compacted", frame, compaction });
  return settled;
}

/** The same between two runs, with the server's report if a server shortened the Turn. */
export const compacted =
  (compaction: Compaction, window?: RecordedWindow): TurnChange["event"] =>
  (data, isFirst) => {
    const told = isFirst && window !== undefined ? { window } : {};
    return { type: "TurnCompacted", version: 1, data: { ...data, compaction, ...told } };
  };
