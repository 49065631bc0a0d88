import type { CacheLoss, Decision } from "../../domain/events/inference-events.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import { isUnknownLoss } from "../recorded/cache-loss.ts";
import type { LiveRun, RunSession } from "../session/session.ts";

/** The layers about which a run has already emitted the process warning. */
const warned = new WeakMap<LiveRun, Set<string>>();

/** No vendor keeps a cache entry longer unless it is used. */
const keptMs = 24 * 60 * 60 * 1_000;

/** Tokens are estimated, because a request is counted only once it is answered. */
const bytesPerToken = 4;

/** Reports a request that gives up so much of an earlier prompt that it is dear, before it is sent. */
export function tellLostCache(
  { run, engine }: RunSession,
  frame: string,
  { decision, asked }: { readonly decision: Decision; readonly asked: Pick<PlanRequest, "contexts" | "now"> },
): void {
  const { cache } = decision;
  if (engine.cacheLost === null || cache === undefined || cache === null || isUnknownLoss(cache)) return;
  const tokens = Math.round(cache.lostBytes / bytesPerToken);
  if (tokens <= engine.cacheLost.tokens || !isCached(cache, asked)) return;
  const { actor, settings } = cache;
  run.emit({ type: "cache-lost", frame, tokens, actor, settings });
  if (actor?.kind !== "middleware") return;
  const known = warned.get(run) ?? new Set();
  warned.set(run, known);
  if (known.has(actor.name)) return;
  known.add(actor.name);
  process.emitWarning(
    `the layer '${actor.name}' changed what was sent before, so a request pays for about ${tokens} tokens again that a prompt cache may hold: \`turnlog why\` shows the change, and createEngine's cacheLost sets when to warn`,
    "TurnlogWarning",
  );
}

/** Whether the earlier prompt may still be cached. */
function isCached({ against }: CacheLoss, { contexts, now }: Pick<PlanRequest, "contexts" | "now">): boolean {
  const at = contexts.ofInference(against)?.at;
  return at !== undefined && Date.parse(now) - Date.parse(at) < keptMs;
}
