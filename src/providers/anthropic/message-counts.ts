import { type JsonObject, type JsonValue, objectOf, objectsOf, textOrEmpty } from "../../base/json.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { addWritten, counts, countTold, nameTold, sumTold, sumWritten, writtenByAnthropic } from "../answers/counts.ts";

/** Model calls within the answer that the server lists, but leaves out of the totals above the list. */
const countedBeside: ReadonlySet<string> = new Set(["advisor_message", "compaction"]);

/** The counts that together make up the usage of an answer: the server's totals, and those of the calls that the totals leave out. */
export const countedIn = (usage: JsonObject): readonly JsonObject[] => [
  usage,
  ...objectsOf(usage["iterations"]).filter(({ type }) => countedBeside.has(textOrEmpty(type))),
];

/** The counts of a message by price class. Here input tokens exclude what was read from a cache or written to it. */
export function countsIn(reported: JsonValue, { model }: JsonObject): Counts {
  const told = objectOf(reported);
  const parts = countedIn(told).map(classesIn);
  const { thinking_tokens: thinking } = objectOf(told["output_tokens_details"]);
  const listed = objectsOf(told["iterations"]);
  return counts({
    input: sumTold(...parts.map(({ input }) => input)),
    cacheRead: sumTold(...parts.map(({ cacheRead }) => cacheRead)),
    cacheWritten: addWritten(parts.map(({ cacheWritten }) => cacheWritten)),
    output: sumTold(...parts.map(({ output }) => output)),
    reasoning: countTold(thinking),
    served: nameTold(model),
    tier: tierIn(told),
    iterations: listed.length === 0 ? undefined : listed.map(iterationOf),
  });
}

function classesIn(told: JsonObject): Pick<Counts, "input" | "cacheRead" | "cacheWritten" | "output"> {
  const cacheRead = countTold(told["cache_read_input_tokens"]);
  const cacheWritten = writtenByAnthropic(told);
  const uncached = countTold(told["input_tokens"]);
  const input = uncached === undefined ? undefined : sumTold(uncached, cacheRead, sumWritten(cacheWritten));
  return counts({ input, cacheRead, cacheWritten, output: countTold(told["output_tokens"]) });
}

const iterationOf = (call: JsonObject): NonNullable<Counts["iterations"]>[number] => {
  const model = nameTold(call["model"]);
  return { type: textOrEmpty(call["type"]), ...(model === undefined ? {} : { model }), ...classesIn(call) };
};

/** A faster answer, and one from a region of the caller's choice, have prices of their own at every tier. */
function tierIn({ service_tier: tier, speed, inference_geo: region }: JsonObject): string | undefined {
  const dearer = [...(speed === "fast" ? ["fast"] : []), ...(region === "us" ? ["us"] : [])];
  const named = nameTold(tier);
  if (dearer.length === 0) return named;
  return [...(named === undefined || named === "standard" ? [] : [named]), ...dearer].join("+");
}
