import { counted, grouped } from "../../base/counted.ts";
import { inOneLine } from "../../base/printable.ts";

/** Why a request read from the prompt cache what it read, in words. An unknown cause is returned as it is. */
export const describeCacheCause = (cause: string): string => causeWords.get(cause) ?? inOneLine(cause);

/** What would have avoided a miss, in words; null for an unknown name. */
export const describeCacheAdvice = (advice: string): string | null => adviceWords.get(advice) ?? null;

/** What a vendor says of a prompt, in words: `tools_changed, about 1,204 tokens lost`. */
export function describeDiagnosis({ says, reason, lostTokens }: Diagnosis): string {
  if (says !== "changed") return diagnosisWords[says];
  const lost = lostTokens === null ? "" : `, about ${counted(lostTokens, "token")} lost`;
  return `${inOneLine(reason ?? "something changed")}${lost}`;
}

type Diagnosis = {
  readonly says: "same" | "changed" | "not-found" | "unavailable";
  readonly reason: string | null;
  readonly lostTokens: number | null;
};

const diagnosisWords = {
  same: "nothing changed",
  "not-found": "it does not know the earlier answer",
  unavailable: "it cannot tell",
} as const;

/** What to do about requests that nothing has looked at, in words. */
export const notLookedAtWords = (requests: number): string =>
  `${counted(requests, "request")} of an older turnlog: \`turnlog projections rebuild cache\` looks at them`;

/** A number of tokens: `about 1,204 tokens`. */
export const tokenWords = ({ tokens, isAbout }: { readonly tokens: number; readonly isAbout: boolean }): string =>
  `${isAbout ? "about " : ""}${counted(tokens, "token")}`;

/** A time span: `4 s`, `12 min`, `3 h`, `2 days`. */
export function spanWords(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${grouped(Math.round(hours / 24))} days`;
}

const causeWords: ReadonlyMap<string, string> = new Map([
  ["first", "the conversation had asked nothing at this endpoint before"],
  ["read", "it read what the rules let it read"],
  ["changed", "the prompt changed"],
  ["tools-changed", "the tools changed"],
  ["setting-changed", "a setting that is part of the prompt changed"],
  ["other-partition", "the earlier request is in another cache: another endpoint, key or tier"],
  ["no-breakpoint", "a request had no breakpoint, so nothing was cached or read"],
  ["out-of-lookback", "the entry ends further back than the server looks"],
  ["boundary-moved", "the entry ends where no message ends any more"],
  ["below-minimum", "the prompt was shorter than the server caches"],
  ["expired", "the entry had expired"],
  ["maybe-expired", "the entry may have expired"],
  ["not-yet-readable", "the answer to the earlier request had not begun"],
  ["unexplained", "the entry should have been there: the server dropped it, or another machine answered"],
  [
    "more-than-known",
    "it read more than this store knows of: another program of the account cached it, or a request whose settings were erased here",
  ],
  ["untold", "the provider did not report what it read"],
  ["not-looked-at", "an older turnlog made the request: `turnlog projections rebuild cache` looks at it"],
  [
    "unknown",
    "nothing is known of the prompts: the program makes its own, the codec is missing, or settings were erased",
  ],
]);

const adviceWords: ReadonlyMap<string, string> = new Map([
  ["layer-edits-once", "let the layer change a block once, when it is new, and always in the same way"],
  ["append-only", "append a message instead of changing or removing an earlier one"],
  ["compact-less", "compact less often, and more at a time"],
  ["fixed-instructions", "keep the instructions the same, and put what changes into the newest message"],
  ["fixed-tools", "offer the same tools in the same order, and restrict them with the tool choice"],
  ["fixed-settings", "keep the setting for the whole conversation"],
  ["same-partition", "use the same endpoint, cache key and service tier for the whole conversation"],
  ["set-breakpoints", "turn the provider's `cache` option on, or `cacheBreakpoints`"],
  ["more-breakpoints", "ask more often, so that fewer blocks lie between two breakpoints"],
  ["new-message", "append a new message instead of adding to an earlier one"],
  ["longer-lifetime", "ask for a longer lifetime of cache entries"],
  ["wait-for-answer", "wait until the first answer begins before sending requests with the same beginning"],
]);
