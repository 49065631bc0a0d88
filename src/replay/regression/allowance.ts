import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ConversationRegression } from "./conversation-result.ts";
import { moneyOf, moneyText } from "./money-text.ts";

const differenceSchema = z.strictObject({
  /** The conversation's id; `*` for every conversation. */
  conversation: z.string().min(1),
  /** As reports name it: `redact@2.1.0`, or `redact` for every version; `settings:model`. */
  culprit: z.string().min(1),
  reason: z.string().min(1),
});

const allowanceSchema = z.strictObject({
  version: z.literal(1),
  differences: z.array(differenceSchema).default([]),
  /** How much may differ besides: requests that change, dollars more, caches that break. */
  budget: z
    .strictObject({
      requests: z.int().nonnegative().exactOptional(),
      money: z.number().nonnegative().exactOptional(),
      caches: z.int().nonnegative().exactOptional(),
    })
    .exactOptional(),
});

/** The differences that somebody has looked at and allows (`turnlog.allow.json`), and how much may differ besides. */
export type Allowance = Readonly<z.infer<typeof allowanceSchema>>;

/** Allows nothing. */
export const noAllowance: Allowance = { version: 1, differences: [] };

/**
 * Reads an allowance.
 *
 * @throws {TurnlogError} `allowance-unusable` if the text is not one.
 */
export function readAllowance(text: string, file: string): Allowance {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new TurnlogError("allowance-unusable", `${file} is not JSON: ${messageOf(cause)}`, { cause });
  }
  const parsed = allowanceSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
  throw new TurnlogError("allowance-unusable", `${file} is no allowance${place}: ${issue?.message ?? "it is invalid"}`);
}

/** What differs beyond an allowance. */
export type Verdict = {
  readonly isWithin: boolean;
  /** Conversations of which every culprit is listed. */
  readonly allowed: number;
  /** What the others change. */
  readonly beyond: {
    readonly conversations: number;
    readonly requests: number;
    readonly caches: number;
    readonly money: string | null;
    /** Conversations in which a layer does not do the same twice. */
    readonly nondeterministic: number;
  };
  /** Listed differences that no compared conversation has. */
  readonly unused: readonly { readonly conversation: string; readonly culprit: string }[];
};

/** Compares conversations with an allowance, one by one. */
export class AllowanceCheck {
  readonly #allowance: Allowance;
  readonly #used = new Set<Allowance["differences"][number]>();
  readonly #beyond = { conversations: 0, requests: 0, caches: 0, nondeterministic: 0 };
  #allowed = 0;
  #money: bigint | null = null;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
  }

  add(result: ConversationRegression): void {
    if (!result.differs) return;
    const open = result.culprits.filter(({ name }) => !this.#isListed(result.conversation, name));
    if (open.length === 0) {
      this.#allowed += 1;
      return;
    }
    this.#beyond.conversations += 1;
    // A run that only ends otherwise counts as a request.
    this.#beyond.requests += result.changed + result.added + result.ends;
    this.#beyond.caches += result.caches;
    if (open.some(({ name }) => name.startsWith("nondeterminism:"))) this.#beyond.nondeterministic += 1;
    if (result.money !== null) this.#money = (this.#money ?? 0n) + moneyOf(result.money);
  }

  #isListed(conversation: string, name: string): boolean {
    const listed = this.#allowance.differences.filter(
      (each) => (each.conversation === "*" || each.conversation === conversation) && isNamed(name, each.culprit),
    );
    for (const each of listed) this.#used.add(each);
    return listed.length > 0;
  }

  verdict(): Verdict {
    const { budget, differences } = this.#allowance;
    const { conversations, requests, caches, nondeterministic } = this.#beyond;
    const money = this.#money;
    const isInBudget =
      budget !== undefined &&
      requests <= (budget.requests ?? Number.POSITIVE_INFINITY) &&
      caches <= (budget.caches ?? Number.POSITIVE_INFINITY) &&
      (budget.money === undefined || (money !== null && money <= moneyOf(budget.money.toFixed(12))));
    return {
      isWithin: conversations === 0 || (isInBudget && nondeterministic === 0),
      allowed: this.#allowed,
      beyond: { conversations, requests, caches, money: money === null ? null : moneyText(money), nondeterministic },
      unused: differences
        .filter((each) => !this.#used.has(each))
        .map(({ conversation, culprit }) => ({ conversation, culprit })),
    };
  }
}

/** A listed layer without a version stands for all of them. */
const isNamed = (name: string, listed: string): boolean => name === listed || name.replace(/@[^@]*$/, "") === listed;
