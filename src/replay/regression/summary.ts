import type { Picodollars } from "../../base/dollars.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { type ConversationRegression, RegressionCounter, type RegressionCounts } from "./conversation-result.ts";
import type { Culprit } from "./culprit.ts";
import { moneyOf, moneyText } from "./money-text.ts";

/** A culprit, and how many conversations and requests it changes. */
export type CulpritSum = { readonly name: string; readonly conversations: number; readonly requests: number };

/** What a changed stack does to the conversations of a store. */
export type Regression = RegressionCounts & {
  readonly conversations: number;
  /** Conversations in which something differs, and those of which a part is unknown. */
  readonly differing: number;
  readonly partlyUnknown: number;
  /** The first culprit, by the order in which conversations are compared; null if nothing differs. */
  readonly first: (Culprit & { readonly conversation: ConversationId }) | null;
  readonly culprits: readonly CulpritSum[];
  /** False if it was interrupted. */
  readonly isComplete: boolean;
};

/** Adds up conversations, in any order. It keeps no conversation. */
export class RegressionSum {
  readonly #counter = new RegressionCounter();
  readonly #culprits = new Map<string, { conversations: number; requests: number }>();
  #conversations = 0;
  #differing = 0;
  #partlyUnknown = 0;
  #money: Picodollars | null = null;
  #first: Regression["first"] = null;

  add(result: ConversationRegression): void {
    this.#conversations += 1;
    this.#counter.add(result);
    if (Object.keys(result.unknown).length > 0) this.#partlyUnknown += 1;
    if (result.money !== null) this.#money = (this.#money ?? 0n) + moneyOf(result.money);
    if (!result.differs) return;
    this.#differing += 1;
    const { first, conversation } = result;
    // Workers finish in any order, and the summary names the same culprit every time.
    if (first !== null && (this.#first === null || conversation < this.#first.conversation))
      this.#first = { ...first, conversation };
    for (const { name, requests } of result.culprits) {
      const sum = this.#culprits.get(name) ?? { conversations: 0, requests: 0 };
      this.#culprits.set(name, { conversations: sum.conversations + 1, requests: sum.requests + requests });
    }
  }

  result(isComplete: boolean): Regression {
    const sorted = [...this.#culprits].map(([name, sum]) => ({ name, ...sum }));
    return {
      ...{ conversations: this.#conversations, differing: this.#differing, partlyUnknown: this.#partlyUnknown },
      ...this.#counter.counts,
      unknown: this.#counter.unknown,
      money: this.#money === null ? null : moneyText(this.#money),
      first: this.#first,
      culprits: sorted.toSorted((left, right) => right.requests - left.requests || (left.name < right.name ? -1 : 1)),
      isComplete,
    };
  }
}
