import type { JsonObject } from "../../src/base/json.ts";
import type { InferenceRequest, Provider } from "../../src/engine/ports/provider.ts";
import { ProviderError } from "../../src/engine/ports/provider-error.ts";
import { type ScriptedAnswer, scripted } from "../../src/providers/scripted/scripted.ts";

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

/** A provider that says the beginning of an answer, and nothing more until it is aborted. */
export const endless = (): Provider => ({
  ...scripted([]),
  async infer({ signal, onDelta }) {
    onDelta({ type: "text-delta", outputIndex: 0, text: "once upon a" });
    return untilAborted(signal).catch((cause: unknown) => {
      throw new ProviderError("the request was aborted", { kind: "aborted", outcome: "unknown", cause });
    });
  },
});

/** Settles when the signal aborts: by its reason. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
    });
  });
