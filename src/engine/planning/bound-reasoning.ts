import type { JsonObject } from "../../base/json.ts";
import type { BoundDigest, Decision } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Settings } from "../ports/codec.ts";
import {
  type BoundPlace,
  behind,
  boundItemOf,
  digestOfPlace,
  firstPlace,
  isPlaceOf,
  placeOfDigest,
  sentItems,
} from "./bound-place.ts";
import { changedBefore } from "./request-settings.ts";

type Planned = {
  readonly turn: Turn;
  readonly scope: string;
  readonly settings: Settings;
  readonly capabilities: Capabilities;
  readonly contexts: {
    readonly ofInference: (inferenceId: string) => ServerContext | null;
    readonly settings: (digest: string) => JsonObject;
  };
};

/** How reasoning is checked for an endpoint that rejects requests whose reasoning has a changed prefix. */
export type ReasoningCheck = {
  /** What the server holds before the first block of the request. */
  readonly start: BoundPlace;
  /**
   * Whether the reasoning of an answer is valid where the answer begins, as far as the log shows. The place is null if the answer
   * begins with a compaction, so that its reasoning depends on nothing earlier.
   */
  readonly mayStand: (inferenceId: string, place: BoundPlace | null) => boolean;
};

/**
 * The check for a request that continues from a context, or from nothing; undefined if the endpoint does not check, or the start is
 * unknown.
 */
export function reasoningCheck(request: Planned, anchor: ServerContext | null): ReasoningCheck | undefined {
  const start = startOf(request, anchor);
  if (start === null) return undefined;
  const { contexts, scope, settings } = request;
  const hasChanged = new Map<string, boolean>();
  const isReadOtherwise = (digest: string): boolean => {
    const known = hasChanged.get(digest) ?? changedBefore(contexts.settings(digest), settings).length > 0;
    hasChanged.set(digest, known);
    return known;
  };
  return {
    start,
    mayStand(inferenceId, place) {
      const made = contexts.ofInference(inferenceId);
      if (made?.bound === undefined || made.scope !== scope) return true;
      return !isReadOtherwise(made.settingsDigest) && (place === null || isPlaceOf(made.bound, place));
    },
  };
}

/** The prefix that the reasoning of a request's answer will depend on, if its endpoint checks that. */
export function boundTo(
  request: Planned,
  decision: Pick<Decision, "anchor" | "sendFrom" | "repairs" | "capabilities">,
): BoundDigest | undefined {
  const { turn, scope, contexts } = request;
  const id = decision.anchor?.inferenceId ?? null;
  const anchor = id === null ? null : contexts.ofInference(id);
  const start = id !== null && anchor === null ? null : startOf(request, anchor);
  return start === null ? undefined : digestOfPlace(sentItems(turn, { decision, scope }).reduce(behind, start));
}

function startOf({ turn, capabilities }: Planned, anchor: ServerContext | null): BoundPlace | null {
  if (capabilities.reasoningPrefix !== "refuse") return null;
  if (anchor === null) return firstPlace;
  const { bound, inputLength, length } = anchor;
  if (bound === undefined) return null;
  const answer = turn.after(inputLength).slice(0, length - inputLength);
  return answer.map((block, n) => boundItemOf(block, inputLength + n)).reduce(behind, placeOfDigest(bound));
}
