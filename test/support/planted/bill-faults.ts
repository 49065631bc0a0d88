import type { PlantedFault } from "./planted-fault.ts";

/** What answers count, what bills add up, and what price files say. */
export const billFaults: readonly PlantedFault[] = [
  {
    of: "what was read from a cache is left out of Anthropic's input",
    file: "providers/anthropic/message-counts.ts",
    find: "sumTold(uncached, cacheRead, sumWritten(cacheWritten))",
    put: "uncached",
    suite: "providers/answers/counts",
  },
  {
    of: "a count that was not reported is 0",
    file: "providers/answers/counts.ts",
    find: "Number.isSafeInteger(count) && count >= 0 ? count : undefined",
    put: "Number.isSafeInteger(count) && count >= 0 ? count : 0",
    suite: "providers/answers/counts",
  },
  {
    of: "the usage of a cut stream is lost",
    file: "engine/inference/arriving-answer.ts",
    find: 'if (delta.type === "usage") this.#usage = delta;',
    put: 'if (delta.type === "usage") this.#usage = null;',
    suite: "engine/inference/reported-usage",
  },
  {
    of: "a usage that contradicts itself is counted",
    file: "projections/billed-parts.ts",
    find: "if (uncached < 0 || reasoning > output) return null;",
    put: "",
    suite: "conversation/bill-law",
  },
  {
    of: "a request that is refused counts as one that told nothing",
    file: "projections/bill.ts",
    find: 'else if (outcome === "rejected") endUnbilled(view, inferenceId);',
    put: "",
    suite: "conversation/bill-law",
  },
  {
    of: "a model call within an answer is paid twice",
    file: "projections/billed-parts.ts",
    find: "uncached: whole.uncached - part.uncached,",
    put: "uncached: whole.uncached,",
    suite: "conversation/bill",
  },
  {
    of: "a subagent's cost is not that of the conversation that opened it",
    file: "conversation/bill-names.ts",
    find: "const next = cause === null ? undefined : all.get(cause.conversation);",
    put: "const next = cause === null ? undefined : all.get(opener.id);",
    suite: "conversation/bill-law",
  },
  {
    of: "a fork inherits what opened its parent",
    file: "projections/bill.ts",
    find: ': null;\n        return;\n      }\n      case "ConversationRelabelled":',
    put: ': view.cause;\n        return;\n      }\n      case "ConversationRelabelled":',
    suite: "projections/bill",
  },
  {
    of: "told money does not win",
    file: "bill/bill-sum.ts",
    find: "if (cell.isPaid) {",
    put: "if (cell.isPaid && cell.bytes < 0) {",
    suite: "conversation/bill-law",
  },
  {
    of: "the requests of a day before the bill's first day are counted",
    file: "conversation/bill-names.ts",
    find: "if (cell.day >= firstDay)",
    put: "if (cell.day >= firstDay || cell.requests > 0)",
    suite: "conversation/bill",
  },
  {
    of: "prices above a number of tokens apply at that number",
    file: "bill/price-of-cell.ts",
    find: "limits.filter((limit) => limit <= (size ?? 0))",
    put: "limits.filter((limit) => limit < (size ?? 0) || limit === 0)",
    suite: "bill/price-file",
  },
  {
    of: "another tier has standard prices",
    file: "bill/price-of-cell.ts",
    find: "sheet.tier === tierNamed(tier)",
    put: "sheet.tier === null && tierNamed(tier) !== undefined",
    suite: "bill/price-file",
  },
];
