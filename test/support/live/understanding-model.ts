import {
  functionCall,
  message,
  type Reading,
  reasoning,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";

/** A model that understands what the scenarios of test/live ask, and nothing else. */
export function answerAsAsked({ reading: { items, tools } }: { readonly reading: Reading }): ScriptedAnswer {
  const texts = items.map((item) => JSON.stringify(item["content"] ?? item["output"] ?? ""));
  const asked = texts.at(-1) ?? "";
  const [, exactly] = /with exactly: (\w+)/.exec(asked) ?? [];
  const told = /My word is (\w+)\./.exec(texts.slice(0, -1).join("\n"))?.[1] ?? "NONE";
  const isCalled = items.some(({ type }) => type === "function_call_output");
  const isNeeded = tools.length > 0 && !isCalled;
  const said = isNeeded ? functionCall("weather", '{"city":"Paris"}') : message(isCalled ? asked : (exactly ?? told));
  return { output: [reasoning(), said] };
}
