import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { RecordedPolicy } from "../options/chain-policy.ts";

/** What reasoning is judged by: the request, and the known answers. */
type Judged = {
  readonly contexts: {
    readonly ofInference: (inferenceId: string) => ServerContext | null;
    readonly settings: (digest: string) => JsonObject;
  };
  readonly policy: RecordedPolicy;
  readonly settings: JsonObject;
  readonly settingsDigest: string;
  readonly now: string;
};

/**
 * Why encrypted reasoning is not sent although it came from this endpoint (rule: Planning and shaping, 1): another model made it,
 * or it is older than the policy allows. Null if there is no reason, and if the log does not have its answer.
 */
export function unwantedReason(
  { contexts, policy, settings, settingsDigest, now }: Judged,
  { kind, wire }: Block,
): string | null {
  if (kind !== "reasoning" || wire?.ciphertext === undefined || wire.group === undefined) return null;
  const made = contexts.ofInference(wire.group.id);
  if (made === null) return null;
  const { keepReasoningMs = Number.POSITIVE_INFINITY, onSettingsChange } = policy;
  if (Date.parse(now) - Date.parse(made.at) >= keepReasoningMs) return "expired";
  // A caller who chains across models declares that they can read each other's reasoning.
  const isSameModel = made.settingsDigest === settingsDigest || onSettingsChange["model"] === "chain";
  return isSameModel || contexts.settings(made.settingsDigest)["model"] === settings["model"] ? null : "other-model";
}
