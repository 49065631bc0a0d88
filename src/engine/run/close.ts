import type { Actor } from "../../domain/actor.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { recoveryResults, turnIfEnded } from "../../projections/client-turn/recovery-results.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import type { EngineOptions } from "../options/engine.ts";
import { providersOf } from "../options/route.ts";
import { callProvider } from "../ports/provider-call.ts";

type Failed = {
  readonly type: "RunFailed";
  readonly kind: string;
  readonly message: string;
  /** The layer that threw the error that ended the run, and the frame of its call. */
  readonly thrownBy?: { readonly layer: string; readonly frame: string };
};

/** How to end a run that did not complete. */
export type Closing = {
  readonly runId: string;
  readonly turns: RunTurns;
  readonly how: Failed | { readonly type: "RunCancelled"; readonly reason: string };
  readonly actor: Actor;
  readonly timings?: LayerTiming[];
};

/**
 * The events that end a run that did not complete (rule: Runs that do not complete): a result for every call that the remaining Turn leaves
 * open, and the end itself with the digest of that Turn.
 */
export function closingEntries({ runId, turns, how, actor, timings }: Closing): readonly ProposedEvent[] {
  const results = recoveryResults(runId, turns);
  const after = turnIfEnded(runId, turns).digest;
  const discarded = turns.discardedTools;
  const rest = {
    after,
    ...(discarded.length === 0 ? {} : { discardedTools: [...discarded] }),
    ...(timings === undefined ? {} : { timings }),
  };
  const event =
    how.type === "RunFailed"
      ? ({ type: "RunFailed", version: 1, data: { ...failureOf(how), ...rest } } as const)
      : ({ type: "RunCancelled", version: 1, data: { reason: how.reason, ...rest } } as const);
  return [
    ...[...results].map(([blockId, { block, outcome }]): ProposedEvent => {
      const data = { blockId, result: blockToJson(block), outcome, durationMs: 0 };
      return { event: { type: "ToolFinished", version: 1, data }, actor: { kind: "recovery" }, runId };
    }),
    { event, actor, runId },
  ];
}

const failureOf = ({ kind, message, thrownBy }: Failed) => ({
  kind,
  message,
  ...(thrownBy === undefined ? {} : { thrownBy }),
});

/**
 * Once the end of the run is durable, has servers cancel the responses that they still make for it in the background. The end, and the
 * `ResponseStarted` before it, are the record of that. If a cancellation fails, its response is made in vain, and nothing else happens.
 */
export async function cancelUnderWay(run: OpenRun | null, engine: EngineOptions): Promise<void> {
  const underWay = [...(run?.underWay.values() ?? [])];
  const ours = underWay.flatMap(({ scope, responseId }) => {
    const provider = providersOf(engine).find((each) => each.scope === scope);
    return provider === undefined ? [] : [{ provider, responseId }];
  });
  if (ours.length === 0) return;
  const limits = { signal: new AbortController().signal, deadlineMs: cancelTimeoutMs };
  await Promise.allSettled(
    ours.map(({ provider, responseId }) =>
      callProvider(limits, ({ signal }) => provider.cancel?.(responseId, { signal })),
    ),
  );
}

const cancelTimeoutMs = 10_000;
