/** The requests of a store that paid again for what a prompt cache had, the worst first; and what each day's came to. */
export type MissesDocument = {
  readonly worst: readonly {
    readonly conversation: string;
    readonly revision: number;
    readonly at: string;
    readonly cause: string;
    readonly author: string | null;
    /** Tokens that were paid again: all of them, and those that were written to the cache again. */
    readonly lost: number;
    readonly written: number;
    /** What they cost more than reading them would have, in dollars; null without a price. */
    readonly money: string | null;
  }[];
  /** How many of the conversations with misses were read for that list, those with the most first. */
  readonly read: number;
  readonly conversations: number;
  readonly days: readonly { readonly day: string; readonly lost: number; readonly money: string | null }[];
};
