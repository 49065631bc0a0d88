import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Turn } from "../../domain/turn.ts";
import { buildRequest } from "../../engine/planning/build-request.ts";
import { plan } from "../../engine/planning/plan.ts";
import type { PlanRequest } from "../../engine/planning/plan-request.ts";
import { omit } from "../../engine/planning/repairs.ts";
import { type ReasoningFate, reasoningFates } from "../../engine/recorded/reasoning-survival.ts";
import { newTrail, noteReasoning, type ReasoningTrail } from "../../engine/recorded/reasoning-trail.ts";
import type { Follower } from "../../log/aggregate/fold.ts";
import { declaredSettingsOf } from "../../projections/server-contexts/server-contexts.ts";

/** A reasoning block of a Turn that was sent, or would be, and what happened to it. */
export type ReasoningBlock = ReasoningFate & {
  /** The age of its answer when the request was planned; null if the log does not have it. */
  readonly ageMs: number | null;
};

/** The size of a Turn's reasoning in bytes of requests, and what producing it cost. */
export type ReasoningSize = {
  /** Of the request: bytes of its whole body, and bytes of its reasoning. */
  readonly sentBytes: number;
  readonly sentReasoningBytes: number;
  /** The same for a request that sends everything. */
  readonly fullBytes: number;
  readonly fullReasoningBytes: number;
  /** The provider's token counts for the answers that this reasoning came in. */
  readonly reasoningTokens: number;
};

/** A forecast for the reasoning of a Turn, from the log. */
export type ReasoningForecast = {
  readonly blocks: readonly ReasoningBlock[];
  readonly size: ReasoningSize;
};

type Sent = {
  readonly request: PlanRequest;
  readonly decision: ReturnType<typeof plan>;
  /** Includes blocks that are sent in the instructions. */
  readonly outgoing: Turn;
};

/** Forecasts the reasoning of a Turn that is sent this way. */
export function forecast(
  trail: ReasoningTrail,
  server: Parameters<typeof declaredSettingsOf>[0],
  { request, decision, outgoing }: Sent,
): ReasoningForecast {
  const fates = reasoningFates(trail, {
    ...request,
    ...{ decision, outgoing, input: request.turn },
    settingsOf: (digest) => declaredSettingsOf(server, digest),
  });
  const now = Date.parse(request.now);
  const answers = new Set(fates.flatMap(({ from }) => from?.inferenceId ?? []));
  const tokens = [...answers].map((id) => trail.answers.get(id)?.reasoningTokens ?? 0);
  const full = plan({ ...request, full: "policy" });
  return {
    blocks: fates.map((fate) => ({ ...fate, ageMs: fate.from === null ? null : now - Date.parse(fate.from.at) })),
    size: {
      sentBytes: buildRequest(request, decision).bytes,
      sentReasoningBytes: reasoningBytes(request, decision),
      fullBytes: buildRequest(request, full).bytes,
      fullReasoningBytes: reasoningBytes(request, full),
      reasoningTokens: tokens.reduce((sum, count) => sum + count, 0),
    },
  };
}

/** How many bytes of a body its reasoning takes. */
function reasoningBytes(request: PlanRequest, decision: Sent["decision"]): number {
  const { sendFrom, repairs } = decision;
  const places = request.turn
    .after(sendFrom)
    .flatMap(({ kind }, offset) => (kind === "reasoning" ? [sendFrom + offset] : []));
  const without = { ...decision, repairs: [...repairs, ...places.map((index) => omit(index, "measured"))] };
  return buildRequest(request, decision).bytes - buildRequest(request, without).bytes;
}

/** Follows a reading of events, also one that starts over. */
export function trailReader(): { readonly follow: () => Follower; readonly trail: () => ReasoningTrail } {
  let trail = newTrail();
  return {
    follow() {
      const own = newTrail();
      trail = own;
      return (recorded, view) => {
        noteReasoning(own, recorded, view);
      };
    },
    trail: () => trail,
  };
}

/** @throws {TurnlogError} `request-not-found`, always. */
export function nothingAsked(revision: number): never {
  throw new TurnlogError("request-not-found", `there is no request up to revision ${revision}: give the endpoint`);
}
