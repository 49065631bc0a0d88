import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { ServerContext } from "../../projections/server-contexts.ts";
import type { RecordedPolicy } from "../stack/chain-policy.ts";

/** What it is judged by: of the request, and of the answers that are known. */
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
 * Why encrypted reasoning is not sent although its endpoint gave it (rule: Planning and shaping, 1), by the answer that it came in: another
 * model made it, or it is older than the policy keeps it. Null where nothing speaks against it, and where the log does not have the answer.
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
  // A caller who says that a change of model chains says that its models read each other's reasoning.
  const isSameModel = made.settingsDigest === settingsDigest || onSettingsChange["model"] === "chain";
  return isSameModel || contexts.settings(made.settingsDigest)["model"] === settings["model"] ? null : "other-model";
}
