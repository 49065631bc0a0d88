import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { InferenceRequest, Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { timeout } from "../../../src/providers/resilience/timeout.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const requestOf = (onDelta: InferenceRequest["onDelta"] = () => undefined, signal = new AbortController().signal) => ({
  ...{ bodyText: "{}", settings: {}, transport: "sse", signal, onDelta },
});

test("ends a request at its limit, and keeps what the provider says had arrived", async () => {
  const partial = [{ type: "message", text: "half" }];
  const bare: Provider = {
    ...scripted([]),
    infer: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(new ProviderError("aborted", { kind: "aborted", outcome: "unknown", partial }));
        });
      }),
  };
  const failed = timeout(bare, { timeoutMs: 2_000 }).infer(requestOf());
  const told = expect(failed).rejects.toMatchObject({ kind: "timeout", outcome: "unknown", partial });
  await vi.advanceTimersByTimeAsync(2_000);
  await told;
});

test("leaves a provider that ignores its signal, and drops what it says afterwards", async () => {
  const deltas: unknown[] = [];
  let late: InferenceRequest["onDelta"] = () => undefined;
  const bare: Provider = {
    ...scripted([]),
    infer: ({ onDelta }) => {
      late = onDelta;
      return new Promise(() => undefined);
    },
  };
  const failed = timeout(bare, { timeoutMs: 2_000 }).infer(requestOf((delta) => deltas.push(delta)));
  const told = expect(failed).rejects.toMatchObject({ kind: "timeout", outcome: "unknown" });
  late({ type: "text-delta", outputIndex: 0, text: "in time" });
  await vi.advanceTimersByTimeAsync(7_000);
  await told;
  late({ type: "text-delta", outputIndex: 0, text: "late" });
  expect(deltas).toMatchObject([{ text: "in time" }]);
});

test("also limits the wait for a response that is made in the background", async () => {
  const bare: Provider = { ...scripted([]), waitFor: () => new Promise(() => undefined) };
  const { signal } = new AbortController();
  const failed = timeout(bare, { timeoutMs: 10 }).waitFor?.("resp_1", { signal, settings: {} });
  const told = expect(failed).rejects.toMatchObject({ kind: "timeout" });
  await vi.advanceTimersByTimeAsync(6_000);
  await told;
});

test("tells the engine the shorter of two limits, and leaves no timer behind", async () => {
  const limited = (timeoutMs?: number) =>
    timeout({ ...scripted(["Hi."]), ...(timeoutMs === undefined ? {} : { timeoutMs }) }, { timeoutMs: 2_000 });
  expect([limited(), limited(1_000), limited(9_000)].map(({ timeoutMs }) => timeoutMs)).toEqual([2_000, 1_000, 2_000]);
  await limited().infer(requestOf());
  expect(vi.getTimerCount()).toBe(0);
});
