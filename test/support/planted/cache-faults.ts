import type { PlantedFault } from "./planted-fault.ts";

/** Why a prompt cache missed, and the sums over misses. */
export const cacheFaults: readonly PlantedFault[] = [
  {
    of: "an entry that has expired is read",
    file: "src/analysis/costs/prompt-cache/cache-cause.ts",
    find: "readableFrom !== null && readableFrom <= at && mostUntil >= at;",
    put: "readableFrom !== null && readableFrom <= at && mostUntil >= 0;",
    suite: "analysis/costs/prompt-cache/verdicts",
  },
  {
    of: "an entry is read before it is readable",
    file: "src/analysis/costs/prompt-cache/cache-cause.ts",
    find: "readableFrom !== null && readableFrom <= at && mostUntil >= at;",
    put: "readableFrom !== null && mostUntil >= at;",
    suite: "analysis/costs/prompt-cache/verdicts",
  },
  {
    of: "an entry of another partition counts as the request's own",
    file: "src/analysis/costs/prompt-cache/cache-cause.ts",
    find: "prompts.filter((each) => each.request.partition === partition),",
    put: "prompts.filter((each) => each.request.partition === partition || each.lastWrite >= 0),",
    suite: "analysis/costs/prompt-cache/rehearsed-verdicts",
  },
  {
    of: "a prompt below the minimum is written to the cache",
    file: "src/analysis/costs/prompt-cache/cache-walk.ts",
    find: "const least = Math.max(rules.minimumTokens ?? 0, rules.stepTokens ?? 1, 1);",
    put: "const least = 1;",
    suite: "analysis/costs/prompt-cache/rehearsed-verdicts",
  },
  {
    of: "reading an entry does not begin its lifetime again",
    file: "src/analysis/costs/prompt-cache/cache-walk.ts",
    find: "mostUntil: Math.max(entry.mostUntil, at + entry.mostMs),",
    put: "",
    suite: "analysis/costs/prompt-cache/verdicts",
  },
  {
    of: "answers that report nothing are among those that missed",
    file: "src/analysis/costs/prices/cache-sum.ts",
    find: "if (neither.has(cause) && author === null) continue;",
    put: "",
    suite: "analysis/costs/cache",
  },
  {
    of: "lost tokens are not counted in the total",
    file: "src/analysis/costs/prices/cache-sum.ts",
    find: "total.lost += paid;",
    put: "",
    suite: "analysis/costs/cache",
  },
];
