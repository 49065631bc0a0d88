import { answerCounts } from "./answer-counts.ts";
import { answerMisses } from "./answer-misses.ts";
import { billOf } from "./bill.ts";

/** Requests, tokens and told money, a row for each conversation. */
export const billing = billOf(answerCounts);

/** The same with what was paid for again because a prompt cache missed, and who caused that. */
export const caching = billOf(answerCounts, { misses: answerMisses });
