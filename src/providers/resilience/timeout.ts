import { checkWhole, optionsOf, required } from "../../base/options.ts";
import { maxTimerMs } from "../../engine/ports/limits.ts";
import type { InferenceRequest, Provider, WaitOptions } from "../../engine/ports/provider.ts";
import { callProvider } from "../../engine/ports/provider-call.ts";
import { around, checkWrapped } from "./around.ts";

/** Options of `timeout`. */
export type TimeoutOptions = {
  /** The longest time that one answer may take, its stream included. */
  readonly timeoutMs: number;
};

const timeoutOptions = optionsOf<TimeoutOptions>({
  timeoutMs: required((what, given) => {
    const ms = checkWhole(what, given);
    if (ms <= maxTimerMs) return ms;
    throw new RangeError(`${what} is ${ms}: give at most ${maxTimerMs} ms`);
  }),
});

/**
 * The same provider, with a limit for the time of one answer. At the limit it aborts the request and fails with the kind `timeout`, whose
 * outcome is unknown: the server may have acted. What had arrived by then is recorded. A provider that ignores its signal is left behind
 * after five seconds more. The shorter of two limits holds.
 *
 * @example
 * const provider = timeout(myProvider(url), { timeoutMs: 60_000 });
 * @throws {TypeError | RangeError} if the provider is not a provider, or an option is unknown or invalid.
 */
export function timeout<Given extends Provider>(provider: Given, options: TimeoutOptions): Given {
  checkWrapped("timeout", provider);
  timeoutOptions.check("timeout", options);
  const { timeoutMs: deadlineMs } = options;
  return around(
    provider,
    {
      infer: (request: InferenceRequest) =>
        callProvider({ signal: request.signal, deadlineMs }, ({ signal, isOpen }) =>
          provider.infer({
            ...request,
            signal,
            // The answer of a call that was left behind is dropped.
            onDelta: (delta) => {
              if (isOpen()) request.onDelta(delta);
            },
          }),
        ),
      waitFor: (responseId: string, wait: WaitOptions) =>
        callProvider({ signal: wait.signal, deadlineMs }, ({ signal }) => {
          if (provider.waitFor === undefined) throw new TypeError("the provider cannot wait for responses");
          return provider.waitFor(responseId, { ...wait, signal });
        }),
    },
    { timeoutMs: Math.min(deadlineMs, provider.timeoutMs ?? deadlineMs) },
  );
}
