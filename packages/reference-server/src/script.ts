import { message, type ScriptedAnswer, type ScriptedItem } from "./answers.ts";
import type { Fault } from "./faults.ts";
import type { Reading, ReferenceServerOptions } from "./options.ts";
import type { JsonObject } from "./wire.ts";

/** An accepted request, in any dialect. */
interface Asked {
  readonly body: JsonObject;
  readonly reading: () => Reading;
  readonly arrival: number;
  readonly fault: Fault | undefined;
}

/** The model's answers: one script for all dialects of a server, with one numbering. */
export interface Script {
  answer(asked: Asked): Promise<ScriptedAnswer>;
  clear(): void;
}

export function createScript({ script, answer }: ReferenceServerOptions): Script {
  for (const [index, scripted] of (script ?? []).entries()) checkItems(scripted, `script[${index}]`);
  let accepted = 0;
  async function scripted({ body, reading, arrival }: Asked, request: number): Promise<ScriptedAnswer> {
    if (script !== undefined) {
      const found = script[request];
      if (found === undefined) throw new Error(`the script has no answer for request ${request}`);
      return found;
    }
    if (answer === undefined) return { output: [message(`Answer ${request}.`)] };
    return answer({
      ...{ request, arrival, body },
      get reading() {
        return reading();
      },
    });
  }
  return {
    async answer(asked) {
      accepted += 1;
      const request = accepted - 1;
      const answered = await scripted(asked, request);
      checkItems(answered, `the answer to request ${request}`);
      return asked.fault?.kind === "duplicate-call" ? { ...answered, output: doubled(answered.output) } : answered;
    },
    clear() {
      accepted = 0;
    },
  };
}

function doubled(output: readonly ScriptedItem[]): readonly ScriptedItem[] {
  const at = output.findIndex(({ item }) => item["type"] === "function_call");
  const call = output[at];
  if (call === undefined) return output;
  const twin = { ...call, item: { ...call.item, call_id: call.item["call_id"] ?? "call_twice" } };
  return [...output.slice(0, at), twin, twin, ...output.slice(at + 1)];
}

/** @throws {TypeError} if an item is in the form of a wire: the server would ignore it. */
function checkItems(answer: ScriptedAnswer, where: string): void {
  for (const [index, scripted] of answer.output.entries()) {
    if ("item" in scripted) continue;
    const given: { readonly type?: unknown } = scripted;
    const what = typeof given.type === "string" ? `a raw item of type ${given.type}` : "no scripted item";
    throw new TypeError(
      `${where}: output[${index}] is ${what}: write message("…"), functionCall("…", "{}") or reasoning({ summary: "…" }), and hosted(item) for one that stands as it is`,
    );
  }
}
