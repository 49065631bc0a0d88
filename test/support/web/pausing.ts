import type { InferenceRequest, Provider, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";

/** A provider that holds its answers in the middle. */
export type Pausing = Provider & {
  /** Resolves once half of the n-th answer was told, from 0. */
  readonly halfTold: (answer: number) => Promise<unknown>;
  /** Lets the n-th answer go on. */
  readonly goOn: (answer: number) => void;
};

export function pausing(answers: readonly ScriptedAnswer[]): Pausing {
  const provider = scripted(answers);
  const told = answers.map(() => Promise.withResolvers<null>());
  const goes = answers.map(() => Promise.withResolvers<null>());
  let asked = 0;
  return {
    ...provider,
    halfTold: (answer) => told[answer]?.promise ?? Promise.resolve(null),
    goOn: (answer) => goes[answer]?.resolve(null),
    async infer(request) {
      const number = asked;
      asked += 1;
      const deltas: StreamDelta[] = [];
      const response = await provider.infer({ ...request, onDelta: (delta) => void deltas.push(delta) });
      const half = Math.ceil(deltas.length / 2);
      deltas.slice(0, half).forEach(request.onDelta);
      told[number]?.resolve(null);
      await Promise.race([goes[number]?.promise, aborted(request)]);
      deltas.slice(half).forEach(request.onDelta);
      return response;
    },
  };
}

const aborted = ({ signal }: InferenceRequest): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void =>
      reject(new ProviderError("the request was aborted", { kind: "aborted", outcome: "unknown" }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
  });
