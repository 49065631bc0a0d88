import type { JsonObject } from "../base/json.ts";
import type { Block } from "../domain/block.ts";
import { leadingSystemBlocks } from "../engine/planning/instruction-blocks.ts";
import { changedSettings, differsForCertain } from "../engine/planning/request-settings.ts";
import type { CacheTrail } from "./cache-trail.ts";
import type { SentPrompt } from "./sent-prompt.ts";

/** The request that is explained, and those before it. */
type Explained = { readonly trail: CacheTrail; readonly prompt: SentPrompt };

/**
 * The settings of a prompt, to compare with the request that is explained. If settings of one of them were erased, those count as equal that do
 * not differ for certain. Of erased instructions it is only known what system blocks they were made of: null if those are not known, or the
 * same as in the request, which has other settings.
 */
export function settingsOf(
  { request, settings, outgoing }: SentPrompt,
  { trail, prompt }: Explained,
): JsonObject | null {
  const [digest, ownDigest] = [request.settingsDigest, prompt.request.settingsDigest];
  const isErased = trail.erasedSettings.has(digest);
  const isOwnErased = trail.erasedSettings.has(ownDigest);
  if (!isErased && !isOwnErased) return settings;
  const { instructions, ...others } = settings;
  const certain = Object.entries(others).filter(([name]) => differsForCertain(prompt.settings, settings, name));
  const { instructions: _, ...rest } = { ...prompt.settings, ...Object.fromEntries(certain) };
  if (!isErased) return instructions === undefined ? rest : { ...rest, instructions };
  const blocks = leadingSystemBlocks(outgoing);
  if (!blocks.some((block) => block.isErased)) return null;
  if (isOwnErased && digest !== ownDigest && areSame(blocks, leadingSystemBlocks(prompt.outgoing))) return null;
  return { ...rest, instructions: `[erased ${digest}]` };
}

const areSame = (one: readonly Block[], other: readonly Block[]): boolean =>
  one.length === other.length && one.every((block, place) => other[place]?.recordedAs === block.recordedAs);

/** The settings that a request does not have in common with an earlier one, as far as it is known. */
export function changedNames(before: SentPrompt, asked: Explained): readonly string[] {
  const { prompt: now, trail } = asked;
  const [then, own] = [settingsOf(before, asked), settingsOf(now, asked)];
  if (then === null || own === null) return [];
  const hasErased = [before, now].some(({ request }) => trail.erasedSettings.has(request.settingsDigest));
  return changedSettings(then, own).filter((name) => !hasErased || differsForCertain(then, own, name));
}
