import { idOf } from "../../domain/block.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Layer, LayerContext } from "../middleware.ts";
import { contextLookup } from "./contexts.ts";
import type { Around } from "./frames.ts";
import { derivedRandom, newBlockId, type RunSession } from "./session.ts";
import { requestSettings } from "./settings.ts";
import { runTool } from "./tools.ts";

/** What a layer is given besides the Turn. */
export function contextOf(session: RunSession, { name, version }: Layer, around: Around): LayerContext {
  const { frame, given, scope, from, during } = around;
  return {
    runId: session.runId,
    frame,
    get settings() {
      return requestSettings(session.engine, session.engine.provider.capabilities, scope.instructions);
    },
    signal: scope.signal,
    now: () => session.clock,
    id: () => newBlockId(session, frame),
    random: () => derivedRandom(session, frame),
    from,
    instructions: (text) => {
      scope.instructions.push({ text, actor: { kind: "middleware", name, version, frame, direction: "request" } });
    },
    get unsent() {
      return unsentOf(session, given);
    },
    onAcknowledged: (work) => {
      session.acknowledgements.push({ frame, after: session.responses.length, work });
    },
    tool: (call) => during(runTool(session, frame, call, scope.signal)),
    canRun: (call) => call.id !== null && session.calls.has(call.id),
    replaying: false,
  };
}

/** The blocks after the deepest context that some server holds. */
function unsentOf(session: RunSession, turn: Turn): ReadonlySet<BlockId> {
  const { byTurn } = contextLookup(session);
  for (const { length, digest } of turn.contexts()) {
    if (length === 0 || byTurn(digest).length > 0) return new Set(turn.after(length).map(idOf));
  }
  return new Set();
}
