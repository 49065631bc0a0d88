import type { JsonObject } from "../../src/base/json.ts";
import type { InferenceRequest, Provider } from "../../src/engine/provider.ts";
import { type ScriptedAnswer, scripted } from "../../src/providers/scripted.ts";

/** A provider whose n-th request waits for what `before` gives, and then ends as that does. */
export function gated(
  answers: readonly ScriptedAnswer[],
  before: (requestNumber: number, request: InferenceRequest) => Promise<unknown> | undefined,
): Provider & { readonly requests: readonly JsonObject[] } {
  const provider = scripted(answers);
  let asked = 0;
  return {
    ...provider,
    async infer(request) {
      const number = asked;
      asked += 1;
      await before(number, request);
      return provider.infer(request);
    },
  };
}

/** Settles when the signal aborts: by its reason. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
    });
  });
