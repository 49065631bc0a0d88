import type { EngineOptions } from "../options/engine.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import type { SentBlock } from "../ports/codec.ts";
import type { RunSession } from "../session/session.ts";

/** Engines that have already emitted the process warning. */
const warned = new WeakSet<EngineOptions["life"]>();

/** Warns of a request that carries encrypted reasoning of old answers: it is unknown how long an endpoint can read its own. */
export function warnOfAge(
  session: RunSession,
  frame: string,
  { contexts, now, shaped }: Pick<PlanRequest, "contexts" | "now"> & { readonly shaped: readonly SentBlock[] },
): void {
  const { warnOfReasoningAfterMs, life } = session.engine;
  const received = shaped.flatMap(({ block: { kind, wire } }) =>
    kind === "reasoning" && wire?.ciphertext !== undefined
      ? (contexts.ofInference(wire.group?.id ?? "")?.at ?? [])
      : [],
  );
  const old = received.filter((at) => Date.parse(now) - Date.parse(at) >= warnOfReasoningAfterMs);
  const [oldestAt] = old.toSorted();
  if (oldestAt === undefined) return;
  session.run.emit({ type: "reasoning-aged", frame, blocks: old.length, oldestAt });
  if (warned.has(life)) return;
  warned.add(life);
  process.emitWarning(
    `a request carries encrypted reasoning from ${oldestAt}, which its endpoint may no longer be able to read: createEngine's reasoning.keepForMs leaves out old reasoning, reasoning.warnAfterMs sets when to warn`,
    "TurnlogWarning",
  );
}
