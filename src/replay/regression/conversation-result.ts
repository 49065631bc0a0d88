import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import type { Picodollars } from "../../base/dollars.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { ChangeList } from "./change-list.ts";
import type { Broken, PlayedRunPair } from "./compare-conversation.ts";
import type { RequestDifference } from "./compare-run.ts";
import type { Culprit } from "./culprit.ts";
import { moneyText } from "./money-text.ts";
import { costChange } from "./request-cost.ts";

/** How much of a conversation changes. */
export type RegressionCounts = {
  /** Requests of the earlier side, of which so many were compared. */
  readonly requests: number;
  readonly compared: number;
  /** Requests that are made otherwise, or not any more. */
  readonly changed: number;
  /** Requests that the changed stack makes besides. */
  readonly added: number;
  /** Runs that end otherwise, though no request of them differs. */
  readonly ends: number;
  /** Requests that no longer continue from a response, and that give up more of an earlier prompt. */
  readonly chains: number;
  readonly caches: number;
  /** Reasoning blocks that are not sent any more. */
  readonly reasoning: number;
  /** Requests that the log cannot answer any more, by reason. */
  readonly unknown: Readonly<Record<string, number>>;
  /** About how much more it costs, in dollars as decimal text; null without prices. */
  readonly money: string | null;
  /** Changed requests without a price. */
  readonly unpriced: number;
};

/** A culprit, and how many requests it changes. */
export type CulpritCount = { readonly name: string; readonly requests: number };

/** What the changed stack does to one conversation. */
export type ConversationRegression = RegressionCounts & {
  readonly conversation: ConversationId;
  /** Whether anything differs, as far as the log can answer. */
  readonly differs: boolean;
  readonly culprits: readonly CulpritCount[];
  /** The first culprit; null if nothing differs. */
  readonly first: Culprit | null;
  /** The first differences: at most `maxDifferences`. */
  readonly differences: readonly RequestDifference[];
  /** Why the conversation could not be read to its end, or a run's context not be made; null if nothing like that happened. */
  readonly message: string | null;
};

const countNames = [
  ...(["requests", "compared", "changed", "added", "ends"] as const),
  ...(["chains", "caches", "reasoning", "unpriced"] as const),
] as const;

/** What is counted of a conversation, and added up over all. */
export class RegressionCounter {
  readonly counts: Record<(typeof countNames)[number], number> = {
    ...{ requests: 0, compared: 0, changed: 0, added: 0, ends: 0 },
    ...{ chains: 0, caches: 0, reasoning: 0, unpriced: 0 },
  };
  readonly unknown: Record<string, number> = {};

  add(other: Pick<RegressionCounts, (typeof countNames)[number] | "unknown">): void {
    for (const name of countNames) this.counts[name] += other[name];
    for (const [reason, requests] of Object.entries(other.unknown)) this.addUnknown(reason, requests);
  }

  addUnknown(reason: string, requests: number): void {
    this.unknown[reason] = (this.unknown[reason] ?? 0) + requests;
  }
}

/** Adds up the runs of a conversation. */
export class ConversationSum {
  readonly #prices: PriceFile | null;
  readonly #counter = new RegressionCounter();
  /** What differs, and its culprits. */
  readonly changes = new ChangeList();
  #money: Picodollars = 0n;
  #message: string | null = null;

  constructor(prices: PriceFile | null) {
    this.#prices = prices;
  }

  add(given: PlayedRunPair | Broken): void {
    if ("reason" in given) {
      this.#counter.counts.requests += given.requests;
      this.#counter.addUnknown(given.reason, given.requests);
      this.#message = given.message;
      return;
    }
    const { compared } = given;
    const { counts } = this.#counter;
    counts.requests += compared.requests;
    counts.compared += compared.compared;
    if (compared.unknown !== null) {
      this.#counter.addUnknown(compared.unknown.reason, compared.unknown.requests);
      this.#message ??= compared.unknown.message;
    }
    for (const difference of compared.differences) this.#addDifference(difference, given);
    if (compared.end !== null) counts.ends += 1;
    this.changes.add(given);
  }

  #addDifference(difference: RequestDifference, { answers }: PlayedRunPair): void {
    const { effect, before, revision } = difference;
    const { counts } = this.#counter;
    if (before === null) counts.added += 1;
    else counts.changed += 1;
    if (effect.breaksChain) counts.chains += 1;
    if (effect.breaksCache) counts.caches += 1;
    counts.reasoning += effect.lostReasoning;
    if (this.#prices === null) return;
    const more = revision === null ? null : costChange(difference, answers.get(revision), this.#prices);
    if (more === null) counts.unpriced += 1;
    else this.#money += more;
  }

  resultOf(conversation: ConversationId): ConversationRegression {
    const { counts, unknown } = this.#counter;
    const { changed, added, ends } = counts;
    return {
      conversation,
      differs: changed + added + ends > 0,
      ...counts,
      unknown,
      money: this.#prices === null ? null : moneyText(this.#money),
      culprits: [...this.changes.counts].map(([name, requests]) => ({ name, requests })),
      first: this.changes.first,
      differences: this.changes.differences,
      message: this.#message,
    };
  }
}
