import type { BlockChange } from "../../projections/client-turn/blame.ts";
import type { CacheAuthor, PromptDivergence } from "../../projections/views/cache-author.ts";
import type { CacheAdvice } from "./cache-advice.ts";
import type { MissPrice } from "./prices/price-of-miss.ts";
import type { CacheRules } from "./prompt-cache/cache-rules.ts";
import type { CacheCause, CacheTokens } from "./prompt-cache/cache-verdict.ts";
import type { CacheDiagnosis } from "./prompt-cache/told-diagnosis.ts";

/** Why a request read from its provider's prompt cache what it read, who changed its prompt, and what that cost. */
export type RequestCache = {
  /** `unknown` if nothing is known of the prompts of its wire, or its codec is not available. */
  readonly cause: CacheCause | "unknown";
  /** What the cause would be by the rules alone, if the answer reported otherwise or nothing. */
  readonly foreseen: CacheCause | "unknown";
  /** The earlier request that shares most with this one. */
  readonly against: {
    readonly stream: string;
    readonly revision: number;
    readonly inferenceId: string;
    readonly at: string;
  } | null;
  /** The first part of the request body that is not shared with that one: a setting, a tool, the instructions or a block. */
  readonly unit: {
    readonly path: string;
    readonly kind: "setting" | "tool" | "system" | "block";
    /** Of a setting or a tool. */
    readonly name: string | null;
  } | null;
  /** The first block that differs, who changed it, and a word or two for it; its index is in the Turn. */
  readonly divergence: (PromptDivergence & { readonly block: string }) | null;
  /** Who changed the prompt; null if it was not changed, or the log does not say who did. */
  readonly author: CacheAuthor | null;
  /** The text of that block then and now, and where the log has the change; null if no block changed. */
  readonly edit: {
    readonly before: string | null;
    readonly after: string | null;
    readonly changed: BlockChange | null;
  } | null;
  /** The settings that differ from those of the earlier request, and the names of tools that came and went. */
  readonly changedSettings: readonly string[];
  readonly tools: { readonly added: readonly string[]; readonly removed: readonly string[] };
  /** How long ago the entry was last used, in milliseconds, if it expired or may have. */
  readonly idleMs: number | null;
  /** What the vendor says of this model's cache, and where. */
  readonly rules: Pick<CacheRules, "minimumTokens" | "lifetimes" | "source"> | null;
  /** Input tokens by price class, as the provider reported them; null if it reported none, or they contradict each other. */
  readonly tokens: {
    readonly input: number;
    readonly uncached: number;
    readonly read: number | null;
    readonly written: Readonly<Record<string, number>>;
  } | null;
  /** How much of the prompt is shared with the earlier request, and how much of that the rules let a server read. */
  readonly shared: CacheTokens | null;
  readonly foreseenRead: CacheTokens | null;
  /** What would have been read if nothing had been lost, and what was lost. */
  readonly expected: CacheTokens | null;
  readonly lost: CacheTokens | null;
  /**
   * What the provider itself says of the prompt, if it was asked (`cacheDiagnostics`): about the newest answer before it, which need not be
   * the request that shares most. `agrees` says whether turnlog finds the same difference to that one; null if it cannot tell.
   */
  readonly serverSays:
    | (CacheDiagnosis & { readonly against: RequestCache["against"]; readonly agrees: boolean | null })
    | null;
  /** What the lost tokens cost more than reading them would have, by the price file; null without one, or if nothing was lost. */
  readonly price:
    | (MissPrice & { readonly file: string; readonly sha256: string; readonly format: "litellm" | "models.dev" })
    | null;
  /** What would have avoided the miss, by name; null if nothing would. */
  readonly avoid: CacheAdvice | null;
};
