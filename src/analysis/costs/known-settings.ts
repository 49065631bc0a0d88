import type { JsonObject } from "../../base/json.ts";
import { leadingSystemBlocks } from "../../engine/planning/instruction-blocks.ts";
import { changedSettings, differsForCertain } from "../../engine/planning/request-settings.ts";
import type { CacheTrail } from "./cache-trail.ts";
import { erasedIn, type SentPrompt } from "./sent-prompt.ts";

/** The request that is explained, and those before it. */
type Explained = { readonly trail: CacheTrail; readonly prompt: SentPrompt };

/**
 * The settings of a prompt, to compare with the request that is explained. If they were erased with a system block, the instructions are the
 * part that differs for certain, and the others count as those of that request where they do not differ for certain. Null if they were erased
 * for another reason, or are that request's own, or if that request sent such a block as a message, which a wire may write as it writes
 * instructions: then nothing is known of them.
 */
export function settingsOf(
  { request, settings, outgoing }: SentPrompt,
  { trail, prompt }: Explained,
): JsonObject | null {
  if (trail.erasedSettings.has(prompt.request.settingsDigest)) return null;
  if (!trail.erasedSettings.has(request.settingsDigest)) return settings;
  if (!leadingSystemBlocks(outgoing).some(({ isErased }) => isErased) || hasSentErased(prompt)) return null;
  const certain = Object.entries(settings).filter(([name]) => differsForCertain(prompt.settings, settings, name));
  return { ...prompt.settings, ...Object.fromEntries(certain), instructions: `[erased ${request.settingsDigest}]` };
}

/** Whether a prompt began with a system message whose content was erased since. */
function hasSentErased(prompt: SentPrompt): boolean {
  const standIns = erasedIn(prompt);
  return leadingSystemBlocks(prompt.input).some(({ isErased, id }) => isErased && !standIns.has(id));
}

/** The settings that a request does not have in common with an earlier one, as far as it is known. */
export function changedNames(before: SentPrompt, asked: Explained): readonly string[] {
  const { prompt: now, trail } = asked;
  const [then, own] = [settingsOf(before, asked), settingsOf(now, asked)];
  if (then === null || own === null) return [];
  const hasErased = [before, now].some(({ request }) => trail.erasedSettings.has(request.settingsDigest));
  return changedSettings(then, own).filter((name) => !hasErased || differsForCertain(then, own, name));
}
